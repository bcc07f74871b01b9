import type { LanguageModelV4Prompt } from '@ai-sdk/provider'
import { buildRequest } from '../../src/activities/turn/model-request.js'
import type { BuiltRequest, RequestParts } from '../../src/activities/turn/model-request.js'
import { buildPlan } from '../../src/definitions/plan/build-plan.js'
import type { ModelContent, PlanContent, PromptContent } from '../../src/definitions/plan/plan-content.js'
import { defineAgent, defineModel, definePrompt, defineTool, registry } from '../../src/index.js'
import type { CallModelInput } from '../../src/protocol/activities.js'
import type { AttachmentRef } from '../../src/protocol/message.js'
import { putFile } from '../../src/store/files/files.js'
import { insertBoundary } from '../../src/store/messages/context-boundaries.js'
import { appendMessage } from '../../src/store/messages/delivery.js'
import type { NewMessage } from '../../src/store/messages/message-row.js'
import type { Store } from '../../src/store/store.js'
import { insertThread } from '../../src/store/threads/threads.js'
import { scriptedModel } from '../../src/testing/index.js'
import { withStore } from '../support/temporary-store.js'
import { modelInput, NOW } from './activity-desk.js'

export interface RequestChanges {
  readonly input?: Partial<CallModelInput>
  readonly prompt?: Partial<PromptContent>
  readonly model?: Partial<ModelContent>
  readonly parts?: Partial<RequestParts>
}

export interface ContextDesk {
  readonly store: Store
  readonly content: PlanContent
  /** Appends rows of the thread `t`. */
  add(...rows: readonly Partial<NewMessage>[]): Promise<void>
  /** Puts a file into the thread. */
  file(path: string, bytes: Uint8Array, mimeType?: string): Promise<AttachmentRef>
  /** The request of the next step; its boundary is stored, as `callModel` does. */
  request(changes?: RequestChanges): Promise<BuiltRequest>
}

const models = [
  defineModel({ name: 'chat', provider: { languageModel: () => scriptedModel([]) }, model: 'm' }),
]
const clerk = definePrompt({
  name: 'clerk',
  toolDescription: 'Answers',
  prompt: 'You are the clerk.',
  model: 'chat',
  includeChat: true,
  includePastTools: true,
  tools: ['look'],
})
const look = defineTool({ description: 'Looks', execute: () => ({ status: 'success' }) })
const agents = [defineAgent({ name: 'clerk', sideA: { prompt: 'clerk' } })]

/** Runs `work` with an empty thread `t` whose rows the test writes itself. */
export async function withContext(work: (desk: ContextDesk) => Promise<void>): Promise<void> {
  const content = buildPlan(registry({ models, prompts: [clerk], agents, tools: { look } }), 'clerk')
  if ('missing' in content) throw new Error('Expected the plan of the clerk.')
  await withStore(async (store) => {
    await store.write((tx) => insertThread(tx, { id: 't', agent: 'clerk', created_at: NOW * 1000 }))
    await work(deskOf(store, content))
  })
}

function deskOf(store: Store, content: PlanContent): ContextDesk {
  let added = 0
  return {
    store,
    content,
    add: (...rows) =>
      store.write(async (tx) => {
        for (const row of rows) {
          const id = `row-${(added += 1)}`
          const base = { id, threadId: 't', role: 'user', content: null, run: 1 } as const
          await appendMessage(tx, { ...base, createdAt: NOW * 1000, sentBy: 'client', ...row })
        }
      }),
    async file(path, bytes, mimeType = 'image/png') {
      const { digest: blob, size } = await store.blobs.write(bytes)
      await store.write((tx) => putFile(tx, { threadId: 't', path, mimeType, size, blob, now: NOW }))
      return { id: path, type: 'file', path, name: path.slice(1), mimeType, size }
    },
    async request(changes = {}) {
      const request = await buildRequest(partsOf(store, content, changes))
      const { boundary } = request
      if (boundary !== null) await store.write((tx) => insertBoundary(tx, boundary))
      return request
    },
  }
}

function partsOf(
  store: Store,
  content: PlanContent,
  { input, prompt, model, parts }: RequestChanges,
): RequestParts {
  const [clerkContent, chat] = [content.prompts['clerk'], content.models['chat']]
  if (clerkContent === undefined || chat === undefined) throw new Error('Expected the clerk and its model.')
  return {
    store,
    input: modelInput(input),
    content: { ...content, models: { ...content.models, chat: { ...chat, ...model } } },
    prompt: { ...clerkContent, ...prompt, name: 'clerk' },
    model: 'chat',
    cuts: 0,
    system: 'You are the clerk.',
    frameMessage: null,
    ...parts,
  }
}

/** A step of the model that calls `look` once, and its result. */
export function step(
  id: string,
  result: string,
  rest: Partial<NewMessage> = {},
): readonly Partial<NewMessage>[] {
  const made = { side: 'a', sentBy: 'model', ...rest } as const
  const call = { id, type: 'function', function: { name: 'look', arguments: '{}' } } as const
  return [
    { ...made, role: 'assistant', toolCalls: [call] },
    { ...made, role: 'tool', name: 'look', toolCallId: id, toolStatus: 'success', content: result },
  ]
}

/** What a prompt says, a line a message; where the cache may be cut is not said. */
export function linesOf(prompt: LanguageModelV4Prompt): readonly string[] {
  return prompt.map(({ role, content }) => {
    if (typeof content === 'string') return `${role}: ${content}`
    const parts = content.map((part) => {
      if (part.type === 'text' || part.type === 'reasoning') return part.text
      if (part.type === 'tool-call') return `call ${part.toolCallId}`
      if (part.type !== 'tool-result') return 'mediaType' in part ? part.mediaType : part.type
      const { output } = part
      const value = 'value' in output ? output.value : ''
      return `${output.type} of ${part.toolCallId}: ${typeof value === 'string' ? value : JSON.stringify(value)}`
    })
    return `${role}: ${parts.join(' | ')}`
  })
}
