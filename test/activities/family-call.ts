import { z } from 'zod'
import {
  defineAgent,
  defineEffect,
  defineModel,
  definePrompt,
  defineTool,
  registry,
} from '../../src/index.js'
import type { ThreadState } from '../../src/index.js'
import { readEvents } from '../../src/store/events.js'
import type { Store } from '../../src/store/store.js'
import { withThread } from './buffered-call.js'
import type { TestThread } from './buffered-call.js'
import { addChild } from './family.js'

const worker = {
  registry: registry({
    agents: [defineAgent({ name: 'scout', sideA: { prompt: 'look' }, env: { REGION: 'north' } })],
    prompts: [definePrompt({ name: 'look', toolDescription: 'Looks', prompt: 'Look.', model: 'chat' })],
    models: [defineModel({ name: 'chat', provider: { languageModel: () => ({}) as never }, model: 'm' })],
    tools: { dig: defineTool({ description: 'Digs', execute: () => ({ status: 'success' }) }) },
    effects: { remind: defineEffect('Reminds', z.object({}), () => undefined) },
  }),
  env: {},
}

/** A call of `t`, whose child is `c`, whose child is `g`. */
export function withFamily(work: (thread: TestThread) => Promise<void>): Promise<void> {
  return withThread(async (thread) => {
    await addChild(thread.store, { agent: 'scout', name: 'Scout', title: 'The scout' })
    await addChild(thread.store, { reference: 'g', parent_thread_id: 'c', agent: 'scout' })
    await work(thread)
  }, worker)
}

/** A call of the child `c`. */
export const ofChild = { threadId: 'c', agent: 'scout' } as const

export async function childOf(state: ThreadState, reference = 'c'): Promise<ThreadState> {
  const child = await state.getChildThread(reference)
  if (child === null) throw new Error(`Expected the child ${reference}.`)
  return child
}

export async function parentOf(state: ThreadState): Promise<ThreadState> {
  const parent = await state.getParentThread()
  if (parent === null) throw new Error('Expected a parent.')
  return parent
}

export async function eventTypes(store: Store, threadId: string): Promise<readonly string[]> {
  const events = await store.read((db) => readEvents(db, { threadId, after: 0, limit: 100 }))
  return events.map(({ type }) => type)
}
