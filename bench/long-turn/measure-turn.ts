import type { BenchServers } from '../bench-servers.js'
import type { LoopingWorker } from '../looping-worker.js'
import { median } from '../median.js'
import { conversationOf } from '../step/conversations.js'
import type { Conversation } from '../step/conversations.js'
import { storedBytes } from './stored-bytes.js'
import { threadHistoryBytes, turnHistory } from './turn-history.js'
import type { TurnHistory } from './turn-history.js'

/** As pages and listings are. */
const RESULT = 5_000
/** Share of a turn's steps that are its start, and its end. */
const EDGE = 0.2

/** A turn on a conversation, and all that its thread left behind. */
export interface LongTurn {
  readonly conversation: Conversation
  readonly calls: number
  /** Tool calls that the turn made. */
  readonly done: number
  readonly history: TurnHistory
  /** Milliseconds a step at the start and at the end, medians. */
  readonly first: number
  readonly last: number
  /** Of the whole thread, its conversation too. */
  readonly stored: ThreadBytes
}

export interface ThreadBytes {
  readonly database: number
  readonly blobs: number
  /** Of all its Temporal runs, by the server's count. */
  readonly history: number
  /** By which Temporal's own databases grew. */
  readonly temporal: number | undefined
}

export async function measureTurn(
  servers: BenchServers,
  worker: LoopingWorker,
  { conversation, calls }: { readonly conversation: Conversation; readonly calls: number },
): Promise<LongTurn> {
  const before = await storedBytes(servers)
  const thread = await conversationOf(worker, conversation)
  worker.stopwatch.reset()
  const result = await worker.takeTurn(thread, { calls, resultLength: RESULT })
  const steps = worker.stopwatch.each()
  const after = await storedBytes(servers)
  const edge = Math.ceil(steps.length * EDGE)
  const measured: LongTurn = {
    conversation,
    calls,
    // The last step is the answer.
    done: result.steps - 1,
    history: await turnHistory(worker.client, thread.threadId, calls + 1),
    first: median(steps.slice(0, edge)),
    last: median(steps.slice(-edge)),
    stored: {
      database: after.database - before.database,
      blobs: after.blobs - before.blobs,
      history: await threadHistoryBytes(worker.client, thread.threadId),
      temporal:
        after.temporal === undefined || before.temporal === undefined
          ? undefined
          : after.temporal - before.temporal,
    },
  }
  await thread.terminate()
  return measured
}
