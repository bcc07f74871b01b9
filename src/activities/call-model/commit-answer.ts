/** Transaction 3: the answer, its tool calls, usage and outcome, all or nothing, by the attempt that holds it (T2, T4). */
import type { CallModelAnswer, CallRequest, Usage } from '../../protocol/activities.js'
import { phaseFact } from '../../protocol/facts.js'
import type { Fact, Phase } from '../../protocol/facts.js'
import { callIdOf } from '../../protocol/ids.js'
import { LIMITS } from '../../protocol/limits.js'
import type { MessageStatus, ToolCallEntry } from '../../protocol/message.js'
import type { StopReason } from '../../protocol/status.js'
import type { PartialAnswer } from '../../model/model-aborted-error.js'
import type { ModelAnswer, ModelToolCall } from '../../model/model-answer.js'
import type { ModelError } from '../../model/model-error.js'
import { appendMessage } from '../../store/deliver-messages.js'
import { deleteDeltas } from '../../store/deltas.js'
import { recordError } from '../../store/errors.js'
import { appendEvents } from '../../store/events.js'
import { finishOperation } from '../../store/operations.js'
import type { Store, Writer } from '../../store/store.js'
import { insertToolCalls } from '../../store/tool-calls.js'
import { OperationLost, commitHeld } from '../commit.js'
import { newPlan } from './drain-step.js'
import { operationOf, requestNumber, stepScope } from './model-step.js'
import type { ModelStep } from './model-step.js'
import { failureMessage } from './model-failure.js'
import { failedFact } from './start-operation.js'
import { usageOf } from './usage.js'

/** What the model is asked to mend when it answers with nothing. */
export const EMPTY_ANSWER_TOOL = 'invalid_assistant_response'

interface Answered {
  readonly answer: ModelAnswer
  readonly milliseconds: number
}

export async function commitAnswer(
  store: Store,
  step: ModelStep,
  answered: Answered,
): Promise<CallModelAnswer> {
  const { answer } = answered
  const usage = usageOf(step, answer.usage)
  const calls = callsOf(step, answer)
  const requests: readonly CallRequest[] = calls.map(({ id, name }) => ({ id, name }))
  const text = answer.text.trim() !== ''
  return conclude(store, step, {
    result: { type: 'answered', ...newPlan(step.input, step.content), text, calls: requests, usage },
    message: { content: text ? answer.text : null, reasoning: answer.reasoning, status: 'completed' },
    calls,
    before: [completedFact(step, answered, usage), phaseFact(4, stepScope(step.input))],
    usage,
  })
}

/** A stop cut the call: the text so far is kept, and the step gets its remaining phases. */
export async function commitInterruption(
  store: Store,
  step: ModelStep,
  partial: PartialAnswer,
): Promise<CallModelAnswer> {
  const content = partial.text.trim() === '' ? null : partial.text
  return conclude(store, step, {
    result: { type: 'interrupted', ...newPlan(step.input, step.content) },
    message: content === null ? null : { content, reasoning: partial.reasoning, status: 'interrupted' },
    before: [interruptedFact(step), phaseFact(4, stepScope(step.input))],
    after: lastPhases(step, 'stopped'),
  })
}

/** The model failed for good: the run ends with a visible message, and the thread stays usable. */
export async function commitFailure(
  store: Store,
  step: ModelStep,
  error: ModelError,
): Promise<CallModelAnswer> {
  return conclude(store, step, {
    result: { type: 'end', reason: 'model_failed', outcome: 'failed' },
    message: { content: failureMessage(step.prompt.model, error), reasoning: null, status: 'failed' },
    before: [failedFact(step, LIMITS.modelAttempts, error, 'none'), phaseFact(4, stepScope(step.input))],
    after: lastPhases(step, 'model_failed'),
    error,
  })
}

interface Conclusion {
  readonly result: CallModelAnswer
  readonly message: {
    readonly content: string | null
    readonly reasoning: string | null
    readonly status: MessageStatus
  } | null
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

async function appendAnswer(
  tx: Writer,
  step: ModelStep,
  message: NonNullable<Conclusion['message']>,
  calls: readonly CallOfAnswer[],
): Promise<void> {
  const { threadId, run, side } = step.input
  await appendMessage(tx, {
    id: step.messageId,
    threadId,
    role: roleOf(step),
    content: message.content,
    reasoningContent: message.reasoning,
    status: message.status,
    createdAt: step.now,
    sentBy: 'model',
    toolCalls: calls.length === 0 ? null : calls.map(entryOf),
    prompt: step.prompt.name,
    side,
    run,
    step: step.input.step,
  })
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
    })),
  )
}

type CallOfAnswer = ModelToolCall & { readonly id: string }

function callsOf(step: ModelStep, answer: ModelAnswer): readonly CallOfAnswer[] {
  const { run, step: number } = step.input
  const made = answer.toolCalls.slice(0, LIMITS.toolCallsPerAnswer)
  const empty = made.length === 0 && answer.text.trim() === ''
  const calls = empty ? [{ name: EMPTY_ANSWER_TOOL, providerCallId: '', input: '{}' }] : made
  return calls.map((call, index) => ({
    ...call,
    name: call.name.slice(0, LIMITS.nameLength),
    id: callIdOf(run, number, index),
  }))
}

function entryOf(call: CallOfAnswer): ToolCallEntry {
  return { id: call.id, type: 'function', function: { name: call.name, arguments: call.input } }
}

/** Stored roles say who wrote it: side A writes `assistant`, side B `user`. */
function roleOf(step: ModelStep): 'assistant' | 'user' {
  return step.input.side === 'a' ? 'assistant' : 'user'
}

function completedFact(step: ModelStep, { answer, milliseconds }: Answered, usage: Usage): Fact {
  const payload = {
    model: step.prompt.model,
    attempt: requestNumber(step.attempt, 1),
    usage: { ...usage },
    finishReason: answer.finishReason,
    milliseconds,
  }
  return { type: 'model.completed', scope: step.scope, payload }
}

function interruptedFact(step: ModelStep): Fact {
  const payload = {
    model: step.prompt.model,
    attempt: requestNumber(step.attempt, 1),
    error: 'interrupted',
    next: 'none',
  }
  return { type: 'model.failed', scope: step.scope, payload }
}

function lastPhases(step: ModelStep, reason: StopReason): readonly Fact[] {
  const scope = stepScope(step.input)
  const phases = ([5, 6, 7] as const).map((phase: Phase) => phaseFact(phase, scope))
  return [...phases, { type: 'step.completed', scope, payload: { step: step.input.step, reason } }]
}

/** The provider's own words, for operators only (T5). */
function errorRow(step: ModelStep, error: ModelError): Parameters<typeof recordError>[1] {
  const cause = error.cause instanceof Error ? error.cause : error
  const { threadId } = step.input
  const id = `${threadId}:${step.operationId}`
  return { id, threadId, at: step.now, type: error.kind, message: cause.message, stack: cause.stack ?? null }
}
