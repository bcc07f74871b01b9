/** Transaction 3: the answer, its tool calls, usage and outcome, all or nothing, by the attempt that holds it (T2, T4). */
import type { CallModelAnswer, Usage } from '../../protocol/activities.js'
import { phaseFact } from '../../protocol/facts.js'
import type { Fact } from '../../protocol/facts.js'
import type { PartialAnswer } from '../../model/model-aborted-error.js'
import type { ModelError } from '../../model/model-error.js'
import { deleteDeltas } from '../../store/deltas.js'
import { recordError } from '../../store/errors.js'
import { appendEvents } from '../../store/events.js'
import { finishOperation } from '../../store/operations.js'
import type { Store, Writer } from '../../store/store.js'
import { OperationLost, commitHeld } from '../commit.js'
import { completedFact, failedFact, interruptedFact, lastFacts } from './answer-facts.js'
import type { Answered } from './answer-facts.js'
import { appendAnswer, callsOf, requestsOf, roleOf } from './answer-rows.js'
import type { AnswerMessage, CallOfAnswer } from './answer-rows.js'
import { newPlan } from './drain-step.js'
import { failureMessage } from './model-failure.js'
import { operationOf, stepScope } from './model-step.js'
import type { ModelStep } from './model-step.js'
import { usageOf } from './usage.js'

export async function commitAnswer(
  store: Store,
  step: ModelStep,
  answered: Answered,
): Promise<CallModelAnswer> {
  const { answer } = answered
  const usage = usageOf(step, answer.usage)
  const calls = callsOf(step, answer)
  const text = answer.text.trim() !== ''
  return conclude(store, step, {
    result: {
      type: 'answered',
      ...newPlan(step.input, step.content),
      text,
      calls: requestsOf(step, calls),
      usage,
    },
    message: {
      content: text ? answer.text : null,
      reasoning: answer.reasoning,
      reasoningParts: answer.reasoningParts,
      status: 'completed',
    },
    calls,
    before: [completedFact(step, answered, usage), phaseFact(4, stepScope(step.input))],
    usage,
  })
}

/** A stop cut the call: the text so far is kept, and the step gets its remaining phases. */
export async function commitInterruption(
  store: Store,
  step: ModelStep,
  { partial, request }: { readonly partial: PartialAnswer; readonly request: number },
): Promise<CallModelAnswer> {
  const content = partial.text.trim() === '' ? null : partial.text
  return conclude(store, step, {
    result: { type: 'interrupted', ...newPlan(step.input, step.content) },
    message: content === null ? null : { content, reasoning: partial.reasoning, status: 'interrupted' },
    before: [interruptedFact(step, request), phaseFact(4, stepScope(step.input))],
    after: lastFacts(step, 'stopped'),
  })
}

/** The model failed for good: the run ends with a visible message, and the thread stays usable. */
export async function commitFailure(
  store: Store,
  step: ModelStep,
  { error, request }: { readonly error: ModelError; readonly request: number },
): Promise<CallModelAnswer> {
  return conclude(store, step, {
    result: { type: 'end', reason: 'model_failed', outcome: 'failed' },
    message: { content: failureMessage(step.prompt.model, error), reasoning: null, status: 'failed' },
    before: [failedFact(step, { request, error, next: 'none' }), phaseFact(4, stepScope(step.input))],
    after: lastFacts(step, 'model_failed'),
    error,
  })
}

interface Conclusion {
  readonly result: CallModelAnswer
  readonly message: AnswerMessage | null
  readonly calls?: readonly CallOfAnswer[]
  /** Events up to the marker of phase 4, and those behind what it persists. */
  readonly before: readonly Fact[]
  readonly after?: readonly Fact[]
  readonly usage?: Usage
  readonly error?: ModelError
}

async function conclude(store: Store, step: ModelStep, conclusion: Conclusion): Promise<CallModelAnswer> {
  const { threadId } = step.input
  return commitHeld(store, operationOf(step.input), async (tx): Promise<CallModelAnswer> => {
    await finishOrLose(tx, step, conclusion)
    await deleteDeltas(tx, step.messageId)
    if (conclusion.message !== null) await appendAnswer(tx, step, conclusion.message, conclusion.calls ?? [])
    if (conclusion.error !== undefined) await recordError(tx, errorRow(step, conclusion.error))
    const created = { type: 'message.created', scope: step.scope, payload: { role: roleOf(step) } }
    const persisted = conclusion.message === null ? [] : [created]
    const events = [...conclusion.before, ...persisted, ...(conclusion.after ?? [])]
    await appendEvents(tx, { threadId, events, now: step.now })
    return conclusion.result
  })
}

async function finishOrLose(tx: Writer, step: ModelStep, conclusion: Conclusion): Promise<void> {
  const { plan } = step.content
  const model = step.content.models[step.prompt.model]
  const detail = {
    plan: plan.digest,
    model: step.prompt.model,
    prices: pricesOf(model),
    usage: conclusion.usage ?? null,
  }
  const finished = await finishOperation(tx, {
    ...operationOf(step.input),
    attempt: step.attempt,
    answer: conclusion.result,
    detail: conclusion.error === undefined ? detail : { ...detail, error: conclusion.error.kind },
    now: step.now,
  })
  if (!finished) throw new OperationLost()
}

function pricesOf(model: ModelStep['content']['models'][string] | undefined): Record<string, number | null> {
  const { inputPrice = null, outputPrice = null, cachedPrice = null } = model ?? {}
  return { inputPrice, outputPrice, cachedPrice }
}

/** The provider's own words, for operators only (T5). */
function errorRow(step: ModelStep, error: ModelError): Parameters<typeof recordError>[1] {
  const cause = error.cause instanceof Error ? error.cause : error
  const { threadId } = step.input
  const id = `${threadId}:${step.operationId}`
  return { id, threadId, at: step.now, type: error.kind, message: cause.message, stack: cause.stack ?? null }
}
