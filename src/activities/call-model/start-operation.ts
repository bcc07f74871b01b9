import type { CallModelInput } from '../../protocol/activities.js'
import { failure } from '../../protocol/failures.js'
import { phaseFact } from '../../protocol/facts.js'
import type { Fact } from '../../protocol/facts.js'
import type { ModelError } from '../../model/model-error.js'
import { insertBoundary } from '../../store/boundaries.js'
import { dropAttempts } from '../../store/deltas.js'
import { appendEvents } from '../../store/events.js'
import { findOperation, takeOperation } from '../../store/operations.js'
import { StoreError } from '../../store/store-error.js'
import type { Store } from '../../store/store.js'
import { failedFact } from './answer-facts.js'
import type { BuiltRequest } from './build-request.js'
import { microseconds, operationOf, requestNumber, stepScope } from './model-step.js'
import type { ModelStep } from './model-step.js'

interface Start extends Pick<ModelStep, 'content' | 'prompt' | 'attempt'> {
  readonly input: CallModelInput
  readonly request: Pick<BuiltRequest, 'messages' | 'tools' | 'dropped' | 'estimatedTokens' | 'boundary'>
}

/** Transaction 2: this attempt holds the operation before the provider hears of it. */
export async function startOperation(store: Store, start: Start): Promise<ModelStep> {
  const { input, content, prompt, attempt } = start
  const operation = operationOf(input)
  const now = microseconds(input)
  return store.write(async (tx) => {
    const found = await findOperation(tx, operation.threadId, operation.id)
    const held = await takeOperation(tx, { ...operation, attempt, state: 'started' })
    if (!held || found?.message_id == null) throw failure('Operation.Lost')
    if (start.request.boundary !== null) await insertBoundary(tx, start.request.boundary)
    const messageId = found.message_id
    const scope = { ...stepScope(input), messageId }
    if (attempt > 1) await dropAttempts(tx, messageId, requestNumber(attempt, 1))
    const step = { input, content, prompt, operationId: operation.id, attempt, messageId, scope, now }
    // A first start marks the phases; a later one follows an attempt that died behind them.
    const phases = found.state === 'drained' ? resolvedFacts(start, step) : []
    await appendEvents(tx, { threadId: input.threadId, events: [...phases, requested(step, 1)], now })
    return step
  })
}

/** One request failed and another follows in the same attempt. A store that cannot take the event costs no second call. */
export async function recordRetry(
  store: Store,
  step: ModelStep,
  retry: { readonly attempt: number; readonly failed: ModelError },
): Promise<void> {
  const events = [
    failedFact(step, { request: retry.attempt - 1, error: retry.failed, next: 'retry' }),
    requested(step, retry.attempt),
  ]
  try {
    await store.write((tx) => appendEvents(tx, { threadId: step.input.threadId, events, now: step.now }))
  } catch (error) {
    if (!StoreError.isInstance(error)) throw error
  }
}

function resolvedFacts({ request }: Start, { scope, input }: ModelStep): readonly Fact[] {
  const phases = stepScope(input)
  const { messages, tools, dropped, estimatedTokens } = request
  const payload = { messages, tools, dropped, estimatedTokens }
  return [phaseFact(2, phases), { type: 'context.resolved', scope, payload }, phaseFact(3, phases)]
}

function requested(step: ModelStep, request: number): Fact {
  const attempt = requestNumber(step.attempt, request)
  return { type: 'model.requested', scope: step.scope, payload: { model: step.prompt.model, attempt } }
}
