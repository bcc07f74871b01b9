/**
 * The activity `settle`: finalizes a run, a thread, or both, in one transaction (T8).
 * Owns: the last rows and events of a run (open calls, results, session, visible reason), the close of the thread,
 * the recorded snapshot, and the treatment of unacknowledged answers, which never reached the workflow.
 * Does not own: when a run ends, which the workflow decides, and what closing means for the rows of a thread
 * (`store/threads/thread-closing.ts`).
 * A settle is recorded once. If the workflow requests it again, because the answer never reached it, only new facts
 * are stored, and the operations are computed again (T9).
 */
import { randomUUID } from 'node:crypto'

import { failureTextOf } from '../definitions/failure-text.js'
import type { FailureText } from '../definitions/failure-text.js'
import type { PrepareChildAnswer, PrepareMessageAnswer } from '../protocol/activities.js'
import type {
  ClosedChild,
  RunEnd,
  SettleAnswer,
  SettleInput,
  ThreadClose,
} from '../protocol/end-activities.js'
import { fact } from '../protocol/facts.js'
import type { Fact } from '../protocol/facts.js'
import { runIdOf, settleOperationId } from '../protocol/ids.js'
import type { ThreadOperation } from '../protocol/operations.js'
import type { PreparedChild } from '../protocol/status.js'
import { closeOpenCalls } from '../store/calls/open-calls.js'
import { findToolCall } from '../store/calls/tool-calls.js'
import type { StoredEvent } from '../store/event-rows.js'
import { appendEvents, lastSequence, readEvents } from '../store/events.js'
import { appendMessage } from '../store/messages/delivery.js'
import { countUndelivered } from '../store/messages/message-writes.js'
import { removeQueuedItem } from '../store/messages/queue.js'
import { statusMetadata } from '../store/messages/status-line.js'
import { findMessage } from '../store/messages/transcript.js'
import { amendOperation, findActivation, findOperation } from '../store/operations.js'
import type { OperationRecord } from '../store/operations.js'
import type { Reader, Writer } from '../store/store.js'
import { closeChild, findChild, updateChild } from '../store/threads/children.js'
import { closeThread, closeUnstartedChild } from '../store/threads/thread-closing.js'
import { insertRun, lastRun, updateRun } from '../store/threads/runs.js'
import type { SessionEnd } from '../store/threads/runs.js'
import { deleteStops } from '../store/threads/stops.js'
import { updateThread } from '../store/threads/threads.js'
import type { ThreadRecord } from '../store/threads/threads.js'
import { withHeartbeats } from './activity.js'
import type { ActivityDependencies } from './activity.js'
import { digestFacts, fittingOperations, lookUp, newFacts, record, unstoredFacts } from './operation.js'
import type { OperationKey } from './operation.js'
import { giveUpEffect } from './run-effect.js'
import { microseconds } from './scope.js'
import { recordClosedChild } from './subagents/closed-child.js'
import { WITHOUT_ANSWER } from './subagents/deliver-report.js'
import type { WrittenMessage } from './subagents/prepare-message.js'
import { openAnyThread } from './thread-row.js'
import { operationsOf } from './turn/model-step.js'
import { missingOfRun } from './variables/variables-requests.js'

const SETTLED: SettleAnswer = { type: 'settled' }

export async function settle(
  { store, failureText }: ActivityDependencies,
  input: SettleInput,
): Promise<SettleAnswer> {
  return withHeartbeats(() =>
    store.write(async (tx): Promise<SettleAnswer> => {
      const thread = await openAnyThread(tx, input)
      if (thread === null) return SETTLED
      const { threadId } = input
      const facts = await withoutStoredPhases(tx, input, await unstoredFacts(tx, input))
      const found = await lookUp<SettleAnswer>(tx, { threadId, id: settleOperationId(input.settle) })
      if (found.kind === 'answered') return settleAgain(tx, { thread, input, facts, known: found.operation })
      if (input.end !== null) await beginRun(tx, input, input.end)
      // The results of interrupted calls precede the end of their step, which is among the facts.
      if (input.end !== null) await closeCalls(tx, input, input.end)
      // Subscribers stop reading at the close of a thread, so facts of signals that arrived after it are not stored.
      if (thread.closed_at === null || input.end !== null)
        await appendEvents(tx, { threadId, events: facts, now: microseconds(input) })
      for (const id of input.givenUp ?? []) await giveUpEffect(tx, input, id)
      await closeChildren(tx, input, input.closed)
      await withdrawUnacknowledged(tx, input)
      if (input.end !== null) await endRun(tx, { thread, input, failureText }, input.end)
      if (input.close !== null) await close(tx, { thread, input }, input.close)
      const answer = answerOf({ thread, input }, await limitOperations(tx, input))
      await recordSettle(tx, { input, facts }, found)
      return answer
    }),
  )
}

/** The events among which the phases of the last step are: a step has a few for each of its calls. */
const EVENTS_OF_A_STEP = 1_000

/** The workflow marks the phases of an interrupted step; an activity whose answer it never got may have marked some before. */
async function withoutStoredPhases(
  tx: Reader,
  { threadId, unacknowledged }: SettleInput,
  facts: readonly Fact[],
): Promise<readonly Fact[]> {
  if (unacknowledged === undefined) return facts
  const after = Math.max(0, (await lastSequence(tx, threadId)) - EVENTS_OF_A_STEP)
  const recent = await readEvents(tx, { threadId, after, limit: EVENTS_OF_A_STEP })
  const stored = new Set(recent.filter(({ type }) => type === 'step.phase').map(phaseKey))
  return facts.filter((fact) => fact.type !== 'step.phase' || !stored.has(phaseKey(fact)))
}

function phaseKey({ scope, payload }: Pick<StoredEvent | Fact, 'scope' | 'payload'>): string {
  return `${scope?.stepId} ${JSON.stringify(payload)}`
}

interface Settling {
  readonly thread: ThreadRecord
  readonly input: SettleInput
}

interface EndingRun extends Settling {
  readonly failureText: FailureText | undefined
}

interface RepeatedSettle extends Settling {
  /** Those that may be new. */
  readonly facts: readonly Fact[]
  readonly known: OperationRecord
}

/**
 * The previous answer was lost: stores only the new facts and closed children, and returns the operations of the
 * calls that are unacknowledged now. After a reset these may differ from the first ones (T9).
 */
async function settleAgain(
  tx: Writer,
  { thread, input, facts, known }: RepeatedSettle,
): Promise<SettleAnswer> {
  const { threadId } = input
  // Made by `settleDetail`: the store's boundary.
  const { closed = [] } = (known.detail ?? {}) as SettleDetail
  const events = thread.closed_at === null ? newFacts(facts, known) : []
  const added = (input.closed ?? []).filter(({ reference }) => !closed.includes(reference))
  for (const id of input.givenUp ?? []) await giveUpEffect(tx, input, id)
  await withdrawUnacknowledged(tx, input)
  if (events.length > 0 || added.length > 0) {
    await appendEvents(tx, { threadId, events, now: microseconds(input) })
    await closeChildren(tx, input, added)
    const references = [...closed, ...added.map(({ reference }) => reference)]
    const detail = settleDetail(digestFacts(events, known), references)
    await amendOperation(tx, { threadId, id: known.id, detail })
  }
  return answerOf({ thread, input }, fittingOperations(await readUnacknowledgedOperations(tx, input)))
}

/** The parts of a settle that may have grown when the workflow requests it again. */
type SettleDetail = StoredFacts & {
  /** References. */
  readonly closed?: readonly string[]
}

type StoredFacts = ReturnType<typeof digestFacts>

function settleDetail(facts: StoredFacts, closed: readonly string[]): SettleDetail {
  return closed.length === 0 ? facts : { ...facts, closed }
}

function answerOf({ thread, input }: Settling, operations: readonly ThreadOperation[]): SettleAnswer {
  return {
    ...SETTLED,
    ...(operations.length > 0 && { operations }),
    ...(input.close === null && thread.terminate_requested_at !== null && { terminated: true }),
  }
}

/**
 * An answer that is too large never reaches the workflow, which would retry for ever. Operations beyond the limit are
 * therefore dropped, with a warning in the event log.
 */
async function limitOperations(tx: Writer, input: SettleInput): Promise<readonly ThreadOperation[]> {
  const operations = await readUnacknowledgedOperations(tx, input)
  const fitting = fittingOperations(operations)
  const count = operations.length - fitting.length
  if (count > 0) {
    const warning = fact('runtime.warning', { code: 'operations_dropped', count })
    await appendEvents(tx, { threadId: input.threadId, events: [warning], now: microseconds(input) })
  }
  return fitting
}

/** T7: the registry no longer offers closed children. */
async function closeChildren(
  tx: Writer,
  input: SettleInput,
  closed: readonly ClosedChild[] = [],
): Promise<void> {
  const { threadId } = input
  const now = microseconds(input)
  for (const { reference, status } of closed)
    await recordClosedChild(tx, { threadId, reference, status, scope: {}, now })
}

async function closeCalls(
  tx: Writer,
  input: SettleInput,
  { reason, steps, tools = [] }: RunEnd,
): Promise<void> {
  const outcome = reason === 'terminated' ? 'cancelled' : 'interrupted'
  const { threadId, run } = input
  await closeOpenCalls(tx, { threadId, now: microseconds(input), outcome, cut: { tools, run, step: steps } })
}

/** Writes the row and the `run.started` event of a run that ended before its first drain. */
async function beginRun(tx: Writer, input: SettleInput, { trigger = 'message' }: RunEnd): Promise<void> {
  const { threadId, run } = input
  const now = microseconds(input)
  const begins = { thread_id: threadId, number: run, trigger_kind: trigger, started_at: now }
  if (!(await insertRun(tx, begins))) return
  const started: Fact = fact('run.started', { trigger }, { runId: runIdOf(run) })
  await appendEvents(tx, { threadId, events: [started], now })
}

async function endRun(tx: Writer, ending: EndingRun, end: RunEnd): Promise<void> {
  const { input } = ending
  const { threadId, run } = input
  const now = microseconds(input)
  await appendVisibleReason(tx, ending, end)
  const { reason, steps, usage } = end
  const outcome = end.outcome === 'blocked' ? 'failed' : end.outcome
  const session = await sessionEnd(tx, input, end)
  deleteStops(tx, { threadId, run })
  await updateRun(tx, { threadId, number: run }, { ended_at: now, reason, outcome, steps, usage, session })
  const scope = { runId: runIdOf(run) }
  const ended: Fact = fact(
    `run.${outcome}`,
    {
      reason,
      steps,
      usage: { ...usage },
      ...(reason === 'definition_missing' && { error: missingAgentText(input) }),
    },
    scope,
  )
  await appendEvents(tx, { threadId, events: [ended], now })
}

async function sessionEnd(tx: Writer, { threadId }: SettleInput, end: RunEnd): Promise<SessionEnd | null> {
  const call = end.sessionCall === null ? null : await findToolCall(tx, threadId, end.sessionCall)
  if (call?.session == null) return null
  const { kind, message, attachments } = call.session
  return { outcome: kind === 'stop' ? 'success' : 'failure', message, attachments }
}

const VISIBLE_REASONS: Readonly<Record<string, string>> = {
  repeated_tool_error: 'The run was ended because the same tool error occurred repeatedly.',
  hard_cap: 'The run was ended because it reached the limit of steps or turns of this runtime.',
}

function waitingText(missing: readonly string[]): string {
  return `The run waits for variables that have no value: ${missing.join(', ')}. It goes on when they are supplied.`
}

async function visibleReason(
  tx: Writer,
  input: SettleInput,
  { reason, failure = 'timed_out' }: RunEnd,
): Promise<string | undefined> {
  if (reason === 'definition_missing')
    return `The run was ended because ${missingAgentText(input)}. Start a worker that has it, then send a message to try again.`
  if (reason !== 'blocked') return VISIBLE_REASONS[reason]
  const missing = await missingOfRun(tx, input)
  if (missing.length > 0) return waitingText(missing)
  return `The run was ended because ${WITHOUT_ANSWER[failure]}. Send a message to try again.`
}

/** Names the workflow's agent: after a handoff the row may still name the previous one. */
function missingAgentText({ snapshot }: SettleInput): string {
  return `no worker has the agent "${snapshot.agent}"`
}

/** A message in the transcript explains why a run ended without an answer. */
async function appendVisibleReason(
  tx: Writer,
  { thread, input, failureText }: EndingRun,
  end: RunEnd,
): Promise<void> {
  const { reason, steps } = end
  const text = await visibleReason(tx, input, end)
  if (text === undefined) return
  const { threadId, run } = input
  const { agent } = input.snapshot
  const parent = thread.parent_thread_id
  const content = failureTextOf(failureText, { threadId, agent, reason, text, parent })
  const id = randomUUID()
  const now = microseconds(input)
  await appendMessage(tx, {
    id,
    threadId,
    role: 'assistant',
    content,
    status: 'failed',
    metadata: statusMetadata('run_ended', { reason }),
    createdAt: now,
    sentBy: 'runtime',
    run,
    step: steps,
  })
  const scope = { runId: runIdOf(run), messageId: id }
  await appendEvents(tx, {
    threadId,
    events: [fact('message.created', { role: 'assistant' }, scope)],
    now,
  })
}

/**
 * Closes the rows of the thread, and its entry in its parent's registry. The report of its end is already stored
 * (T7).
 */
async function close(tx: Writer, { thread, input }: Settling, closing: ThreadClose): Promise<void> {
  const { threadId } = input
  const now = microseconds(input)
  await closeThread(tx, { threadId, ...closing, now })
  if (thread.parent_thread_id === null) return
  const key = { parentThreadId: thread.parent_thread_id, reference: threadId }
  await closeChild(tx, { ...key, status: closing.outcome, now })
}

/**
 * The recorded snapshot serves readers while no worker runs. The operations of the answer are not recorded, because a
 * later attempt computes them again.
 */
async function recordSettle(
  tx: Writer,
  { input, facts }: Pick<RepeatedSettle, 'input' | 'facts'>,
  key: OperationKey,
): Promise<void> {
  const { threadId, snapshot } = input
  const now = microseconds(input)
  const { run, end, activeSides: activated = [] } = input
  // Within a run the recorded state stays as it was at its beginning: the operations of the run hold the changes
  // since.
  const settled = end === null ? {} : { settled: { run, agent: snapshot.agent, activated } }
  await updateThread(tx, threadId, { status: snapshot.status, snapshot, snapshot_at: now, ...settled })
  const closed = (input.closed ?? []).map(({ reference }) => reference)
  const detail = settleDetail(digestFacts(facts), closed)
  const place = { run, number: input.settle }
  await record(tx, key, { kind: 'settle', place, answer: SETTLED, detail, now })
}

const NOT_STARTED = 'The call that was to start it was interrupted.'
/** The answer of an interrupted operation. Its call already has a result, so `reopen` expects no other. */
const INTERRUPTED = { type: 'end', reason: 'interrupted', outcome: 'failed' } as const

/**
 * Withdraws subagents, or a message to one, that an unacknowledged call has written. No workflow starts or signals
 * them, and the call has another result by now, so they are closed or removed: no parent waits for them (T7).
 */
async function withdrawUnacknowledged(tx: Writer, input: SettleInput): Promise<void> {
  const { threadId } = input
  for (const id of input.unacknowledged ?? []) {
    const known = await findOperation(tx, threadId, id)
    // Written by `prepareChild` and `prepareMessage`: the store's boundary.
    const answer = known?.answer as PrepareChildAnswer | PrepareMessageAnswer | null | undefined
    if (answer?.type !== 'children' && answer?.type !== 'message') continue
    const isWithdrawn =
      answer.type === 'children'
        ? await withdrawChildren(tx, input, answer.children)
        : await withdrawMessage(tx, input, { ...answer, ...(known?.detail as WrittenMessage) })
    const { operations = [] } = answer
    if (isWithdrawn) await amendOperation(tx, { threadId, id, answer: { ...INTERRUPTED, operations } })
  }
}

/**
 * After a reset a child may be at work already, because the first answer did reach the workflow. Such a child stays,
 * and its report is accepted as any other.
 */
async function withdrawChildren(
  tx: Writer,
  input: SettleInput,
  children: readonly PreparedChild[],
): Promise<boolean> {
  const { threadId: parentThreadId } = input
  let isWithdrawn = true
  for (const { reference, messageId } of children)
    if (await isUnstarted(tx, { reference, messageId }))
      await closeUnstartedChild(tx, {
        ...{ parentThreadId, reference, reason: NOT_STARTED, now: microseconds(input) },
      })
    else isWithdrawn = false
  return isWithdrawn
}

interface Message {
  readonly reference: string
  readonly messageId: string
}

/**
 * True if the child has not begun a run. Hooks may have written to its transcript already, and a client may have removed its
 * first message.
 */
async function isUnstarted(db: Reader, { reference, messageId }: Message): Promise<boolean> {
  const first = await findMessage(db, reference, messageId)
  return first?.position === null && (await lastRun(db, reference)) === null
}

async function withdrawMessage(
  tx: Writer,
  input: SettleInput,
  { reference, messageId, before }: Message & WrittenMessage,
): Promise<boolean> {
  const now = microseconds(input)
  if ((await removeQueuedItem(tx, { threadId: reference, id: messageId, now })) !== 'removed') return false
  const key = { parentThreadId: input.threadId, reference }
  const child = await findChild(tx, key.parentThreadId, reference)
  const isIdle = child?.closed_at === null && child.status === 'running' && !(await isBusy(tx, reference))
  if (isIdle) await updateChild(tx, key, { status: before })
  return true
}

/** True if the child runs, or has another message to read. */
async function isBusy(db: Reader, reference: string): Promise<boolean> {
  const run = await lastRun(db, reference)
  return (run !== null && run.ended_at === null) || (await countUndelivered(db, reference)) > 0
}

/**
 * Returns the operations that were committed with unacknowledged answers, or by hooks of a drain whose call has no
 * answer (T9). The calls of the run are closed before: a tool that such an operation queues for this step has its
 * result by then, and does not run.
 */
async function readUnacknowledgedOperations(
  db: Reader,
  {
    threadId,
    unacknowledged = [],
    givenUp = [],
  }: Pick<SettleInput, 'threadId' | 'unacknowledged' | 'givenUp'>,
): Promise<readonly ThreadOperation[]> {
  const found: ThreadOperation[] = []
  for (const id of [...unacknowledged, ...givenUp]) {
    const known = (await findOperation(db, threadId, id)) ?? (await findActivation(db, threadId, id))
    if (known === null) continue
    // Written by `callModel` and the activities of a call: the store's boundary.
    const answer = known.answer as { readonly operations?: readonly ThreadOperation[] } | null
    // The operations of an answer include those of its drain.
    for (const operation of answer?.operations ?? operationsOf(known))
      if (operation.kind !== 'queue_tool' || (await isOpen(db, threadId, operation.id))) found.push(operation)
  }
  return found
}

async function isOpen(db: Reader, threadId: string, callId: string): Promise<boolean> {
  return (await findToolCall(db, threadId, callId))?.status === 'open'
}
