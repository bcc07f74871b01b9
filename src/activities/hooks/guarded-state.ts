import type { ExecutionState, ThreadState } from '../../definitions/thread-state.js'
import type { Message } from '../../protocol/message.js'
import { createCallGate } from '../thread-state/call-gate.js'
import type { CallGate } from '../thread-state/call-gate.js'
import { unheeded } from '../thread-state/watched-promises.js'

interface Guard {
  /** For the sentence that a late caller reads. */
  readonly label: string
  /** Of this one hook. */
  readonly abortSignal: AbortSignal
  /** Members that cannot be used here, with what to do instead. */
  readonly refused?: Readonly<Record<string, string>>
  readonly onInject?: (message: Message) => void
}

/** Members that answer at once, and so throw at once. */
const SYNCHRONOUS: ReadonlySet<string> = new Set([
  'queueTool',
  'emit',
  'getAgentNames',
  'getPromptNames',
  'getModelNames',
])

/** Members that answer another thread, which ends with the same hook or tool. */
const RELATIVES: ReadonlySet<string> = new Set(['getChildThread', 'getParentThread'])

/** A shared state in the hands of one hook, or of one tool: it ends with that, and has its own abort signal. */
export function guardState(
  shared: ThreadState,
  guard: Guard,
): { readonly state: ThreadState; readonly close: () => void } {
  const gate = createCallGate(guard.label)
  const guarded = new Map<ThreadState, ThreadState>()

  /** One guard for each thread: what leads back to the first one is that one. */
  function guardOnce(target: ThreadState, how: Omit<Guard, 'label'>): ThreadState {
    const known = guarded.get(target) ?? guardThread(target, { ...how, gate, relative })
    guarded.set(target, known)
    return known
  }

  function relative(target: ThreadState): ThreadState {
    return guardOnce(target, { abortSignal: guard.abortSignal })
  }

  return { state: guardOnce(shared, guard), close: () => gate.close() }
}

interface ThreadGuard extends Omit<Guard, 'label'> {
  readonly gate: CallGate
  readonly relative: (target: ThreadState) => ThreadState
}

function guardThread(
  shared: ThreadState,
  { gate, relative, abortSignal, refused = {}, onInject }: ThreadGuard,
): ThreadState {
  function call(target: ThreadState, name: string, given: readonly unknown[]): unknown {
    const method: unknown = Reflect.get(target, name)
    if (typeof method !== 'function') return undefined
    gate.assertOpen()
    const result: unknown = Reflect.apply(method, target, given)
    if (!(result instanceof Promise)) return result
    return unheeded(
      result.then((answer: unknown) => {
        // It is kept, whatever has become of the hook.
        if (name === 'injectMessage') onInject?.(answer as Message)
        gate.assertOpen()
        // Null, or the state of that thread.
        return RELATIVES.has(name) && answer !== null ? relative(answer as ThreadState) : answer
      }),
    )
  }

  return new Proxy(shared, {
    get(target, name) {
      // A hook may await or print the state itself, also when it has ended.
      if (typeof name === 'symbol' || name === 'then') return undefined
      const instead = Object.hasOwn(refused, name) ? refused[name] : undefined
      if (instead !== undefined) throw new Error(instead)
      if (name === 'execution' || typeof Reflect.get(target, name) !== 'function') {
        gate.assertOpen()
        return name === 'execution' ? executionOf(target.execution, abortSignal) : Reflect.get(target, name)
      }
      return (...given: readonly unknown[]) => {
        if (SYNCHRONOUS.has(name)) return call(target, name, given)
        try {
          return call(target, name, given)
        } catch (error) {
          return unheeded(Promise.reject(error))
        }
      }
    },
  })
}

function executionOf(value: ExecutionState | null, abortSignal: AbortSignal): ExecutionState | null {
  if (value === null || value.abortSignal === abortSignal) return value
  // Not a copy: what it says of the run may change.
  return Object.create(value, { abortSignal: { value: abortSignal, enumerable: true } })
}
