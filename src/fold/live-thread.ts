/**
 * A thread as somebody watches it: its state, its newest messages with the text that streams, what happened in its runs, and its queue,
 * all made of one stream of events.
 *
 * It owns: how these begin together. It does not own: what an event changes (`fold-events.ts`, `transcript.ts`, `runs.ts`), and how events
 * and messages are read.
 * Invariants. L1: events come in order and once. L2: the state begins at the first event, or with a snapshot; events that come before
 * the snapshot are kept for it, and those that it has are passed over.
 */
import type { ThreadEvent, ThreadEventOf } from '../protocol/events.js'
import { fold } from './fold-events.js'
import type { FoldableSnapshot, FoldedThread } from './fold-events.js'
import { applyToRuns } from './runs.js'
import type { Run } from './runs.js'
import { applyToTranscript, EMPTY_TRANSCRIPT } from './transcript.js'
import type { Transcript } from './transcript.js'

export type QueueEntry = ThreadEventOf<'queue.changed'>['payload']['queue'][number]

export interface LiveThread {
  /** Null until a snapshot came. */
  readonly thread: FoldedThread | null
  /** Events that wait for the snapshot. */
  readonly early: readonly ThreadEvent[]
  readonly transcript: Transcript
  readonly runs: readonly Run[]
  readonly queue: readonly QueueEntry[]
}

/** `fromStart`: its events come from the first one on; else a snapshot is needed. */
export function openLiveThread({ fromStart }: { readonly fromStart: boolean }): LiveThread {
  return { thread: fromStart ? fold([]) : null, early: [], transcript: EMPTY_TRANSCRIPT, runs: [], queue: [] }
}

export function applyEvents(live: LiveThread, events: readonly ThreadEvent[]): LiveThread {
  return {
    thread: live.thread === null ? null : fold(live.thread, events),
    early: live.thread === null ? [...live.early, ...events] : [],
    transcript: events.reduce(applyToTranscript, live.transcript),
    runs: events.reduce(applyToRuns, live.runs),
    queue: events.reduce(applyToQueue, live.queue),
  }
}

export function applySnapshot(
  live: LiveThread,
  snapshot: FoldableSnapshot & { readonly queue: readonly QueueEntry[] },
): LiveThread {
  // A queue of an event is that of the moment in which it was read.
  const isNewer = live.early.some(({ type }) => type === 'queue.changed')
  return {
    ...live,
    thread: fold(snapshot, live.early),
    early: [],
    queue: isNewer ? live.queue : snapshot.queue,
  }
}

function applyToQueue(queue: readonly QueueEntry[], event: ThreadEvent): readonly QueueEntry[] {
  if (event.type === 'queue.changed') return event.payload.queue
  if (event.type === 'thread.closed') return []
  if (event.type !== 'message.created' && event.type !== 'message.ended') return queue
  return queue.filter(({ id }) => id !== event.messageId)
}
