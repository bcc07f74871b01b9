/**
 * The call of one hook.
 * Owns: the view of the state that its code gets, its timeout, the check of its answer.
 * Does not own: which hooks run, and what becomes of their answers (`hook-batch.ts`).
 * Invariant: whatever the code does, the call ends in time and throws nothing.
 */
import { setMaxListeners } from 'node:events'

import type { HookDefinition, HookPoint, HookPoints } from '../../definitions/hook.js'
import type { ThreadState } from '../../definitions/thread-state.js'
import { LIMITS } from '../../protocol/limits.js'
import type { Message } from '../../protocol/message.js'
import { currentSignal } from '../activity.js'
import { guardState } from './guarded-state.js'
import type { HookFailure } from './hook-facts.js'

/** Thrown for a hook's answer that cannot be used; the message states what was expected. */
export class InvalidAnswer extends Error {}

/** How a hook is called, and how its answer is used. */
interface HookUse<Point extends HookPoint, Value> {
  readonly call: (execute: HookPoints[Point], state: ThreadState, value: Value) => unknown
  /** Checks an answer and returns the next value; undefined keeps the previous one. @throws InvalidAnswer */
  readonly accept?: (answer: unknown, value: Value) => Value | undefined | Promise<Value | undefined>
  /** The hook is no longer awaited when the activity is cancelled, because its answer is not needed then. */
  readonly interruptible?: boolean
  readonly codeOf?: (error: unknown) => HookFailure['code']
}

interface HookCall<Point extends HookPoint, Value> {
  readonly hook: HookDefinition<Point>
  readonly state: ThreadState
  readonly value: Value
  readonly use: HookUse<Point, Value>
  /** Gets the messages that the hook injects. */
  readonly onInject?: (message: Message) => void
  /** The hook only decides: it must change nothing. */
  readonly isReader?: true
}

interface HookTime {
  /** Milliseconds that it took. */
  readonly duration: number
}

type HookResult<Value> = HookTime &
  (
    | { readonly kind: 'taken'; readonly value: Value; readonly isStopped: boolean }
    | { readonly kind: 'failed'; readonly failure: HookFailure }
  )

/** Calls one hook of a use. Returns the next value or the failure, and throws nothing (H3). */
export async function callHook<Point extends HookPoint, Value>(
  call: HookCall<Point, Value>,
): Promise<HookResult<Value>> {
  const { hook, value, use, isReader, onInject } = call
  const timeout = hook.timeout ?? LIMITS.hookTimeout
  const since = performance.now()
  let close: (() => void) | undefined
  const outcome = await runHook({
    timeout,
    signal: currentSignal(),
    interruptible: use.interruptible === true,
    execute: (abortSignal) => {
      const guarded = guardState(call.state, {
        ...{ label: `hook ${hook.id}`, abortSignal },
        ...(isReader === true && { isReader }),
        ...(onInject !== undefined && { onInject }),
      })
      ;({ close } = guarded)
      return use.call(hook.execute, guarded.state, value)
    },
  })
  close?.()
  const duration = Math.round(performance.now() - since)
  const fail = (code: HookFailure['code'], error: unknown): HookResult<Value> => {
    return { kind: 'failed', failure: { code, error }, duration }
  }
  if (outcome.kind === 'stopped') return { kind: 'taken', value, isStopped: true, duration }
  if (outcome.kind === 'timed_out')
    return fail(
      'timeout',
      new Error(`The hook "${hook.id}" did not answer within ${timeout / 1000} seconds.`),
    )
  if (outcome.kind === 'threw') return fail(use.codeOf?.(outcome.error) ?? 'threw', outcome.error)
  try {
    const taken = await use.accept?.(outcome.answer, value)
    return { kind: 'taken', value: taken === undefined ? value : taken, isStopped: false, duration }
  } catch (error) {
    // Reading an answer may throw too. The error would fail the activity in each attempt (H3).
    return fail('invalid_answer', error)
  }
}

type HookOutcome =
  | { readonly kind: 'answered'; readonly answer: unknown }
  | { readonly kind: 'threw'; readonly error: unknown }
  | { readonly kind: 'timed_out' }
  | { readonly kind: 'stopped' }

interface Execution {
  readonly execute: (abortSignal: AbortSignal) => unknown
  /** Milliseconds. */
  readonly timeout: number
  /** The activity's signal, which the hook gets too. */
  readonly signal: AbortSignal
  /** The hook is no longer awaited when the activity is cancelled. */
  readonly interruptible: boolean
}

/** Runs the hook's own code. A hook that ignores its abort signal is not awaited beyond its timeout. */
async function runHook({ execute, timeout, signal, interruptible }: Execution): Promise<HookOutcome> {
  const abort = new AbortController()
  const both = AbortSignal.any([signal, abort.signal])
  // Each call that a hook makes may add a listener, and Node warns above ten.
  setMaxListeners(0, both)
  return new Promise((resolve) => {
    const timer = setTimeout(() => {
      abort.abort(new Error('timed_out'))
      end({ kind: 'timed_out' })
    }, timeout)
    const stop = (): void => end({ kind: 'stopped' })
    const end = (outcome: HookOutcome): void => {
      clearTimeout(timer)
      signal.removeEventListener('abort', stop)
      resolve(outcome)
    }
    if (interruptible) signal.addEventListener('abort', stop)
    if (interruptible && signal.aborted) return stop()
    Promise.resolve()
      .then(() => execute(both))
      .then(
        (answer) => end({ kind: 'answered', answer }),
        (error: unknown) => end({ kind: 'threw', error }),
      )
  })
}
