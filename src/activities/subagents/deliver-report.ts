import { randomUUID } from 'node:crypto'
import type { Registry } from '../../definitions/known-definitions.js'
import type { DeliverReportAnswer, DeliverReportInput, FailureCause } from '../../protocol/end-activities.js'
import { fact } from '../../protocol/facts.js'
import type { Fact } from '../../protocol/facts.js'
import { reportOperationId } from '../../protocol/ids.js'
import { LIMITS } from '../../protocol/limits.js'
import type { AttachmentRef } from '../../protocol/message.js'
import type { StopReason } from '../../protocol/status.js'
import { findToolCall } from '../../store/calls/tool-calls.js'
import { appendEvents } from '../../store/events.js'
import { stageMessage } from '../../store/messages/message-writes.js'
import { findLastFailure, readLastAnswer, listFilesMadeInRun } from '../../store/messages/transcript.js'
import { amendOperation } from '../../store/operations.js'
import type { Reader, Writer } from '../../store/store.js'
import { findChild, findChildName, saveReport } from '../../store/threads/children.js'
import type { ChildRecord, StoredReport } from '../../store/threads/children.js'
import { findThread } from '../../store/threads/threads.js'
import { withHeartbeats } from '../activity.js'
import type { ActivityDependencies } from '../activity.js'
import { copyAttachments } from '../attachments.js'
import { digestFacts, lookUp, newFacts, record as recordOperation, unstoredFacts } from '../operation.js'
import type { Answered } from '../operation.js'
import { microseconds } from '../scope.js'
import { withCutNote } from '../tool/call-result.js'
import { TRY_AGAIN } from '../turn/answer-facts.js'
import { missingOfRun } from '../variables/variables-requests.js'
import { truncateToFit, reportText } from './report-text.js'

/**
 * The activity `deliverReport`: writes a child's report into its parent's store, files included, before the parent's
 * workflow gets the signal (T2).
 * Owns: the outcome of a session, and the message and registry entry that its parent gets.
 * Does not own: the signal, which the workflow sends, and the frame of a report's text (`report-text.ts`).
 * A report is delivered once; a parent that is terminated or deleted takes none.
 */
export async function deliverReport(
  dependencies: ActivityDependencies,
  input: DeliverReportInput,
): Promise<DeliverReportAnswer> {
  return withHeartbeats(() =>
    dependencies.store.write(async (tx): Promise<DeliverReportAnswer> => {
      const answer = await deliverOnce(tx, dependencies, input)
      if (answer.type === 'parent_gone' || input.closes) return answer
      // This may be the only activity that can report the termination.
      const thread = await findThread(tx, input.threadId)
      return thread?.terminate_requested_at == null ? answer : { ...answer, terminated: true }
    }),
  )
}

async function deliverOnce(
  tx: Writer,
  dependencies: ActivityDependencies,
  input: DeliverReportInput,
): Promise<DeliverReportAnswer> {
  const found = await lookUp<DeliverReportAnswer>(tx, {
    threadId: input.threadId,
    id: reportOperationId(input.report),
  })
  if (found.kind === 'answered') return deliverAgain(tx, input, found)
  const answer = await deliver(tx, dependencies, input)
  const now = microseconds(input)
  const { invocations, closes } = input
  const events = await unstoredFacts(tx, input)
  const detail = { invocations, closes, ...digestFacts(events) }
  const place = { number: input.report }
  await recordOperation(tx, found, { kind: 'report', place, answer, detail, now })
  await appendEvents(tx, { threadId: input.threadId, events, now })
  return answer
}

/** Stores new facts when the previous answer was lost. */
async function deliverAgain(
  tx: Writer,
  input: DeliverReportInput,
  { answer, operation }: Answered<DeliverReportAnswer>,
): Promise<DeliverReportAnswer> {
  const { threadId } = input
  const events = newFacts(await unstoredFacts(tx, input), operation)
  if (events.length > 0) {
    await appendEvents(tx, { threadId, events, now: microseconds(input) })
    // `deliverOnce` wrote the detail as an object.
    const detail = { ...(operation.detail as object), ...digestFacts(events, operation) }
    await amendOperation(tx, { threadId, id: operation.id, detail })
  }
  return answer
}

async function deliver(
  tx: Writer,
  { registry }: ActivityDependencies,
  input: DeliverReportInput,
): Promise<DeliverReportAnswer> {
  const { parent, threadId: reference, closes, invocations, sessionCall } = input
  if (!(await acceptsReports(tx, parent.threadId))) return { type: 'parent_gone' }
  const child = await findChild(tx, parent.threadId, reference)
  // The parent no longer waits for the child: a call that timed out has its result.
  if (child !== null && child.closed_at !== null)
    return { type: 'delivered', kind: 'notice', messageId: null }
  if (closes && invocations.length === 0 && sessionCall === null) return writeClosing(tx, { input, child })
  return writeReport(tx, { input, child, payload: await sessionPayload(tx, registry, input) })
}

/** T8: the parent's row is the authority. */
async function acceptsReports(db: Reader, threadId: string): Promise<boolean> {
  const thread = await db
    .selectFrom('threads')
    .select(['terminate_requested_at', 'closed_at'])
    .where('id', '=', threadId)
    .executeTakeFirst()
  return thread !== undefined && thread.terminate_requested_at === null && thread.closed_at === null
}

interface Reporting {
  readonly input: DeliverReportInput
  /** The child in the parent's registry; null for a thread that was started by hand. */
  readonly child: ChildRecord | null
  readonly payload: SessionPayload
}

/** Writes the report into the parent's store: always into the registry, and at most one message. */
async function writeReport(tx: Writer, reporting: Reporting): Promise<DeliverReportAnswer> {
  const { input, child, payload } = reporting
  if (child?.parent_communication === 'explicit') {
    await register(tx, reporting, null)
    await record(tx, reporting, null)
    return { type: 'delivered', kind: 'notice', messageId: null }
  }
  const { parent, threadId: from } = input
  const now = microseconds(input)
  const attachments = await copyAttachments(tx, { from, to: parent.threadId, paths: payload.paths, now })
  const messageId = isReportedWithGroup(reporting) ? null : randomUUID()
  await register(tx, reporting, { attachments, messageId })
  if (messageId !== null) await stage(tx, reporting, { attachments, messageId })
  await record(tx, reporting, messageId)
  return { type: 'delivered', kind: payload.kind, messageId }
}

/**
 * Tests whether the group's call takes this report from the registry, which it does once. A later session of the child is
 * reported separately.
 */
function isReportedWithGroup({ child, input }: Reporting): boolean {
  return child?.spawn_group_id != null && input.invocations.includes(child.spawn_group_id)
}

/** Records the end of a child without a pending call in its parent's registry, without a message. */
async function writeClosing(
  tx: Writer,
  { input, child }: Omit<Reporting, 'payload'>,
): Promise<DeliverReportAnswer> {
  const { parent, threadId: reference, report: number } = input
  const now = microseconds(input)
  const status = 'terminated'
  const key = { parentThreadId: parent.threadId, reference }
  await saveReport(tx, { ...key, number, status, closedAt: now })
  const payload = { reference, name: await findChildName(tx, { reference }, child), status }
  const closed: Fact = fact('subagent.closed', payload, { childId: reference })
  await appendEvents(tx, { threadId: parent.threadId, events: [closed], now })
  return { type: 'delivered', kind: 'notice', messageId: null }
}

/** The message and files of a report. */
interface ReportMessage {
  readonly attachments: readonly AttachmentRef[]
  readonly messageId: string | null
}

/** Saves the report. The text of a child that reports explicitly is not kept in its parent's store. */
async function register(
  tx: Writer,
  { input, payload }: Reporting,
  message: ReportMessage | null,
): Promise<void> {
  const { parent, threadId: reference, report: number, closes, reason } = input
  const { kind, text } = payload
  const ended = kind === 'result' ? 'completed' : 'failed'
  await saveReport(tx, {
    ...{ parentThreadId: parent.threadId, reference, number },
    report: message === null ? null : toStoredReport(input, { kind, text }, message),
    status: reason === 'terminated' ? 'terminated' : ended,
    ...(closes ? { closedAt: microseconds(input) } : {}),
  })
}

/**
 * Builds the registry's entry, with the calls that the report answers and its message. A parent that missed the signal reads
 * the entry when it finds the child closed (T7).
 */
function toStoredReport(
  { invocations }: DeliverReportInput,
  words: Pick<StoredReport, 'kind' | 'text'>,
  { attachments, messageId }: ReportMessage,
): StoredReport {
  return { ...words, attachments, ...(messageId !== null && { messageId }), invocations }
}

/** Stages the message, even into a full queue, because a parent may wait for this report (T7). */
async function stage(
  tx: Writer,
  { input, payload: { kind, text } }: Reporting,
  { attachments, messageId }: { readonly attachments: readonly AttachmentRef[]; readonly messageId: string },
): Promise<void> {
  const { parent, threadId: reference, run: number } = input
  const staged = await stageMessage(tx, {
    id: messageId,
    threadId: parent.threadId,
    role: 'user',
    content: reportText({ reference, kind, text, attachments }),
    attachments,
    silent: true,
    subagentId: reference,
    createdAt: microseconds(input),
    sentBy: 'child',
    digest: '',
    brings: { run: { threadId: reference, number } },
  })
  if (staged !== 'staged') throw new Error(`Expected the parent to take the report, got ${staged}.`)
}

async function record(
  tx: Writer,
  { input, child, payload: { kind } }: Reporting,
  messageId: string | null,
): Promise<void> {
  const { parent, threadId: reference, reason } = input
  const scope = {
    ...{ toolCallId: parent.callId, childId: reference },
    ...(messageId === null ? {} : { messageId }),
  }
  const name = await findChildName(tx, { reference }, child)
  const payload = { reference, name, reason }
  const ended = fact(kind === 'result' ? 'subagent.completed' : 'subagent.failed', payload, scope)
  await appendEvents(tx, { threadId: parent.threadId, events: [ended], now: microseconds(input) })
}

/** The outcome of a session. */
interface SessionPayload {
  readonly kind: 'result' | 'failure'
  readonly text: string
  /** Paths of the child's files. */
  readonly paths: readonly string[]
}

/** Regular ends of an agent without session tools. */
const REGULAR_ENDS: ReadonlySet<StopReason> = new Set([
  'stop_on_response',
  'answer_cut',
  'stop_tool',
  'max_session_turns',
])

const WORDLESS = 'The subagent ended its work without a text.'
const FILES_ONLY = 'The subagent ended its work with files and without a text.'

/**
 * Returns the mapped payload of the session tool, with the files that models made. For an agent without session tools this
 * is the last message; any other session without a payload is a failure with its reason.
 */
async function sessionPayload(
  db: Reader,
  registry: Registry,
  input: DeliverReportInput,
): Promise<SessionPayload> {
  const { threadId, run, reason, failure, sessionCall } = input
  const session = sessionCall === null ? null : (await findToolCall(db, threadId, sessionCall))?.session
  const readMade = (): Promise<readonly string[]> => listFilesMadeInRun(db, { threadId, number: run })
  if (session != null) {
    const kind = session.kind === 'stop' ? 'result' : 'failure'
    const named = [...new Set(session.attachments.map(({ path }) => path))]
    // A payload without named files gets those that models made.
    const paths = kind === 'result' && named.length === 0 ? await readMade() : named
    return { kind, text: session.message, paths }
  }
  if (REGULAR_ENDS.has(reason) && !(await hasSessionTools(db, registry, threadId))) {
    const words = await readLastAnswer(db, { threadId, number: run })
    const paths = await readMade()
    const wordless = paths.length === 0 ? WORDLESS : FILES_ONLY
    const text = words === null || words.content === '' ? wordless : withCutNote(words)
    return { kind: 'result', text, paths }
  }
  const missing = reason === 'blocked' ? await missingOfRun(db, input) : []
  if (missing.length > 0) return { kind: 'failure', text: missingVariablesText(missing), paths: [] }
  const text = [noResultText(reason, failure), ...(await failureDetails(db, input))].join(' ')
  return { kind: 'failure', text, paths: [] }
}

/** Ends for which the error of a tool or a model explains more than the reason. */
const FAILURE_SOURCES: ReadonlyMap<StopReason, 'tool' | 'model'> = new Map([
  ['repeated_tool_error', 'tool'],
  ['model_failed', 'model'],
  ['hook_blocked', 'model'],
])

/** Quotes the error from the child's transcript, which its parent cannot read. */
async function failureDetails(
  db: Reader,
  { threadId, run, reason }: DeliverReportInput,
): Promise<readonly string[]> {
  const of = FAILURE_SOURCES.get(reason)
  const failure = of === undefined ? null : await findLastFailure(db, { threadId, number: run }, of)
  if (failure === null) return []
  const text = truncateToFit(failure.text.replace(TRY_AGAIN, '').trim(), LIMITS.answerTextBytes)
  return [failure.tool === null ? text : `The last error, of ${failure.tool}: ${text}`]
}

/**
 * Tests whether the agent has session tools. An agent that this worker lacks is assumed to have them, so its session counts
 * as one without a payload.
 */
async function hasSessionTools(db: Reader, registry: Registry, threadId: string): Promise<boolean> {
  const thread = await findThread(db, threadId)
  const agent = thread === null ? undefined : registry.agent(thread.agent)
  if (agent === undefined) return true
  return [agent.sideA, agent.sideB].some(
    (side) => side?.sessionStop !== undefined || side?.sessionFail !== undefined,
  )
}

/** The reasons why an activity without an answer ended its run. */
export const WITHOUT_ANSWER: Readonly<Record<FailureCause, string>> = {
  timed_out: 'its work could not be carried out for a day',
  failed: 'its work was failed for good, by an operator or by a worker that cannot do it',
  no_answer: 'its work was completed from outside with something that is no answer of it',
}

const REASONS: Readonly<Record<string, string>> = {
  stop_on_response: 'it stopped without a call of its session tool',
  answer_cut: 'its last answer was cut off by its limit of length, without a call of its session tool',
  stop_tool: 'it stopped without a call of its session tool',
  session_stop: 'what its session tool gave is not there any more',
  session_fail: 'what its session tool gave is not there any more',
  max_steps: 'one of its sides reached its limit of steps',
  max_session_turns: 'it reached its limit of turns without a call of its session tool',
  hard_cap: 'it reached the limit of steps or turns of this runtime',
  repeated_tool_error: 'the same tool error came back again and again',
  budget_exceeded: 'its budget does not allow for more',
  output_invalid: 'its answers did not have the form that they have to have',
  hook_blocked: 'a hook kept it from its work, or its message was taken back',
  model_failed: 'its model could not answer',
  definition_missing: 'no worker has the definition of its agent',
  blocked: 'its work could not be carried out',
  stopped: 'it was interrupted',
  terminated: 'it was terminated',
}

/** Returns the text for a parent about a session that ended without a payload, including the reason's code. */
function noResultText(reason: StopReason, failure?: FailureCause): string {
  const known = Object.hasOwn(REASONS, reason) ? `: ${REASONS[reason]}` : ''
  const why = failure === undefined ? known : `: ${WITHOUT_ANSWER[failure]}`
  return `The session ended without a result (${reason})${why}.`
}

/** Returns the text for a parent about a session that lacks variables. Callers look for the code `env_required`. */
function missingVariablesText(missing: readonly string[]): string {
  return `env_required: The subagent cannot go on, for these variables have no value: ${missing.join(', ')}. Once somebody has set them, it can be asked again.`
}
