/**
 * The view of a shared thread state that one hook or one tool gets.
 *
 * Owns: the end of this view, its abort signal, which members a hook may use on a subagent that has not started, and
 * what a hook that decides may use: it changes nothing but by `emit`.
 * Does not own: what a member does, and the rows of the table that say so (thread-state/members.ts).
 */
import type { ExecutionState, ThreadState } from '../../definitions/thread-state.js'
import type { Message } from '../../protocol/message.js'
import { createCallGate } from '../thread-state/journal.js'
import type { CallGate } from '../thread-state/journal.js'
import { rowOf } from '../thread-state/members.js'
import type { BeforeStart } from '../thread-state/members.js'
import { suppressUnhandled } from '../thread-state/watched-promises.js'

interface Guard {
  /** Names the hook or tool in the error that code gets after its end. */
  readonly label: string
  /** The abort signal of this hook or tool alone. */
  readonly abortSignal: AbortSignal
  /** The state belongs to a subagent that has not started, so some members are refused. */
  readonly isUnstarted?: true
  /** The code only decides: a member that would change a thread throws. */
  readonly isReader?: true
  readonly onInject?: (message: Message) => void
}

const READS_ONLY = 'A hook that decides changes nothing: it reads the state, and may call emit.'

/** Refusals of members on a subagent that has not started; null where the member is allowed. */
const BEFORE_START: Readonly<Record<BeforeStart, string | null>> = {
  allowed: null,
  not_started:
    'The subagent has not started yet: use injectMessage, setValue, setEnv or files, which it finds.',
  not_registered: 'The subagent has not started yet: its parent is the first state that the hook gets.',
}

/** Wraps a shared state for one hook or tool. The caller closes the view when that code ends. */
export function guardState(
  shared: ThreadState,
  guard: Guard,
): { readonly state: ThreadState; readonly close: () => void } {
  const gate = createCallGate(guard.label)
  const guarded = new Map<ThreadState, ThreadState>()

  /** Each thread has one guard, so a lookup that leads back to a thread returns the same state. */
  function guardOnce(target: ThreadState, how: Omit<Guard, 'label'>): ThreadState {
    const known = guarded.get(target) ?? guardThread(target, { ...how, gate, relative })
    guarded.set(target, known)
    return known
  }

  function relative(target: ThreadState): ThreadState {
    const { abortSignal, isReader } = guard
    return guardOnce(target, { abortSignal, ...(isReader === undefined ? {} : { isReader }) })
  }

  return { state: guardOnce(shared, guard), close: () => gate.close() }
}

interface ThreadGuard extends Omit<Guard, 'label'> {
  readonly gate: CallGate
  readonly relative: (target: ThreadState) => ThreadState
}

function guardThread(
  shared: ThreadState,
  { gate, relative, abortSignal, isUnstarted, isReader, onInject }: ThreadGuard,
): ThreadState {
  function property(target: ThreadState, name: string): unknown {
    gate.assertOpen()
    if (name === 'execution') return executionOf(target.execution, abortSignal, isReader)
    const value: unknown = Reflect.get(target, name)
    return isReader === true && name === 'context' ? frozenCopy(value) : value
  }

  function call(target: ThreadState, name: string, given: readonly unknown[]): unknown {
    const method: unknown = Reflect.get(target, name)
    if (typeof method !== 'function') return undefined
    gate.assertOpen()
    if (isReader === true && !isReading(name)) throw new Error(READS_ONLY)
    const result: unknown = Reflect.apply(method, target, given)
    if (!(result instanceof Promise)) return result
    return suppressUnhandled(
      result.then((answer: unknown) => {
        // The message is written even if the hook has ended since.
        if (name === 'injectMessage') onInject?.(answer as Message)
        gate.assertOpen()
        // The state of another thread is guarded too; null stays null.
        return rowOf(name)?.access === 'lookup' && answer !== null ? relative(answer as ThreadState) : answer
      }),
    )
  }

  return new Proxy(shared, {
    get(target, name) {
      // Code may await or print the state itself, even after its end.
      if (typeof name === 'symbol' || name === 'then') return undefined
      const row = rowOf(name)
      if (isUnstarted === true) assertAllowedBeforeStart(row)
      if (name === 'execution' || typeof Reflect.get(target, name) !== 'function')
        return property(target, name)
      return (...given: readonly unknown[]) => {
        // Synchronous members throw synchronously.
        if (row?.sync === true) return call(target, name, given)
        try {
          return call(target, name, given)
        } catch (error) {
          return suppressUnhandled(Promise.reject(error))
        }
      }
    },
  })
}

function assertAllowedBeforeStart(row: ReturnType<typeof rowOf>): void {
  const refusal = row !== undefined && 'beforeStart' in row ? BEFORE_START[row.beforeStart] : null
  if (refusal !== null) throw new Error(refusal)
}

/** `emit` is stored at once and is no write of the call (K2). */
function isReading(name: string): boolean {
  const access = rowOf(name)?.access
  return access === 'read' || access === 'definitions' || access === 'lookup' || name === 'emit'
}

/** A change of the context by code that only decides throws, instead of being lost. */
function frozenCopy(value: unknown): unknown {
  return freeze(structuredClone(value))
}

function freeze(value: unknown): unknown {
  if (typeof value !== 'object' || value === null) return value
  for (const part of Object.values(value)) freeze(part)
  return Object.freeze(value)
}

function executionOf(
  value: ExecutionState | null,
  abortSignal: AbortSignal,
  isReader: true | undefined,
): ExecutionState | null {
  if (value === null || (value.abortSignal === abortSignal && isReader === undefined)) return value
  const refuse = (): never => {
    throw new Error(READS_ONLY)
  }
  // Inherits instead of copying, because `stopped` may change.
  return Object.create(value, {
    abortSignal: { value: abortSignal, enumerable: true },
    ...(isReader === true && { forceTurn: { value: refuse }, stop: { value: refuse } }),
  })
}
