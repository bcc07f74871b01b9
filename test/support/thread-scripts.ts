import type { PendingToolResult, ThreadState, ToolCall, ToolResult } from '../../src/index.js'
import type { LanguageModel } from '../../src/model/model-answer.js'
import { scriptedModel } from '../../src/testing/index.js'
import type { ModelScript, ScriptedModel } from '../../src/testing/index.js'
import { marked } from './marker.js'
import { relayingModel } from './relaying-model.js'
import { workflowDesk } from './workflow-desk.js'

type Answer = ToolResult | PendingToolResult

/** What a tool does in one thread; without one it succeeds. */
export type Behaviour = (
  state: ThreadState,
  args: Record<string, unknown>,
  call: ToolCall,
) => Answer | Promise<Answer>

export interface ThreadScript {
  readonly chat?: ModelScript
  readonly review?: ModelScript
  readonly tools?: Readonly<Record<string, Behaviour>>
}

export interface ScriptedThread {
  readonly chat: ScriptedModel
  readonly review: ScriptedModel
}

type VoiceName = keyof ScriptedThread

/** Models and tools of one environment, which act as the script of the calling thread says. */
export interface ThreadScripts {
  readonly models: Readonly<Record<VoiceName | 'backed' | 'narrow', LanguageModel>>
  readonly tools: Readonly<
    Record<string, (args: never, state: ThreadState, call: ToolCall) => Promise<Answer>>
  >
  script(threadId: string, script: ThreadScript): ScriptedThread
}

export function createThreadScripts(): ThreadScripts {
  const threads = new Map<string, ScriptedThread & { readonly tools: Readonly<Record<string, Behaviour>> }>()
  const modelOf = (name: VoiceName): LanguageModel =>
    relayingModel(name, ({ threadId }) => {
      const model = threads.get(threadId ?? '')?.[name]
      if (model === undefined) throw new Error(`Expected a script for thread ${threadId}, got none.`)
      return model
    })
  const toolOf =
    (name: string) =>
    async (args: never, state: ThreadState, call: ToolCall): Promise<Answer> => {
      const behaviour = threads.get(state.threadId)?.tools[name]
      return behaviour === undefined
        ? { status: 'success', result: marked(`${name} done`) }
        : behaviour(state, args, call)
    }
  return {
    models: {
      chat: modelOf('chat'),
      narrow: modelOf('chat'),
      backed: modelOf('chat'),
      review: modelOf('review'),
    },
    tools: Object.fromEntries(workflowDesk.names().tools.map((name) => [name, toolOf(name)])),
    script(threadId, { chat = [], review = [], tools = {} }) {
      const thread = { chat: scriptedModel(chat), review: scriptedModel(review), tools }
      threads.set(threadId, thread)
      return thread
    },
  }
}
