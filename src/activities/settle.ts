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
import { closeOpenCalls } from '../store/calls/open-calls.js'
import { findToolCall } from '../store/calls/tool-calls.js'
import { appendEvents } from '../store/events.js'
import { appendMessage } from '../store/messages/delivery.js'
import { statusMetadata } from '../store/messages/status-line.js'
import { amendOperation } from '../store/operations.js'
import type { OperationRecord } from '../store/operations.js'
import type { Writer } from '../store/store.js'
import { closeChild } from '../store/threads/children.js'
import { closeThread } from '../store/threads/thread-closing.js'
import { findRun, insertRun, updateRun } from '../store/threads/runs.js'
import type { SessionEnd } from '../store/threads/runs.js'
import { deleteStops } from '../store/threads/stops.js'
import { ownStateOf } from '../store/threads/session-state.js'
import { updateThread } from '../store/threads/threads.js'
import type { ThreadRecord } from '../store/threads/threads.js'
import { endChargeOf } from '../store/budgets/charges.js'
import { withHeartbeats } from './activity.js'
import type { ActivityDependencies } from './activity.js'
import { mayHold } from './budget/charge.js'
import { digestFacts, fittingOperations, lookUp, newFacts, record, unstoredFacts } from './operation.js'
import type { OperationKey } from './operation.js'
import { giveUpEffect } from './run-effect.js'
import { microseconds } from './scope.js'
import { holdPrecedent } from './sequence.js'
import { cancelWaitingCalls } from './sources/cancelled-calls.js'
import { recordClosedChild } from './subagents/closed-child.js'
import { WITHOUT_ANSWER } from './subagents/deliver-report.js'
import { openAnyThread } from './thread-row.js'
import { missingOfRun } from './variables/variables-requests.js'
import { cancelWorkflows } from './workflow-tools/workflow-call.js'
import {
  readUnacknowledgedOperations,
  withWorkAhead,
  withdrawUnacknowledged,
  withoutStoredMarks,
} from './unacknowledged.js'

const SETTLED: SettleAnswer = { type: 'settled' }

export async function settle(dependencies: ActivityDependencies, sent: SettleInput): Promise<SettleAnswer> {
  const { store, budgets } = dependencies
  const { threadId, end, close } = sent
  return withHeartbeats(async () => {
    if (end !== null && end.outcome !== 'completed') await cancelWorkflows(dependencies, threadId)
    let isBudgeted = budgets !== undefined || mayHold(threadId)
    const answer = await store.write(async (tx) => {
      const thread = await openAnyThread(tx, sent)
      if (thread === null) return SETTLED
      isBudgeted ||= thread.budgets !== null
      return finalize(tx, dependencies, { thread, sent })
    })
    // No call follows that would end the charge of the last one.
    if (isBudgeted && (end !== null || close !== null))
      await endChargeOf(store, { threadId, at: end === null ? null : microseconds(sent) })
    if (end !== null && end.outcome !== 'completed')
      await cancelWaitingCalls(dependencies, { threadId, run: sent.run, agent: sent.snapshot.agent })
    return answer
  })
}

async function finalize(
  tx: Writer,
  { failureText }: ActivityDependencies,
  { thread, sent }: { readonly thread: ThreadRecord; readonly sent: SettleInput },
): Promise<SettleAnswer> {
  const { input, ended } = await withWorkAhead(tx, sent)
  const { threadId } = input
  const facts = await withoutStoredMarks(tx, input, await unstoredFacts(tx, input))
  const found = await lookUp<SettleAnswer>(tx, { threadId, id: settleOperationId(input.settle) })
  // An activity that went on by itself has stored the end of the run under this number; the thread is to close besides.
  const closesNow = input.close !== null && thread.closed_at === null
  if (found.kind === 'answered' && !closesNow)
    return settleAgain(tx, { thread, input, ended, facts, known: found.operation })
  await holdPrecedent(tx, input)
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
  else if (input.end === null) await recordStatus(tx, { thread, input })
  const answer = answerOf({ thread, input, ended }, await limitOperations(tx, input))
  await recordSettle(tx, { input, facts }, { threadId, id: settleOperationId(input.settle) })
  return answer
}

interface Settling {
  readonly thread: ThreadRecord
  readonly input: SettleInput
}

interface Settled extends Settling {
  readonly ended?: SettleAnswer['ended']
}

interface EndingRun extends Settling {
  readonly failureText: FailureText | undefined
}

interface RepeatedSettle extends Settled {
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
  { thread, input, ended, facts, known }: RepeatedSettle,
): Promise<SettleAnswer> {
  const { threadId } = input
  // Made by `settleDetail`: the store's boundary.
  const { closed = [] } = (known.detail ?? {}) as SettleDetail
  // An attempt that was given up may come when its run is over: it tells nothing of it any more.
  const late = input.end === null ? null : runIdOf(input.run)
  const open = facts.filter(({ scope }) => scope?.runId === undefined || scope.runId !== late)
  const events = thread.closed_at === null ? newFacts(open, known) : []
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
  return answerOf({ thread, input, ended }, fittingOperations(await readUnacknowledgedOperations(tx, input)))
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

function answerOf({ thread, input, ended }: Settled, operations: readonly ThreadOperation[]): SettleAnswer {
  return {
    ...SETTLED,
    ...(ended !== undefined && { ended }),
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
  // The reason of a stop that came too late is none of the run's.
  const stays = outcome === 'cancelled' ? {} : { cancel_reason: null }
  const ended = { ended_at: now, reason, outcome, steps, usage, session, ...stays }
  await updateRun(tx, { threadId, number: run }, ended)
  const scope = { runId: runIdOf(run) }
  const told: Fact = fact(
    `run.${outcome}`,
    {
      reason,
      steps,
      usage: { ...usage },
      status: input.snapshot.status,
      ...(reason === 'definition_missing' && { error: missingAgentText(input) }),
    },
    scope,
  )
  await appendEvents(tx, { threadId, events: [told], now })
}

/** No end of a run says that the status is another one now. */
async function recordStatus(tx: Writer, { thread, input }: Settling): Promise<void> {
  const { status } = input.snapshot
  if (status === thread.status) return
  const { threadId } = input
  await appendEvents(tx, { threadId, events: [fact('thread.updated', { status })], now: microseconds(input) })
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
  if (reason === 'budget_exceeded')
    return (await findRun(tx, { threadId: input.threadId, number: input.run }))?.error ?? undefined
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
  const state = ownStateOf(snapshot.status, end?.reason ?? snapshot.lastRun?.reason)
  await updateThread(tx, threadId, {
    ...{ status: snapshot.status, snapshot, snapshot_at: now },
    ...settled,
    ...(state !== undefined && { session_state: state }),
  })
  const closed = (input.closed ?? []).map(({ reference }) => reference)
  const detail = settleDetail(digestFacts(facts), closed)
  const place = { run, number: input.settle }
  await record(tx, key, { kind: 'settle', place, answer: SETTLED, detail, now })
}
