import type { ExecutionState, ThreadState } from '../../definitions/thread-state.js'
import type { Message } from '../../protocol/message.js'
import { createCallGate } from '../thread-state/call-gate.js'

interface Guard {
  /** For the sentence that a late caller reads. */
  readonly label: string
  /** Of this one hook. */
  readonly abortSignal: AbortSignal
  /** Members that cannot be used here, with what to do instead. */
  readonly refused?: Readonly<Record<string, string>>
  readonly onInject?: (message: Message) => void
}

/** A shared state in the hands of one hook: it ends with the hook, and has the hook's own abort signal. */
export function guardState(
  shared: ThreadState,
  { label, abortSignal, refused = {}, onInject }: Guard,
): { readonly state: ThreadState; readonly close: () => void } {
  const gate = createCallGate(label)
  const state = new Proxy(shared, {
    get(target, name) {
      // A hook may await or print the state itself, also when it has ended.
      if (typeof name === 'symbol' || name === 'then') return undefined
      gate.assertOpen()
      const instead = Object.hasOwn(refused, name) ? refused[name] : undefined
      if (instead !== undefined) throw new Error(instead)
      if (name === 'execution') return executionOf(target.execution, abortSignal)
      const value: unknown = Reflect.get(target, name)
      if (typeof value !== 'function') return value
      return (...given: readonly unknown[]) => {
        gate.assertOpen()
        const result: unknown = Reflect.apply(value, target, given)
        if (!(result instanceof Promise)) return result
        const guarded = result.then((answer: unknown) => {
          // It is kept, whatever has become of the hook.
          if (name === 'injectMessage') onInject?.(answer as Message)
          gate.assertOpen()
          return answer
        })
        // A hook that does not await it would otherwise take down the worker, with an unhandled rejection.
        guarded.catch(() => undefined)
        return guarded
      }
    },
  })
  return { state, close: () => gate.close() }
}

function executionOf(value: ExecutionState | null, abortSignal: AbortSignal): ExecutionState | null {
  // Not a copy: what it says of the run may change.
  return value === null
    ? null
    : Object.create(value, { abortSignal: { value: abortSignal, enumerable: true } })
}
