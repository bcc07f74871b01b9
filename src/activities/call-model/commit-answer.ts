/** Transaction 3: the answer, its tool calls, usage and outcome, all or nothing, by the attempt that holds it (T2, T4). */
import type { CallModelAnswer } from '../../protocol/activities.js'
import { CUT_OFF } from '../../protocol/message.js'
import type { Fact } from '../../protocol/facts.js'
import type { AttachmentRef } from '../../protocol/message.js'
import type { StopReason } from '../../protocol/status.js'
import type { PartialAnswer } from '../../model/model-aborted-error.js'
import { deleteDeltas } from '../../store/deltas.js'
import { appendEvents } from '../../store/events.js'
import { meanwhile } from '../../store/meanwhile.js'
import type { NewMessage } from '../../store/message-row.js'
import { amendOperation } from '../../store/operations.js'
import type { Store, Writer } from '../../store/store.js'
import { findThread } from '../../store/threads.js'
import { commitHeld, finishOrLose } from '../commit.js'
import { storeDraft } from '../hooks/create-hooks.js'
import type { RequestBlocked } from '../hooks/request-hooks.js'
import type { StateEffects } from '../thread-state/buffered-thread-state.js'
import { atNewPath } from '../thread-state/moved-attachment.js'
import { attachFiles } from './answer-files.js'
import { completedFact, failedFact, lastFacts, phasesToAnswer } from './answer-facts.js'
import type { Answered } from './answer-facts.js'
import { answerRow, appendAnswer, callsOf, requestsOf, roleOf } from './answer-rows.js'
import type { AnswerMessage, CallOfAnswer } from './answer-rows.js'
import { newPlan } from './drain-step.js'
import type { ActivityDependencies } from '../dependencies.js'
import { failureTextOf } from '../../definitions/failure-text.js'
import { failureMessage } from './model-failure.js'
import type { FailedModel } from './model-failure.js'
import { operationOf, streamedMessage } from './model-step.js'
import type { ModelStep } from './model-step.js'
import { recordFailures } from './record-failures.js'
import { sumOf } from './usage.js'
import { withOperations } from './with-operations.js'

export async function commitAnswer(
  store: Store,
  step: ModelStep,
  answered: Answered,
): Promise<CallModelAnswer> {
  const { answer } = answered
  const usage = step.log.answered(answer.usage)
  const calls = callsOf(step, answer)
  const text = answer.text.trim() !== ''
  return conclude(store, step, {
    result: {
      type: 'answered',
      ...newPlan(step.input, step.content),
      text: text || answer.files.length > 0,
      ...(text && calls.length === 0 && answer.finishReason === CUT_OFF ? { cut: true as const } : {}),
      calls: requestsOf(step, calls),
      usage: step.log.unreported() ?? usage,
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
    before: [completedFact(step, answered, usage), ...phasesToAnswer(step)],
  })
}

/** A stop cut the call: the text and files so far are kept, and the step gets its remaining phases. */
export async function commitInterruption(
  store: Store,
  step: ModelStep,
  partial: PartialAnswer,
): Promise<CallModelAnswer> {
  const content = partial.text.trim() === '' ? null : partial.text
  return conclude(store, step, {
    result: { type: 'interrupted', ...newPlan(step.input, step.content), ...unreported(step) },
    message:
      content === null && partial.files.length === 0
        ? null
        : { content, reasoning: partial.reasoning, files: partial.files, status: 'interrupted' },
    before: [...cutFacts(step), ...phasesToAnswer(step)],
    after: lastFacts(step, 'stopped'),
  })
}

/**
 * No model gave an answer: the run ends with a visible message, and the thread stays usable. A nested step ends with
 * that message as its answer, which is what the outer call's result says.
 */
export async function commitFailure(
  { store, failureText }: ActivityDependencies,
  step: ModelStep,
  failures: readonly FailedModel[],
): Promise<CallModelAnswer> {
  const { threadId, agent, frame } = step.input
  const failed = { threadId, agent, reason: 'model_failed', text: failureMessage(failures) } as const
  // What a nested step says is read by the model that asked for it, not by a person.
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
    before: [...lastFailure(step), ...phasesToAnswer(step)],
    after: lastFacts(step, 'model_failed'),
  })
}

/** A hook ended the run on purpose, and no model is asked: what it says is what people read. */
export async function commitBlocked(
  store: Store,
  step: ModelStep,
  { message }: RequestBlocked,
): Promise<CallModelAnswer> {
  return conclude(store, step, {
    result: endOf(step, 'hook_blocked'),
    message: { content: message, reasoning: null, status: 'failed', ended: 'hook_blocked' },
    before: [...lastFailure(step), ...phasesToAnswer(step)],
    after: lastFacts(step, 'hook_blocked'),
  })
}

/** A nested step does not end the run: its message is what the outer call's result says. */
function endOf(step: ModelStep, reason: StopReason): CallModelAnswer {
  if (step.input.frame === null) return { type: 'end', reason, outcome: 'failed', ...unreported(step) }
  return { type: 'answered', text: false, calls: [], usage: step.log.unreported() ?? sumOf([]) }
}

/** A stop during a request is one record; one in a pause leaves the failure that the pause followed. */
function cutFacts(step: ModelStep): readonly Fact[] {
  return step.log.open ? [failedFact(step, { kind: 'interrupted' }, 'none')] : lastFailure(step)
}

function lastFailure(step: ModelStep): readonly Fact[] {
  const last = step.log.failures.at(-1)
  return last === undefined ? [] : [failedFact(step, last.error, 'none')]
}

function unreported({ log }: ModelStep): Partial<Pick<CallModelAnswer & { type: 'end' }, 'usage'>> {
  const usage = log.unreported()
  return usage === null ? {} : { usage }
}

interface Conclusion {
  readonly result: CallModelAnswer
  readonly message: AnswerMessage | null
  readonly calls?: readonly CallOfAnswer[]
  /** Events up to the marker of phase 4, and those behind what it persists. */
  readonly before: readonly Fact[]
  readonly after?: readonly Fact[]
}

async function conclude(store: Store, step: ModelStep, conclusion: Conclusion): Promise<CallModelAnswer> {
  const { threadId } = step.input
  const { result, message, calls = [], before, after = [] } = conclusion
  const created = { type: 'message.created', scope: step.scope, payload: { role: roleOf(step) } }
  if (message !== null) await placeAnswer(step, message, calls)
  await step.hooks.settled()
  return commitHeld(store, operationOf(step.input), async (tx): Promise<CallModelAnswer> => {
    const finished = withOperations(result, step.operations)
    const { attempt, log, now } = step
    const held = { ...operationOf(step.input), attempt, detail: log.detail(), now }
    meanwhile(tx, finishOrLose(tx, { ...held, answer: finished }))
    const { operations } = await step.hooks.commit(tx)
    const answer = withOperations(finished, operations)
    if (operations.length > 0) await amendOperation(tx, { ...operationOf(step.input), answer })
    await deleteDeltas(tx, streamedMessage(step))
    await recordFailures(tx, step)
    const events = [...before, ...(message === null ? [] : [created]), ...after]
    await appendEvents(tx, { threadId, events, now: step.now, movesActivity: false })
    return answer
  })
}

/** What the model said meets the create hooks, also where it was cut; the runtime's own words do not. */
async function placeAnswer(
  step: ModelStep,
  message: AnswerMessage,
  calls: readonly CallOfAnswer[],
): Promise<void> {
  const attachments = await attachFiles(step, message.files ?? [])
  const row = answerRow(step, message, { calls, attachments })
  const append = (tx: Writer, draft: NewMessage, moved: StateEffects['moved']): Promise<void> => {
    if (moved.size === 0) return appendAnswer(tx, step, draft, calls)
    const { answerParts = null } = answerRow(step, message, {
      calls,
      attachments: atNewPaths(attachments, moved),
    })
    const placed = { ...draft, attachments: atNewPaths(draft.attachments ?? [], moved), answerParts }
    return appendAnswer(tx, step, placed, calls)
  }
  if (message.status === 'failed') await step.hooks.write((tx, moved) => append(tx, row, moved))
  else await storeDraft(step.hooks, row, append)
}

function atNewPaths(
  attachments: readonly AttachmentRef[],
  moved: StateEffects['moved'],
): readonly AttachmentRef[] {
  return attachments.map((file) => atNewPath(file, moved))
}
