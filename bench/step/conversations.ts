import type { ThreadHandle } from 'everthread/client'

import type { LoopingWorker } from '../looping-worker.js'

/** What a thread has behind it when its step is measured. */
export interface Conversation {
  readonly name: string
  /** Of its tool results, all in all. */
  readonly bytes: number
  /** Tool calls that they came from: results of 4 KB and more, as pages and listings have. */
  readonly calls: number
}

/** The sizes of the peers' figures. */
export const CONVERSATIONS = [
  { name: '4 KB', bytes: 4_000, calls: 1 },
  { name: '0.42 MB', bytes: 420_000, calls: 84 },
  { name: '0.81 MB', bytes: 810_000, calls: 162 },
] as const satisfies readonly Conversation[]

/** A new thread whose first turn leaves a conversation of this size: tool calls with results, as agents have. */
export async function conversationOf(
  worker: LoopingWorker,
  { calls, bytes }: Conversation,
  agent?: 'worker' | 'ahead',
): Promise<ThreadHandle> {
  const thread = await worker.createThread(agent)
  await worker.takeTurn(thread, { calls, resultLength: Math.round(bytes / calls) })
  return thread
}
