/**
 * Transaction 3: commits the outcome of a model call, by the attempt that holds its operation (T2, T4).
 * Owns: the row of an answer, its tool calls, its files and events, and the wait for a provider.
 * Does not own: the end of a call that no budget allows (`budget/no-budget.ts`), and the next action, which the workflow decides.
 *
 * An answer is committed as a whole or not at all (T9). `conclude` writes:
 * - `operations`: the row is finished with the activity's answer, the log of requests and the usage. It is updated only if this
 *   attempt holds it; if not, `finish` throws and the whole transaction is rolled back;
 * - `messages`: the row of the answer at the next position of the thread; `tool_calls`: an open row for each call
 *   (`appendAnswer`, which the batch of hooks calls, because hooks may write messages before and after it);
 * - what hooks and files of the answer have buffered: files, values, variables, `runs.context`, the journal, rows of other
 *   threads, and the operations that these add to the answer; a row of `errors` and an event for each failure of a hook;
 * - `deltas`: those of the message are deleted; `errors`: a row for each failed request; `events`: those of the step;
 * - `threads`: the last position and sequence. Bytes of files come before it; the end of the run and its usage are the settle's.
 */
import { failureTextOf } from '../../definitions/failure-text.js'
import { textDigest } from '../../model/context/answer-parts.js'
import type { AnswerDetails, StoredPart } from '../../model/context/answer-parts.js'
import type { AnswerPart, ModelAnswer, ModelFile, ModelToolCall } from '../../model/model-answer.js'
import type { PartialAnswer } from '../../model/model-error.js'
import { withJitter } from '../../model/provider-pause.js'
import { UNKNOWN_TOOL } from '../../protocol/activities.js'
import type { CallModelAnswer, CallRequest } from '../../protocol/activities.js'
import { fact } from '../../protocol/facts.js'
import type { Fact } from '../../protocol/facts.js'
import { LIMITS } from '../../protocol/limits.js'
import { CUT_OFF } from '../../protocol/message.js'
import type { AttachmentRef, MessageStatus, ToolCallEntry } from '../../protocol/message.js'
import { toolPlanOf } from '../../protocol/plan.js'
import type { StopReason } from '../../protocol/status.js'
import { insertToolCalls } from '../../store/calls/tool-calls.js'
import { appendEvents } from '../../store/events.js'
import { appendMessage } from '../../store/messages/delivery.js'
import { deleteDeltas } from '../../store/messages/deltas.js'
import type { NewMessage } from '../../store/messages/message-row.js'
import { statusMetadata } from '../../store/messages/status-line.js'
import { amendOperation } from '../../store/operations.js'
import type { Store, Writer } from '../../store/store.js'
import { countWait, readWaitTime } from '../../store/threads/runs.js'
import { findThread } from '../../store/threads/threads.js'
import { pipeline } from '../../store/transaction.js'
import { assertStoppedByUser } from '../activity.js'
import type { ActivityDependencies } from '../activity.js'
import { fileName } from '../attachments.js'
import type { RequestBlocked } from '../hooks/hook-points.js'
import { draftRow } from '../hooks/message-hooks.js'
import { storeRefusal } from '../hooks/run-end-hooks.js'
import { commitNoBudget, waitForOthers } from '../budget/no-budget.js'
import { commit, finish, keep } from '../operation.js'
import { judgeRunEnd } from '../run-output.js'
import type { StateEffects } from '../thread-state/buffered-state.js'
import { atNewPath } from '../thread-state/file-members.js'
import { patienceOf, shortestWait } from './admission.js'
import {
  completionFact,
  endOf,
  failureFact,
  failureMessage,
  lastFacts,
  lastFailure,
  phasesToAnswer,
  recordFailures,
  stateOf,
  sumUnreportedUsage,
} from './answer-facts.js'
import type { Answered, FailedModel } from './answer-facts.js'
import type { Reply } from './candidates.js'
import { answerCallId, newPlan, toStreamedMessage, withOperations } from './model-step.js'
import type { ModelStep } from './model-step.js'

/** Commits the outcome of a model call, and returns it as the activity's answer. */
export async function commitReply(
  dependencies: ActivityDependencies,
  step: ModelStep,
  reply: Reply,
): Promise<CallModelAnswer> {
  const { store } = dependencies
  if ('answer' in reply) return commitAnswer(dependencies, step, reply)
  if ('blocked' in reply) return commitBlocked(store, step, reply.blocked)
  if ('over' in reply)
    return reply.over === null
      ? commitWait(store, step, waitForOthers(step))
      : commitNoBudget(store, step, reply.over)
  if ('stopped' in reply) {
    assertStoppedByUser()
    return commitInterruption(store, step, reply.stopped)
  }
  const wait = await waitBeforeNext(store, step, reply.failures)
  return wait === null ? commitFailure(dependencies, step, reply) : commitWait(store, step, wait)
}

async function commitAnswer(
  dependencies: ActivityDependencies,
  step: ModelStep,
  answered: Answered,
): Promise<CallModelAnswer> {
  const { answer } = answered
  const usage = step.log.recordAnswer(answer.usage)
  const calls = callsOf(step, answer)
  const text = answer.text.trim() !== ''
  return conclude(dependencies.store, step, {
    ends: (result, content) => judgeRunEnd(dependencies, step, result, content),
    result: {
      type: 'answered',
      ...newPlan(step.input, step.content),
      text: text || answer.files.length > 0,
      ...(text && calls.length === 0 && answer.finishReason === CUT_OFF ? { truncated: true as const } : {}),
      calls: requestsOf(step, calls),
      usage: step.log.sumUnreportedUsage() ?? usage,
    },
    message: {
      content: text ? answer.text : null,
      reasoning: answer.reasoning,
      files: answer.files,
      parts: answer.parts,
      finishReason: answer.finishReason,
      status: 'completed',
    },
    calls,
    before: [completionFact(step, answered, usage), ...phasesToAnswer(step)],
  })
}

/** After a stop: keeps the text and files that have arrived, and appends the remaining events of the step. */
async function commitInterruption(
  store: Store,
  step: ModelStep,
  partial: PartialAnswer,
): Promise<CallModelAnswer> {
  const content = partial.text.trim() === '' ? null : partial.text
  return conclude(store, step, {
    result: { type: 'interrupted', ...newPlan(step.input, step.content), ...sumUnreportedUsage(step) },
    message:
      content === null && partial.files.length === 0
        ? null
        : { content, reasoning: partial.reasoning, files: partial.files, status: 'interrupted' },
    before: [
      // A stop during a request is the failure of that request; after a stop in a pause the failure before it counts.
      ...(step.log.isOpen ? [failureFact(step, { kind: 'interrupted' }, 'none')] : lastFailure(step)),
      ...phasesToAnswer(step),
    ],
    after: lastFacts(step, 'stopped'),
  })
}

/**
 * No model gave an answer: the run ends with a visible message, and the thread stays usable. For a nested step that
 * message is its answer, and therefore the result of the outer call.
 */
async function commitFailure(
  { store, failureText }: ActivityDependencies,
  step: ModelStep,
  { failures, routing }: Extract<Reply, { readonly failures: unknown }>,
): Promise<CallModelAnswer> {
  const { threadId, agent, frame } = step.input
  const failed = { threadId, agent, reason: 'model_failed', text: failureMessage(failures) } as const
  // The reader of a nested step's message is the model that called it, not a person.
  const asked = frame === null && failureText !== undefined
  const thread = asked ? await store.read((db) => findThread(db, threadId)) : null
  const parent = thread?.parent_thread_id ?? null
  return conclude(store, step, {
    result: endOf(step, 'model_failed'),
    message: {
      content: asked ? failureTextOf(failureText, { ...failed, parent }) : failed.text,
      reasoning: null,
      status: 'failed',
      ended: 'model_failed',
    },
    before: [
      ...lastFailure(step),
      fact('model.unavailable', { routing }, step.scope),
      ...phasesToAnswer(step),
    ],
    after: lastFacts(step, 'model_failed'),
  })
}

/** A hook has ended the run before any model call; people read the hook's message. */
async function commitBlocked(
  store: Store,
  step: ModelStep,
  { message }: RequestBlocked,
): Promise<CallModelAnswer> {
  const ended = 'hook_blocked'
  return conclude(store, step, {
    result: endOf(step, ended),
    message: { content: message, reasoning: null, status: 'failed', ended },
    before: [...lastFailure(step), ...phasesToAnswer(step)],
    after: lastFacts(step, ended),
  })
}

interface Conclusion {
  readonly result: CallModelAnswer
  readonly message: AnswerMessage | null
  readonly calls?: readonly CallOfAnswer[]
  /** Asks whether the run may end with the text. */
  readonly ends?: (result: CallModelAnswer, text: string | null) => Promise<RunEndVerdict | null>
  /** Events up to that of phase 4, and those after what it persists. */
  readonly before: readonly Fact[]
  readonly after?: readonly Fact[]
}

async function conclude(store: Store, step: ModelStep, conclusion: Conclusion): Promise<CallModelAnswer> {
  const { threadId } = step.input
  const { message, calls = [], ends, before } = conclusion
  const created = fact('message.created', { role: roleOf(step) }, step.scope)
  const made = message === null ? null : await draftAnswer(step, message, calls)
  const end = made === null || ends === undefined ? null : await ends(conclusion.result, made.row.content)
  const { result, draft, after = [] } = withEnd(step, { ...conclusion, draft: made }, end?.ended)
  await step.hooks.waitForWork()
  return commit(store, step.operation, async (tx): Promise<CallModelAnswer> => {
    const finished = withOperations(result, [...step.operations, ...(end?.operations ?? [])])
    pipeline(tx, finish(tx, step.operation, { answer: finished, detail: step.log.detail() }))
    const { operations } =
      draft === null
        ? await step.hooks.commit(tx)
        : await step.hooks.commit(tx, (moved) => appendAnswer(tx, step, rowOf(step, draft, moved), calls))
    const answer = withOperations(finished, operations)
    if (operations.length > 0) await amendOperation(tx, { threadId, id: step.operation.id, answer })
    await deleteDeltas(tx, toStreamedMessage(step))
    await recordFailures(tx, step)
    const refused = end === null ? [] : await storeRefusal(tx, { ...step.input, now: step.now }, end)
    const events = [...before, ...(message === null ? [] : [created]), ...refused, ...after]
    await appendEvents(tx, { threadId, events, now: step.now, movesActivity: false })
    return answer
  })
}

type RunEndVerdict = Awaited<ReturnType<typeof judgeRunEnd>>

/** A verdict that ends the run as failed: the answer stays as its last message. */
function withEnd(
  step: ModelStep,
  concluded: Pick<Conclusion, 'result' | 'after'> & { readonly draft: AnswerDraft | null },
  ended: StopReason | undefined,
): typeof concluded {
  const { draft } = concluded
  if (ended === undefined || draft === null) return concluded
  const row = {
    ...draft.row,
    status: 'failed',
    metadata: statusMetadata('run_ended', { reason: ended }),
  } as const
  return { result: endOf(step, ended), draft: { ...draft, row }, after: lastFacts(step, ended) }
}

/** The row of an answer before its transaction. Other writers may still take the paths of its files. */
interface AnswerDraft {
  readonly row: NewMessage
  readonly message: AnswerMessage
  readonly calls: readonly CallOfAnswer[]
  readonly attachments: readonly AttachmentRef[]
}

/**
 * Drafts the row of an answer. Create hooks receive an answer of a model, even an interrupted one, but no message of
 * the runtime.
 */
async function draftAnswer(
  step: ModelStep,
  message: AnswerMessage,
  calls: readonly CallOfAnswer[],
): Promise<AnswerDraft> {
  const attachments = await attachFiles(step, message.files ?? [])
  const made = { message, calls, attachments }
  const row = answerRow(step, message, made)
  if (message.status !== 'failed') return { ...made, row: await draftRow(step.hooks, row) }
  await step.hooks.reserveRow()
  return { ...made, row }
}

/** The row as the transaction stores it. `moved` maps the paths that other writers have taken to new ones. */
function rowOf(
  step: ModelStep,
  { row, message, calls, attachments }: AnswerDraft,
  moved: StateEffects['moved'],
): NewMessage {
  if (moved.size === 0) return row
  const { answerParts = null } = answerRow(step, message, {
    calls,
    attachments: withNewPaths(attachments, moved),
  })
  return { ...row, attachments: withNewPaths(row.attachments ?? [], moved), answerParts }
}

function withNewPaths(
  attachments: readonly AttachmentRef[],
  moved: StateEffects['moved'],
): readonly AttachmentRef[] {
  return attachments.map((file) => atNewPath(file, moved))
}

/**
 * The wait until one of the models may be called again; null if no provider requests a pause, or the patience of
 * the run is used up.
 */
async function waitBeforeNext(
  store: Store,
  step: ModelStep,
  failures: readonly FailedModel[],
): Promise<Wait | null> {
  const wait = shortestWait(failures, step.log.waits)
  if (wait === null) return null
  const { threadId, run } = step.input
  const waited = await store.read((db) => readWaitTime(db, { threadId, number: run }))
  if (waited + wait.asked > patienceOf(step)) return null
  return { milliseconds: wait.isOwn ? wait.asked : withJitter(wait.asked), isOfProvider: true }
}

interface Wait {
  readonly milliseconds: number
  /** It counts as patience of the run with its providers. */
  readonly isOfProvider: boolean
}

/** A provider wants a pause, or other threads hold a budget: this attempt keeps the operation, and the call goes on under its id (T4). */
async function commitWait(
  store: Store,
  step: ModelStep,
  { milliseconds, isOfProvider }: Wait,
): Promise<CallModelAnswer> {
  const { input, operation, log, startedAt } = step
  const { threadId, run, now } = input
  // Counts from the workflow's time, because its timer runs by Temporal's clock, not by the worker's.
  const until = Math.ceil(now + performance.now() - startedAt + milliseconds)
  const usage = log.sumUnreportedUsage()
  log.recordWait(milliseconds)
  return commit(store, operation, async (tx): Promise<CallModelAnswer> => {
    await keep(tx, operation, { state: stateOf(step), detail: log.detail() })
    if (isOfProvider) await countWait(tx, { threadId, number: run }, milliseconds)
    await deleteDeltas(tx, toStreamedMessage(step))
    await recordFailures(tx, step)
    await step.hooks.record(tx)
    const events = log.failures.slice(-1).map(({ error }) => failureFact(step, error, 'wait'))
    await appendEvents(tx, { threadId, events, now: step.now })
    return { type: 'wait', until, ...newPlan(input, step.content), ...(usage === null ? {} : { usage }) }
  })
}

/** The name of the failed call that represents an empty answer, so that the model reads its error. */
export const EMPTY_ANSWER_TOOL = 'invalid_assistant_response'

/** A call of an answer, with the id that this runtime assigns. */
type CallOfAnswer = ModelToolCall & { readonly id: string }

/** The calls of an answer. An answer without text, files and calls becomes one call that fails. */
function callsOf(step: ModelStep, answer: ModelAnswer): readonly CallOfAnswer[] {
  const made = answer.toolCalls.slice(0, LIMITS.toolCallsPerAnswer)
  const empty = made.length === 0 && answer.files.length === 0 && answer.text.trim() === ''
  const calls = empty ? [{ name: EMPTY_ANSWER_TOOL, providerCallId: '', input: '{}' }] : made
  return calls.map((call, index) => ({
    ...call,
    name: call.name.slice(0, LIMITS.nameLength),
    id: answerCallId(step, index),
  }))
}

/** The text and files of an answer, and its end. */
interface AnswerMessage {
  readonly content: string | null
  readonly reasoning: string | null
  readonly files?: readonly ModelFile[]
  readonly parts?: readonly AnswerPart[]
  readonly finishReason?: string
  readonly status: MessageStatus
  /** The reason for which it ends the run; left out for an answer of a model. */
  readonly ended?: StopReason
}

/** The calls and files of an answer, with the ids and paths of this runtime. */
interface PlacedParts {
  readonly calls: readonly CallOfAnswer[]
  /** Its files, in their order. */
  readonly attachments: readonly AttachmentRef[]
}

/** The row of an answer. The parent of a nested step's row is the call that it answers. */
function answerRow(step: ModelStep, message: AnswerMessage, { calls, attachments }: PlacedParts): NewMessage {
  const { threadId, run, side, frame } = step.input
  return {
    id: step.messageId,
    threadId,
    role: roleOf(step),
    content: message.content,
    reasoningContent: message.reasoning,
    attachments,
    answerParts: detailsOf(step, message, { calls, attachments }),
    finishReason: message.finishReason ?? null,
    status: message.status,
    metadata:
      message.ended === undefined || frame !== null
        ? null
        : statusMetadata('run_ended', { reason: message.ended }),
    createdAt: step.now,
    parentId: step.parentId,
    depth: frame?.depth ?? 0,
    sentBy: 'model',
    toolCalls: calls.length === 0 ? null : calls.map(entryOf),
    prompt: step.prompt.name,
    side,
    run,
    step: step.input.step,
  }
}

/** Writes the row of an answer and the rows of its calls. */
async function appendAnswer(
  tx: Writer,
  step: ModelStep,
  row: NewMessage,
  calls: readonly CallOfAnswer[],
): Promise<void> {
  const { threadId, run, side, frame } = step.input
  await appendMessage(tx, row)
  await insertToolCalls(
    tx,
    calls.map((call, index) => ({
      thread_id: threadId,
      id: call.id,
      message_id: step.messageId,
      run,
      step: step.input.step,
      call_index: index,
      side,
      name: call.name,
      provider_call_id: call.providerCallId,
      arguments: call.input,
      parent_call_id: frame?.callId ?? null,
    })),
  )
}

/** The details with which later requests repeat the parts exactly; null if text and calls are sufficient. */
function detailsOf(
  { content, prompt, log }: ModelStep,
  { content: text, reasoning, parts = [] }: AnswerMessage,
  made: PlacedParts,
): string | null {
  const isKept = ({ kind, providerMetadata }: AnswerPart): boolean =>
    providerMetadata !== undefined ||
    ['file', 'provider'].includes(kind) ||
    (kind === 'reasoning' && prompt.reasoning?.include === true)
  if (!parts.some(isKept)) return null
  const model = log.model ?? prompt.model
  const details: AnswerDetails = {
    model,
    modelId: content.models[model]?.model ?? '',
    text: textDigest(text),
    reasoning: textDigest(reasoning),
    parts: parts.flatMap((part) => toStoredPart(part, made)),
  }
  return JSON.stringify(details)
}

function toStoredPart(part: AnswerPart, { calls, attachments }: PlacedParts): readonly StoredPart[] {
  if ('from' in part || part.kind === 'provider') return [part]
  const { kind, index, providerMetadata } = part
  const given = providerMetadata === undefined ? {} : { providerMetadata }
  if (kind === 'file') {
    const path = attachments[index]?.path
    return path === undefined ? [] : [{ kind, path, ...given }]
  }
  // Calls beyond the limit have no id: they are not made.
  const id = calls[index]?.id
  return id === undefined ? [] : [{ kind: 'call', id, ...given }]
}

/** The calls for the workflow, with names of the plan only (T5). */
function requestsOf(step: ModelStep, calls: readonly CallOfAnswer[]): readonly CallRequest[] {
  return calls.map(({ id, name }) => ({ id, name: nameForWorkflow(step, name) }))
}

function nameForWorkflow({ content, prompt }: ModelStep, name: string): string {
  return toolPlanOf(content.plan, prompt.name, name) === undefined ? UNKNOWN_TOOL : name
}

function entryOf(call: CallOfAnswer): ToolCallEntry {
  return { id: call.id, type: 'function', function: { name: call.name, arguments: call.input } }
}

/** The stored role depends on the writer: side A writes `assistant`, side B `user`. */
function roleOf(step: ModelStep): 'assistant' | 'user' {
  return step.input.side === 'a' ? 'assistant' : 'user'
}

/**
 * Makes the files of an answer files of the thread: writes their bytes to the blob store now, and their entries with
 * the answer (T9). Hooks of the message can read them. Models provide no names, so the files are named by their kind.
 */
async function attachFiles(
  { hooks }: ModelStep,
  files: readonly ModelFile[],
): Promise<readonly AttachmentRef[]> {
  if (files.length === 0) return []
  const { attach } = await hooks.state()
  return attach(files.map(({ mimeType, data }) => ({ name: fileName(mimeType), mimeType, data })))
}
