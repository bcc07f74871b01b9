import { setTimeout as sleepFor } from 'node:timers/promises'

import { LIMITS } from '../protocol/limits.js'
import { classifyModelError } from './classify-model-error.js'
import { ModelAbortedError } from './model-aborted-error.js'
import { MODEL_LIMITS } from './model-limits.js'
import { streamAnswer } from './stream-answer.js'

import type { ModelAnswer } from './model-answer.js'
import type { ModelError } from './model-error.js'
import type { StreamAnswerOptions } from './stream-answer.js'

/** Doubled with each further attempt; long enough for a passing fault, short beside a model call. */
const FIRST_BACKOFF = 1000

/** An attempt that begins, or with `error` one that failed; its deltas are to be dropped then. */
export interface ModelAttempt {
  /** From 1. */
  readonly attempt: number
  readonly error?: ModelError
}

export interface CallWithRetriesOptions extends StreamAnswerOptions {
  /**
   * Runs each attempt, maybe later. A ModelError that it throws of its own ends the call, and counts no attempt.
   * @default at once
   */
  readonly admitted?: <T>(work: () => Promise<T>) => Promise<T>
  readonly onAttempt: (attempt: ModelAttempt) => void | Promise<void>
  /** Rejects when the signal aborts. @default a timer */
  readonly sleep?: (milliseconds: number, signal: AbortSignal) => Promise<unknown>
}

/**
 * Asks one model, at most LIMITS.modelAttempts times and within `limits.total` altogether. A silent model is not
 * asked again, and a Retry-After over LIMITS.retryAfterInActivity is not waited for here: the error says both.
 * @throws ModelError of the last attempt.
 * @throws ModelAbortedError when the caller's signal aborts, at whatever moment.
 */
export async function callWithRetries(
  call: CallWithRetriesOptions,
): Promise<{ readonly answer: ModelAnswer; readonly attempts: number }> {
  const { signal, limits = MODEL_LIMITS, onAttempt, admitted = atOnce, sleep = sleepUntilAborted } = call
  const deadline = performance.now() + limits.total
  for (let attempt = 1; ; attempt += 1) {
    const outcome = await orAborted(signal, () =>
      admitted(async () => {
        await onAttempt({ attempt })
        const total = Math.max(0, deadline - performance.now())
        return tryOnce({ ...call, limits: { ...limits, total } })
      }),
    )
    if ('answer' in outcome) return { answer: outcome.answer, attempts: attempt }
    await onAttempt({ attempt, error: outcome.error })
    const pause = pauseBeforeRetry(outcome.error, attempt)
    if (pause === null || performance.now() + pause >= deadline) throw outcome.error
    await orAborted(signal, () => sleep(pause, signal))
  }
}

async function tryOnce(
  options: StreamAnswerOptions,
): Promise<{ readonly answer: ModelAnswer } | { readonly error: ModelError }> {
  try {
    return { answer: await streamAnswer(options) }
  } catch (error) {
    if (ModelAbortedError.isInstance(error)) throw error
    return { error: classifyModelError(error) }
  }
}

/** Milliseconds, or null if this error is final for this model. */
function pauseBeforeRetry(error: ModelError, attempt: number): number | null {
  if (!error.retryable || error.kind === 'stalled' || attempt >= LIMITS.modelAttempts) return null
  const asked = error.retryAfter ?? 0
  if (asked > LIMITS.retryAfterInActivity) return null
  return Math.max(FIRST_BACKOFF * 2 ** (attempt - 1), asked)
}

/** @throws ModelAbortedError if the signal aborts before the work or in it, whatever the work makes of that */
async function orAborted<T>(signal: AbortSignal, work: () => Promise<T>): Promise<T> {
  try {
    signal.throwIfAborted()
    return await work()
  } catch (error) {
    if (!signal.aborted || ModelAbortedError.isInstance(error)) throw error
    throw new ModelAbortedError({ partial: { text: '', reasoning: null }, cause: signal.reason })
  }
}

function sleepUntilAborted(milliseconds: number, signal: AbortSignal): Promise<unknown> {
  return sleepFor(milliseconds, undefined, { signal })
}

function atOnce<T>(work: () => Promise<T>): Promise<T> {
  return work()
}
