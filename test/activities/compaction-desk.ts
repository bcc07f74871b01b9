import type { LanguageModelV4Prompt } from '@ai-sdk/provider'
import type { ActivityDependencies } from '../../src/activities/activity.js'
import type { CallModelAnswer, CallModelInput } from '../../src/protocol/activities.js'
import { listBoundaries } from '../../src/store/messages/context-boundaries.js'
import { appendMessage } from '../../src/store/messages/delivery.js'
import type { Store } from '../../src/store/store.js'
import { scriptedModel } from '../../src/testing/index.js'
import type { ScriptedAnswer } from '../../src/testing/index.js'
import { modelInput, NOW, runModel, withDesk } from './activity-desk.js'
import type { ActivityDesk } from './activity-desk.js'
import { linesOf } from './context-desk.js'
import type { DeskParts } from './desk-registry.js'

export const ALL = { includeChat: true, includePastTools: true } as const
export const WINDOW = { ...ALL, window: { messages: 40 } } as const
const COMPACTS = { ...WINDOW, compaction: {} } as const

/** A model that is asked for answers and for summaries. */
function talker(summary: ScriptedAnswer = { text: 'SUMMARY', usage: { inputTokens: 7, outputTokens: 3 } }) {
  const asked = { answers: [] as string[][], summaries: [] as string[][] }
  const chat = scriptedModel(({ raw: { prompt } }) => {
    const lines = [...linesOf(prompt as LanguageModelV4Prompt)]
    const isSummary = lines[0]?.startsWith('system: You write the memory') === true
    asked[isSummary ? 'summaries' : 'answers'].push(lines)
    return isSummary ? summary : { text: 'said' }
  })
  return { chat, asked }
}

/** Appends messages of a person, each of a run of its own. */
export async function add(store: Store, first: number, last: number, text = ''): Promise<void> {
  await store.write(async (tx) => {
    for (let run = first; run <= last; run += 1)
      await appendMessage(tx, {
        ...{ id: `row-${run}`, threadId: 't', role: 'user', content: `ask ${run}${text}`, run },
        ...{ createdAt: NOW * 1000, sentBy: 'client' },
      })
  })
}

/** A step of a run after those messages. */
export function ask(on: ActivityDependencies, patch: Partial<CallModelInput> = {}): Promise<CallModelAnswer> {
  return runModel(on, modelInput({ run: 1000, trigger: null, ...patch }))
}

export async function withTalk(
  parts: DeskParts & { readonly summary?: ScriptedAnswer },
  work: (desk: ActivityDesk & ReturnType<typeof talker>) => Promise<void>,
): Promise<void> {
  const { summary, ...rest } = parts
  const model = talker(summary)
  await withDesk({ chat: model.chat, memory: COMPACTS, ...rest }, (desk) => work({ ...desk, ...model }))
}

export const boundariesOf = ({ store }: ActivityDesk) => store.read((db) => listBoundaries(db, 't', 100))

export const usersIn = (lines: readonly string[] = []) => lines.filter((line) => line.startsWith('user: ask'))
