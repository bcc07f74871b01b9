/**
 * Transaction 2, before each request: this attempt holds the operation before the provider hears of it (T2, T4), and
 * the event log says what was asked of which model.
 */
import { failure } from '../../protocol/failures.js'
import { phaseFact } from '../../protocol/facts.js'
import type { Fact } from '../../protocol/facts.js'
import { insertBoundary } from '../../store/boundaries.js'
import { dropAttempts } from '../../store/deltas.js'
import { appendEvents } from '../../store/events.js'
import { meanwhile } from '../../store/meanwhile.js'
import { takeOperation } from '../../store/operations.js'
import { StoreError } from '../../store/store-error.js'
import type { Store, Writer } from '../../store/store.js'
import { failedFact } from './answer-facts.js'
import type { BuiltRequest } from './build-request.js'
import { operationOf, stepScope, streamedMessage } from './model-step.js'
import type { ModelStep } from './model-step.js'
import { pricesOf } from './usage.js'

export interface NextRequest {
  readonly model: string
  readonly built: BuiltRequest
  /** The same request as before, for the same model. */
  readonly again: boolean
}

/** @throws `Operation.Lost` if another attempt holds the operation: nothing more is paid for then */
export async function startRequest(store: Store, step: ModelStep, next: NextRequest): Promise<void> {
  const { input, log } = step
  const first = log.fresh
  const failed = log.failures.slice(-1).map(({ error }) => failedFact(step, error, follows(step, next)))
  log.begin({ model: next.model, prices: pricesOf(step.content.models[next.model]) })
  const events = [
    ...failed,
    ...(next.again ? [] : resolvedFacts(step, next.built, first)),
    requestedFact(step),
  ]
  const { boundary } = next.built
  try {
    await store.write(async (tx) => {
      meanwhile(tx, holdOrLose(tx, step))
      if (boundary !== null && !next.again) await insertBoundary(tx, boundary)
      if (first && log.number > 1) await dropAttempts(tx, streamedMessage(step), log.number)
      await appendEvents(tx, { threadId: input.threadId, events, now: step.now, movesActivity: false })
    })
  } catch (error) {
    // A store that cannot take what happened between two attempts costs no answer; the commit waits for it.
    if (!next.again || !StoreError.isInstance(error)) throw error
  }
}

async function holdOrLose(tx: Writer, { input, attempt, log }: ModelStep): Promise<void> {
  const hold = { ...operationOf(input), attempt, state: 'started', detail: log.detail() } as const
  if (!(await takeOperation(tx, hold))) throw failure('Operation.Lost')
}

function follows({ log }: ModelStep, { model }: NextRequest): 'retry' | 'fallback' {
  return log.model === model ? 'retry' : 'fallback'
}

/** A first start marks the phases; a later one follows an attempt that waited or died behind them. */
function resolvedFacts(step: ModelStep, built: BuiltRequest, first: boolean): readonly Fact[] {
  const { messages, tools, dropped, estimatedTokens } = built
  const payload = { messages, tools, dropped, estimatedTokens }
  const resolved = { type: 'context.resolved', scope: step.scope, payload }
  if (!first || step.input.frame !== null) return [resolved]
  if (step.resumed) return []
  const phases = stepScope(step.input)
  return [phaseFact(2, phases), resolved, phaseFact(3, phases)]
}

function requestedFact({ scope, log }: ModelStep): Fact {
  return { type: 'model.requested', scope, payload: { model: log.model, attempt: log.number } }
}
