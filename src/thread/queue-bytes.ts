import { utf8Length } from '../protocol/utf8-length.js'
import type { QueueEntry, ThreadControl } from './control.js'
import { packEntry } from './packed-queue.js'

/** Another queue, whose share of the carried state is counted anew. */
export function withQueue(control: ThreadControl, queue: readonly QueueEntry[]): ThreadControl {
  return { ...control, queue, queueBytes: queue.reduce((bytes, entry) => bytes + entryBytes(entry), 0) }
}

/** As it is carried: a control character is six bytes there, and senders choose ids and inline texts. */
export function entryBytes(entry: QueueEntry): number {
  return utf8Length(JSON.stringify(packEntry(entry))) + 1
}
