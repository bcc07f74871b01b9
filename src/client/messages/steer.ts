/**
 * What steers work: a stop of the run, the removal and promotion of what waits, and the cancellation of what was sent.
 * Owns: what a stop finds in the store, and the end of an item or message by its id.
 * Does not own: what a stop means for the thread (`thread/inbox.ts`), and the rows of the queue (`store/messages/queue.ts`).
 * Invariant: rows first (T2). What the answer says is what the store had: a run may end by itself before the stop reaches it.
 */
import { randomUUID } from 'node:crypto'
import {
  ConfigError,
  MessageNotFoundError,
  NotCancelableError,
  NotQueuedError,
  NoWorkerError,
} from '../../protocol/errors.js'
import { runIdOf, runNumberOf } from '../../protocol/ids.js'
import { OUR_IDS, SIGNALS, UPDATES } from '../../protocol/messages.js'
import type { Stop } from '../../protocol/messages.js'
import { nowMicros } from '../../protocol/time.js'
import { withoutUndefined } from '../../protocol/values.js'
import { countUndelivered } from '../../store/messages/message-writes.js'
import { queuedFate, removeAllQueued, removeQueuedItem } from '../../store/messages/queue.js'
import type { Removal } from '../../store/messages/queue.js'
import type { Reader, Writer } from '../../store/store.js'
import { requireOpenThread } from '../../store/threads/open-threads.js'
import { findRun, updateRun } from '../../store/threads/runs.js'
import { openRun } from '../../store/threads/stops.js'
import { RESPOND_PATIENCE } from '../answers/respond.js'
import { storeStopNews } from '../client-context.js'
import type { ClientContext } from '../client-context.js'
import { carryOut, commandIdFor } from '../once.js'
import { lostThreadError, signalThread, updateWorkflow } from '../thread-workflow.js'
import { noAnswerError } from '../waiting/notices.js'
import { findMessageRead } from './read-message.js'
import type { MessageEnd } from './read-message.js'

export interface StopOptions {
  /** Stops only this run; where another one is open, nothing happens. */
  readonly runId?: string
  /** @default true */
  readonly children?: boolean
  /** Why, for people: it is in the `run.cancelled` of the run. At most 1,000 characters. */
  readonly reason?: string
  /** `clear`: what is queued, messages and tools, is removed. @default 'keep' */
  readonly queue?: 'keep' | 'clear'
}

/** `no_op`: no such run was open, and nothing waited. */
export interface Stopped {
  readonly status: 'accepted' | 'no_op'
  /** The run that was open. */
  readonly runId?: string
}

/** The longest reason of a stop or a cancellation, in characters. */
export const REASON_LENGTH = 1000

/** Signals the workflow, which decides what the stop means, then tells the activity in flight. */
export async function stopThread(
  context: ClientContext,
  threadId: string,
  options: StopOptions,
): Promise<Stopped> {
  checkStop(options)
  const { runId, children, reason, queue } = options
  const given = withoutUndefined({ runId, children, reason, queue })
  const { run, waits, removed } = await carryOut(context, {
    ...{ threadId, name: 'stop', content: given },
    // Before the signal: a run that begins later may be one that the workflow does not stop.
    store: async (tx) => ({ ...(await prepareStop(tx, threadId, options)), ...commandIdFor(context) }),
    announce: async ({ run, removed, commandId }, repeated) => {
      // A repetition is about the run that was open then, and about no later one.
      const about = repeated && run !== null ? runIdOf(run) : runId
      const stop = withoutUndefined({ runId: about, children, commandId })
      const input: Stop = removed.length > 0 ? { ...stop, removed } : stop
      await tellStop(context, { threadId, input, run: repeated ? null : run })
    },
  })
  if (run !== null) return { status: 'accepted', runId: runIdOf(run) }
  return { status: waits || removed.length > 0 ? 'accepted' : 'no_op' }
}

interface ToldStop {
  readonly threadId: string
  readonly input: Stop
  /** Whose activity in flight hears of it besides. */
  readonly run: number | null
}

async function tellStop(context: ClientContext, { threadId, input, run }: ToldStop): Promise<void> {
  await signalThread(context, threadId, { name: SIGNALS.stop, input })
  if (run !== null) await storeStopNews(context, { threadId, run })
}

interface Found {
  /** The run that the stop is for, if it is open. */
  readonly run: number | null
  /** The stop is for any run, none is open, and items wait. */
  readonly waits: boolean
}

interface Prepared extends Found {
  /** Ids of the items that it has removed. */
  readonly removed: readonly string[]
}

async function findStopped(db: Reader, threadId: string, runId: string | undefined): Promise<Found> {
  await requireOpenThread(db, threadId)
  const open = await openRun(db, threadId)
  if (open !== null)
    return { run: runId === undefined || runId === runIdOf(open) ? open : null, waits: false }
  return { run: null, waits: runId === undefined && (await countUndelivered(db, threadId)) > 0 }
}

/** Writes the reason into the row of the run, and removes what waits. A stop of another run than the open one writes nothing. */
async function prepareStop(
  tx: Writer,
  threadId: string,
  { runId, reason, queue }: StopOptions,
): Promise<Prepared> {
  const found = await findStopped(tx, threadId, runId)
  const { run } = found
  if (run !== null && reason !== undefined)
    await updateRun(tx, { threadId, number: run }, { cancel_reason: reason })
  const clears = queue === 'clear' && (run !== null || runId === undefined)
  const removed = clears ? await removeAllQueued(tx, { threadId, now: nowMicros() }) : []
  return { ...found, removed }
}

function checkStop({ reason, queue }: StopOptions): void {
  if (reason !== undefined && (typeof reason !== 'string' || reason.length > REASON_LENGTH))
    throw new ConfigError([
      `Expected "reason" to be a text of at most ${REASON_LENGTH} characters, got ${typeof reason === 'string' ? `one of ${reason.length}` : typeof reason}: shorten it.`,
    ])
  if (queue !== undefined && queue !== 'keep' && queue !== 'clear')
    throw new ConfigError([`Expected "queue" to be "keep" or "clear", got ${JSON.stringify(queue)}.`])
}

/**
 * Removes an item that waits its turn: its row first, which decides, then an Update that takes it out of the workflow's
 * queue. Any process may do it, and may repeat it after any failure.
 */
export async function removeQueued(context: ClientContext, threadId: string, id: string): Promise<void> {
  await carryOut(context, {
    ...{ threadId, name: 'removeQueued', content: id },
    store: async (tx): Promise<RowRemoval> => ({
      hasRow: await removeRow(tx, threadId, id),
      ...commandIdFor(context),
    }),
    isDecidedByWorkflow: ({ hasRow }: RowRemoval) => !hasRow,
    announce: async ({ hasRow, commandId }: RowRemoval) => {
      const answer = await tellRemoval(context, threadId, { id, commandId })
      // An item with a row is removed by the row: a workflow without the item, or a closed one, has nothing to take out.
      if (answer !== 'accepted' && !hasRow) throw new NotQueuedError(threadId, { id, ...NOT_QUEUED.unknown })
    },
  })
}

interface RowRemoval {
  readonly hasRow: boolean
  readonly commandId?: string
}

/** False: it is an item of which only the workflow knows. @throws NotQueuedError, ThreadTerminatedError, ThreadNotFoundError */
async function removeRow(tx: Writer, threadId: string, id: string): Promise<boolean> {
  await requireOpenThread(tx, threadId)
  const removal = await removeQueuedItem(tx, { threadId, id, now: nowMicros() })
  if (removal === 'removed' || removal === 'before') return true
  if (removal === 'unknown' && id.startsWith(OUR_IDS)) return false
  throw new NotQueuedError(threadId, { id, ...NOT_QUEUED[removal] })
}

/** Takes a removed item out of the queue of the workflow. @throws NoWorkerError */
async function tellRemoval(
  context: ClientContext,
  threadId: string,
  { id, commandId }: { readonly id: string; readonly commandId?: string | undefined },
): Promise<string> {
  const answer = await updateWorkflow(context, threadId, {
    name: UPDATES.removeQueued,
    id: `${UPDATES.removeQueued}:${id}`,
    input: withoutUndefined({ id, commandId }),
    patience: RESPOND_PATIENCE,
  })
  if (answer === 'silent') throw await noAnswerError(context, threadId, 'removal')
  return answer
}

/** How a message was cancelled. */
export type Cancelled =
  /** It waited in the queue. */
  | { readonly status: 'removed' }
  /** The run that had taken it is stopped; other messages that this run took end with it. */
  | { readonly status: 'cancelled'; readonly runId: string }

/**
 * Ends what was sent: a queued message is removed, the run of a delivered one is stopped, and the thread goes on with what waits.
 * @throws MessageNotFoundError, NotCancelableError
 */
export async function cancelMessage(
  context: ClientContext,
  threadId: string,
  { messageId, reason }: { readonly messageId: string; readonly reason?: string | undefined },
): Promise<Cancelled> {
  checkStop({ ...(reason !== undefined && { reason }) })
  const { cancelled } = await carryOut(context, {
    ...{ threadId, name: 'cancel', content: withoutUndefined({ messageId, reason }) },
    store: async (tx) => ({
      cancelled: await cancelStored(tx, threadId, { messageId, reason }),
      ...commandIdFor(context),
    }),
    announce: async ({ cancelled: done, commandId }, repeated) => {
      // The row is removed, which decides.
      if (done.status === 'removed')
        await tellRemoval(context, threadId, { id: messageId }).catch(ignoreNoWorker)
      else {
        const { runId } = done
        const input = withoutUndefined({ runId, parks: false, commandId })
        await tellStop(context, { threadId, input, run: repeated ? null : runNumberOf(runId) })
      }
    },
  })
  return cancelled
}

async function cancelStored(
  tx: Writer,
  threadId: string,
  { messageId, reason }: { readonly messageId: string; readonly reason: string | undefined },
): Promise<Cancelled> {
  const found = await findMessageRead(tx, threadId, messageId)
  if (found === null) throw new MessageNotFoundError(threadId, messageId)
  const { end } = found
  if (end === null) {
    await removeRow(tx, threadId, messageId)
    return { status: 'removed' }
  }
  const runId = end.kind === 'delivered' ? end.runId : null
  if (runId !== null && (await openRun(tx, threadId)) === runNumberOf(runId)) {
    await requireOpenThread(tx, threadId)
    if (reason !== undefined)
      await updateRun(tx, { threadId, number: runNumberOf(runId) }, { cancel_reason: reason })
    return { status: 'cancelled', runId }
  }
  throw new NotCancelableError(threadId, { messageId, end: await describeEnd(tx, threadId, end) })
}

function ignoreNoWorker(error: unknown): void {
  if (!NoWorkerError.isInstance(error)) throw error
}

/** How it ended, as the end of a sentence. */
async function describeEnd(db: Reader, threadId: string, end: MessageEnd): Promise<string> {
  if (end.kind !== 'delivered') return `one that was ${end.kind}`
  if (end.runId === null) return 'one that no run took'
  const number = runNumberOf(end.runId)
  const run = await findRun(db, { threadId, number })
  return `one whose run ended as ${run?.outcome ?? 'lost'} (${run?.reason ?? 'lost'})`
}

/**
 * Moves an item before everything that waits. The workflow has the order of the queue, so it decides; the row only says why an item cannot
 * be moved. @throws NotQueuedError, also for an item that a step is taking; NoWorkerError: nothing was moved
 */
export async function promoteQueued(context: ClientContext, threadId: string, id: string): Promise<void> {
  await carryOut(context, {
    ...{ threadId, name: 'promote', content: id, isDecidedByWorkflow: () => true },
    store: async (tx) => {
      await requireOpenThread(tx, threadId)
      const fate = await queuedFate(tx, threadId, id)
      const inline = fate === 'unknown' && id.startsWith(OUR_IDS)
      if (fate !== 'waiting' && !inline) throw new NotQueuedError(threadId, { id, ...NOT_QUEUED[fate] })
      return { inline, ...commandIdFor(context) }
    },
    announce: async ({ inline, commandId }) => {
      const answer = await updateWorkflow(context, threadId, {
        name: UPDATES.promoteQueued,
        // Each promotion is one of its own: other items may have been promoted since.
        id: `${UPDATES.promoteQueued}:${commandId ?? randomUUID()}`,
        input: withoutUndefined({ id, commandId }),
        patience: RESPOND_PATIENCE,
      })
      if (answer === 'silent') throw await noAnswerError(context, threadId, 'promotion')
      if (answer === 'gone') {
        const store = await context.store()
        await store.read((db) => requireOpenThread(db, threadId))
        throw lostThreadError(threadId)
      }
      if (answer !== 'accepted')
        throw new NotQueuedError(threadId, { id, ...NOT_QUEUED[inline ? 'unknown' : 'begun'] })
    },
  })
}

interface Reason {
  readonly reason: string
  readonly delivered: boolean
}

/** Why an item of the queue cannot be taken back or moved. */
const NOT_QUEUED: Readonly<Record<Exclude<Removal, 'removed'>, Reason>> = {
  before: { reason: 'one that was removed', delivered: false },
  begun: { reason: 'one that is delivered, or has ended', delivered: true },
  owed: { reason: "a subagent's message", delivered: false },
  unknown: { reason: 'one that is not in its queue', delivered: false },
}
