import type { Deed } from '../desk/deeds.js'
import type { Stamp } from '../desk/journal.js'
import type { ReceivedEvent } from '../processes/received-event.js'

/** When it was first seen from outside that something was committed: the commit itself was before. */
export interface Evidence {
  /** Of a call's result, by thread and call. */
  result(threadId: string, callId: string): number
  /** Of an answer of the model, by the mark in it and the id of its message. */
  answer(nonce: string, threadId: string, messageId: string): number
}

/** From what subscribers received and what later requests to the model showed. Infinity: it was not seen. */
export function gatherEvidence(
  deeds: readonly (Deed & Stamp)[],
  received: readonly (ReceivedEvent & Stamp)[],
): Evidence {
  const first = new Map<string, number>()
  const see = (key: string, at: number): void => void first.set(key, Math.min(first.get(key) ?? Infinity, at))
  for (const deed of deeds) {
    if (deed.kind !== 'model') continue
    for (const nonce of deed.seen) see(nonce, deed.at)
    for (const id of deed.results) see(`${deed.threadId} ${id}`, deed.at)
  }
  for (const { type, threadId, toolCallId, messageId, at } of received) {
    if (type === 'tool.result' && toolCallId !== undefined) see(`${threadId} ${toolCallId}`, at)
    if (type === 'message.created' && messageId !== undefined) see(`${threadId} ${messageId}`, at)
  }
  const at = (key: string): number => first.get(key) ?? Infinity
  return {
    result: (threadId, callId) => at(`${threadId} ${callId}`),
    answer: (nonce, threadId, messageId) => Math.min(at(nonce), at(`${threadId} ${messageId}`)),
  }
}
