import { setTimeout as sleepFor } from 'node:timers/promises'
import { classifyModelError } from './classify-model-error.js'
import type { ModelAnswer } from './model-answer.js'
import { asksForPause, ModelAbortedError } from './model-error.js'
import type { ModelError } from './model-error.js'
import { withJitter, LONGEST_PAUSE_IN_ACTIVITY } from './provider-pause.js'
import { MODEL_LIMITS, streamAnswer } from './stream-answer.js'

const MODEL_ATTEMPTS = 2

/** Doubled with each further attempt; long enough for a passing fault, short beside a model call. */
const FIRST_BACKOFF = 1000

/** An attempt that begins; with `error`, an attempt that failed, whose deltas must be dropped. */
export interface ModelAttempt {
  /** From 1. */
  readonly attempt: number
  readonly error?: ModelError
}

/** The limits and pauses of a provider, which all threads of a worker share. */
export interface Admission {
  /** Runs an attempt, possibly after a wait. A ModelError of its own ends the call and counts as no attempt. */
  readonly run: <T>(work: () => Promise<T>) => Promise<T>
  /** Records a pause in milliseconds that the provider asked for. */
  readonly notePause: (milliseconds: number) => void
}

type AttemptOptions = Parameters<typeof streamAnswer>[0]

export interface CallWithRetriesOptions extends AttemptOptions {
  /** @default every attempt runs at once */
  readonly admission?: Admission
  readonly onAttempt: (attempt: ModelAttempt) => void | Promise<void>
  /** Another model follows when this one fails, so a stalled model gets no second request. @default false */
  readonly hasFallback?: boolean
  /** The longest accepted pause of a provider, in milliseconds. @default any */
  readonly patience?: number
  /** Rejects when the signal aborts. @default a timer */
  readonly sleep?: (milliseconds: number, signal: AbortSignal) => Promise<unknown>
  /** From 0 to 1, for the random part of a pause. @default Math.random */
  readonly random?: () => number
}

/**
 * Asks one model, at most MODEL_ATTEMPTS times and within `limits.total` altogether. A model that did not begin to
 * answer is not asked again, and a pause over LONGEST_PAUSE_IN_ACTIVITY is not waited for here: the error says both.
 * @throws ModelError of the last attempt.
 * @throws ModelAbortedError when the caller's signal aborts, at any moment.
 */
export async function callWithRetries(
  call: CallWithRetriesOptions,
): Promise<{ readonly answer: ModelAnswer; readonly attempts: number }> {
  const { signal, limits = MODEL_LIMITS, onAttempt, admission = AT_ONCE, sleep = sleepUntilAborted } = call
  const deadline = performance.now() + limits.total
  for (let attempt = 1; ; attempt += 1) {
    const outcome = await orAborted(signal, () =>
      admission.run(async () => {
        await onAttempt({ attempt })
        const total = Math.max(0, deadline - performance.now())
        return tryOnce({ ...call, limits: { ...limits, total } })
      }),
    )
    if ('answer' in outcome) return { answer: outcome.answer, attempts: attempt }
    await onAttempt({ attempt, error: outcome.error })
    const pause = pauseBeforeRetry(call, outcome.error, attempt)
    if (asksForPause(outcome.error)) admission.notePause(outcome.error.retryAfter ?? backoff(attempt))
    if (pause === null || performance.now() + pause >= deadline) throw outcome.error
    await orAborted(signal, () => sleep(pause, signal))
  }
}

async function tryOnce(
  options: AttemptOptions,
): Promise<{ readonly answer: ModelAnswer } | { readonly error: ModelError }> {
  try {
    return { answer: await streamAnswer(options) }
  } catch (error) {
    if (ModelAbortedError.isInstance(error)) throw error
    return { error: classifyModelError(error) }
  }
}

/** Milliseconds until the next attempt; null if the error is final for this attempt of the activity. */
function pauseBeforeRetry(
  { hasFallback = false, patience = Infinity, random = Math.random }: CallWithRetriesOptions,
  error: ModelError,
  attempt: number,
): number | null {
  if (!error.retryable || attempt >= MODEL_ATTEMPTS) return null
  if (error.kind === 'stalled' && hasFallback) return null
  const asked = Math.max(backoff(attempt), error.retryAfter ?? 0)
  if (!asksForPause(error)) return withJitter(asked, random)
  return asked > Math.min(LONGEST_PAUSE_IN_ACTIVITY, patience) ? null : withJitter(asked, random)
}

function backoff(attempt: number): number {
  return FIRST_BACKOFF * 2 ** (attempt - 1)
}

/** @throws ModelAbortedError if the signal aborts before or during the work, whatever the work itself throws */
async function orAborted<T>(signal: AbortSignal, work: () => Promise<T>): Promise<T> {
  try {
    signal.throwIfAborted()
    return await work()
  } catch (error) {
    if (!signal.aborted || ModelAbortedError.isInstance(error)) throw error
    throw new ModelAbortedError({ partial: { text: '', reasoning: null, files: [] }, cause: signal.reason })
  }
}

function sleepUntilAborted(milliseconds: number, signal: AbortSignal): Promise<unknown> {
  return sleepFor(milliseconds, undefined, { signal })
}

const AT_ONCE: Admission = { run: (work) => work(), notePause: () => undefined }
