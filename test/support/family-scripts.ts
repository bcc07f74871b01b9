import type { Registry } from '../../src/definitions/known-definitions.js'
import type { ThreadState, ToolResult } from '../../src/index.js'
import type { LanguageModel } from '../../src/model/model-answer.js'
import type { Store } from '../../src/store/store.js'
import { findThread } from '../../src/store/threads/threads.js'
import { scriptedModel } from '../../src/testing/index.js'
import type { ModelScript, ScriptedModel } from '../../src/testing/index.js'
import { familyDesk } from './family-desk.js'
import { marked } from './marker.js'
import { relayingModel } from './relaying-model.js'
import type { Behaviour } from './thread-scripts.js'

/** What the prompts and tools of a root thread and its descendants do. A tool without a behaviour succeeds. */
export interface FamilyScript {
  /** By the name of the prompt. */
  readonly voices: Readonly<Record<string, ModelScript>>
  readonly tools?: Readonly<Record<string, Behaviour>>
}

/** One model for each scripted prompt. */
export type Voices = Readonly<Record<string, ScriptedModel>>

/** Models and tools of one environment, which act as the script of the calling thread's root says. */
export interface FamilyScripts {
  readonly models: { readonly voice: LanguageModel }
  readonly tools: Readonly<Record<string, (args: never, state: ThreadState) => Promise<ToolResult>>>
  script(rootId: string, store: Store, script: FamilyScript): Voices
}

export function createFamilyScripts(registry: Registry = familyDesk): FamilyScripts {
  const families = new Map<string, { voices: Voices; tools: Readonly<Record<string, Behaviour>> }>()
  const stores = new Set<Store>()
  const familyOf = async (
    threadId: string,
  ): Promise<{ voices: Voices; tools: Record<string, Behaviour> }> => {
    for (const store of stores) {
      const thread = await store.read((db) => findThread(db, threadId)).catch(() => null)
      const family = families.get(thread?.root_thread_id ?? '')
      if (family !== undefined) return family
    }
    throw new Error(`Expected a script for the family of thread ${threadId}, got none.`)
  }
  const voice = relayingModel('voice', async ({ threadId, prompt }) => {
    const model = (await familyOf(threadId ?? '')).voices[prompt ?? '']
    if (model === undefined) throw new Error(`Expected a script for the prompt ${prompt}, got none.`)
    return model
  })
  const toolOf =
    (name: string): FamilyScripts['tools'][string] =>
    async (args, state, ...rest: readonly unknown[]) => {
      const behaviour = (await familyOf(state.threadId)).tools[name]
      if (behaviour === undefined) return { status: 'success', result: marked(`${name} done`) }
      const answer = await behaviour(state, args, rest[0] as Parameters<Behaviour>[2])
      if (answer.status === 'pending') throw new Error('Expected a result.')
      return answer
    }
  return {
    models: { voice },
    tools: Object.fromEntries(registry.names().tools.map((name) => [name, toolOf(name)])),
    script(rootId, store, { voices, tools = {} }) {
      stores.add(store)
      const scripted = Object.fromEntries(
        Object.entries(voices).map(([prompt, script]) => [prompt, scriptedModel(script)]),
      )
      families.set(rootId, { voices: scripted, tools })
      return scripted
    },
  }
}
