import { Context } from '@temporalio/activity'
import type { HookDefinition, HookPoint } from '../../definitions/hook.js'
import type { ThreadState } from '../../definitions/thread-state.js'
import { LIMITS } from '../../protocol/limits.js'
import type { Message } from '../../protocol/message.js'
import { guardState } from './guarded-state.js'
import type { Chain } from './hook-batch.js'
import type { HookFailure } from './hook-failure.js'
import { runHook } from './run-hook.js'

interface Asked<Point extends HookPoint, Value> {
  readonly hook: HookDefinition<Point>
  readonly state: ThreadState
  readonly value: Value
  readonly chain: Chain<Point, Value>
  /** Collects what it puts into the transcript. */
  readonly injected: Message[]
}

type Asking<Value> =
  | { readonly kind: 'taken'; readonly value: Value }
  | { readonly kind: 'failed'; readonly failure: HookFailure }

/** Asks one hook of a chain: the value that follows, or what went wrong. Nothing that a hook does is thrown. */
export async function askHook<Point extends HookPoint, Value>(
  asked: Asked<Point, Value>,
): Promise<Asking<Value>> {
  const { hook, value, chain } = asked
  const timeout = hook.timeout ?? LIMITS.hookTimeout
  let close: (() => void) | undefined
  const outcome = await runHook({
    timeout,
    signal: Context.current().cancellationSignal,
    cut: chain.cut === true,
    execute: (abortSignal) => {
      const guarded = guardState(asked.state, {
        label: `hook ${hook.id}`,
        abortSignal,
        onInject: (message) => asked.injected.push(message),
      })
      ;({ close } = guarded)
      return chain.ask(hook.execute, guarded.state, value)
    },
  })
  close?.()
  const failed = (code: HookFailure['code'], error: unknown): Asking<Value> => {
    const { messageId } = chain
    const about = messageId === undefined ? {} : { messageId }
    return { kind: 'failed', failure: { hook: hook.id, point: hook.hook, code, error, ...about } }
  }
  if (outcome.kind === 'stopped') return { kind: 'taken', value }
  if (outcome.kind === 'timed_out')
    return failed(
      'timeout',
      new Error(`The hook "${hook.id}" did not answer within ${timeout / 1000} seconds.`),
    )
  if (outcome.kind === 'threw') return failed(chain.codeOf?.(outcome.error) ?? 'threw', outcome.error)
  try {
    const taken = await chain.accept?.(outcome.answer, value)
    return { kind: 'taken', value: taken === undefined ? value : taken }
  } catch (error) {
    // An answer may also throw when it is read: that is the hook's, and would fail the activity for a day.
    return failed('invalid_answer', error)
  }
}
