import { randomUUID } from 'node:crypto'
import { z } from 'zod'
import type { ThreadHandle } from '../../src/client/index.js'
import { defineAgent, defineModel, definePrompt, defineTool, registry } from '../../src/index.js'
import type { LanguageModel } from '../../src/model/model-answer.js'
import { toScriptedRequest } from '../../src/model/scripted-request.js'
import { scriptedModel } from '../../src/testing/index.js'
import type { ScriptedAnswer, ScriptedRequest } from '../../src/testing/index.js'
import { createGate } from '../support/gate.js'
import type { Gate } from '../support/gate.js'
import { marked } from '../support/marker.js'
import { unscripted } from '../support/unscripted.js'
import type { HostileStream } from './hostile-models.js'
import type { HostileTool } from './hostile-results.js'

const kind = z.object({ kind: z.string() })

/** An agent whose model and tool do what a test says, and else behave. */
export const hostileDesk = registry({
  models: [defineModel({ name: 'chat', provider: unscripted, model: 'scripted' })],
  prompts: [
    definePrompt({
      ...{ name: 'desk', model: 'chat', toolDescription: 'Answers', prompt: 'You answer.' },
      ...{ includeChat: true, includePastTools: true, tools: ['odd', 'guarded', 'hold'] },
      reasoning: { include: true },
    }),
  ],
  agents: [defineAgent({ name: 'desk', sideA: { prompt: 'desk' } })],
  tools: {
    odd: defineTool({ description: 'Does what it likes', args: kind, timeout: 300, execute: unexpected }),
    guarded: defineTool({ description: 'Has to be allowed', needsApproval: true, execute: unexpected }),
    hold: defineTool({ description: 'Works until it is told', execute: unexpected }),
  },
})

function unexpected(): never {
  throw new Error('Expected the tool to be faked by the test.')
}

/** What the model and the tool of each thread do next. */
export interface HostileScripts {
  readonly models: { readonly chat: LanguageModel }
  readonly tools: Readonly<Record<string, (args: never, state: { threadId: string }) => Promise<never>>>
  /** Streams that come before any sound answer. */
  readonly streams: Map<string, HostileStream[]>
  /** What the calls of the tool "odd" do; sound when there are no more. */
  readonly odd: Map<string, HostileTool[]>
  /** Lets the tools go on that hold. */
  release(threadId: string): void
}

export function createHostileScripts(): HostileScripts {
  const streams = new Map<string, HostileStream[]>()
  const odd = new Map<string, HostileTool[]>()
  const held = new Map<string, Gate>()
  /** Opened maybe before its tool begins. */
  const gateOf = (threadId: string): Gate => {
    const gate = held.get(threadId) ?? createGate()
    held.set(threadId, gate)
    return gate
  }
  const sound = scriptedModel((request) => answerTo(request, odd.get(request.threadId ?? '')?.length ?? 0))
  const success = (): never => ({ status: 'success', result: marked('done') }) as never
  return {
    streams,
    odd,
    models: {
      chat: {
        ...{ specificationVersion: 'v4', provider: 'hostile', modelId: 'hostile', supportedUrls: {} },
        doGenerate: () => Promise.reject(new Error('Expected to be asked for a stream.')),
        doStream(options) {
          const { threadId } = toScriptedRequest(options)
          const stream = streams.get(threadId ?? '')?.shift()
          // It may throw in place of rejecting.
          return stream === undefined
            ? sound.doStream(options)
            : (stream() as ReturnType<typeof sound.doStream>)
        },
      },
    },
    tools: {
      odd: async (_args, state) => {
        const tool = odd.get(state.threadId)?.shift()
        return tool === undefined ? success() : (tool(state as never) as never)
      },
      guarded: async () => success(),
      hold: async (_args, { threadId }) => {
        await gateOf(threadId).passed
        return success()
      },
    },
    release: (threadId) => gateOf(threadId).open(),
  }
}

/** Calls what the last message asks for; `odd` as long as there is something to do for it. */
function answerTo({ messages }: ScriptedRequest, left: number): ScriptedAnswer {
  const asked = messages.filter(({ role }) => role === 'user').at(-1)?.text ?? ''
  if (asked === marked('odd') && left > 0)
    return {
      toolCalls: Array.from({ length: Math.min(left, 20) }, () => ({ name: 'odd', args: { kind: 'x' } })),
    }
  const [name] = asked.split(' ')
  if (messages.at(-1)?.role === 'user' && (name === 'guarded' || name === 'hold'))
    return { toolCalls: [{ name, args: {} }] }
  return { text: `Answer to ${asked}` }
}

const PATIENCE = { timeout: '60 seconds' } as const

/** T10: a message that is well formed is answered, whatever came before it. */
export async function expectHealthy(thread: ThreadHandle): Promise<void> {
  const message = marked(`healthy ${randomUUID()}`)
  const { messageId } = await thread.send(message)
  await thread.waitUntilIdle(PATIENCE)
  const { messages } = await thread.messages({ limit: 20 })
  const at = messages.findIndex(({ id }) => id === messageId)
  const reply = messages.slice(at + 1).find(({ role }) => role === 'assistant')
  const problem = `Expected thread ${thread.threadId} to answer, got ${JSON.stringify(reply?.content ?? null)}.`
  if (at === -1 || reply?.content?.includes(message) !== true) throw new Error(problem)
  const { status, stale } = await thread.snapshot()
  if (status !== 'idle' || stale) throw new Error(`${problem} Its status is ${status}, stale: ${stale}.`)
}
