/**
 * The state that a thread endpoint gets. It is outside of any run, and each write is committed at once.
 *
 * Owns: one buffered state for each read and each write; the commit of a write, and the signal to the workflow; waiting for
 * work that the endpoint did not await; the end of the endpoint.
 * Does not own: the members (members.ts), unawaited promises (watched-promises.ts), the timeout of an endpoint
 * (server/endpoints).
 *
 * Invariants:
 * E1: a write is committed before its workflow is signalled (T2) and before its member returns.
 * E2: a thread that is closed or being terminated takes no write (T8). This is checked before the work and again in the
 *     transaction.
 * E3: the writes of synchronous members run one after another, in the order of the calls.
 * E4: after `close` nothing is committed.
 */
import { randomUUID } from 'node:crypto'
import { setTimeout as sleep } from 'node:timers/promises'
import type { PlanContent } from '../../definitions/plan/plan-content.js'
import type { ThreadState } from '../../definitions/thread-state.js'
import { ThreadNotFoundError } from '../../protocol/errors.js'
import type { ThreadOperation } from '../../protocol/operations.js'
import { requireOpenThread } from '../../store/threads/open-threads.js'
import type { ActivityDependencies } from '../activity.js'
import { createRedactor } from '../variables/redactor.js'
import type { Redactor } from '../variables/redactor.js'
import { openBufferedState } from './buffered-state.js'
import type { BufferedState, InvokeTool } from './buffered-state.js'
import { createCallGate } from './journal.js'
import type { CallGate } from './journal.js'
import { makeMethods, methodOf } from './members.js'
import { watchPromises } from './watched-promises.js'

interface EndpointStateOptions {
  readonly dependencies: ActivityDependencies
  readonly threadId: string
  /** Name of the active agent. */
  readonly agent: string
  /** The plan of the agent; null if this process does not have the agent. */
  readonly content: PlanContent | null
  /** Signals the workflow after the commit (E1). */
  readonly sendSignal: (operation: ThreadOperation) => Promise<void>
  /** After its abort every member throws. */
  readonly signal: AbortSignal
  /** Runs a tool in place: all of its writes are committed when it ends. */
  readonly invokeTool: InvokeTool
}

/** An endpoint's state, and its end. */
export interface EndpointState {
  readonly state: ThreadState
  /** Waits for all work that the endpoint began. Await it before the response. @throws the first failure */
  readonly waitForWork: () => Promise<void>
  /**
   * Closes the state: every member throws from now on. Pending work has `patience` milliseconds to finish; a write that has
   * not reached its commit by then is not committed (E4).
   */
  readonly close: (patience: number) => Promise<void>
  /** Knows the secrets that `state` gave to the code (T5). */
  readonly redactor: Redactor
}

/** Opens the state that a thread endpoint gets. @throws ThreadNotFoundError */
export async function openEndpointState(options: EndpointStateOptions): Promise<EndpointState> {
  const redactor = createRedactor()
  const promises = watchPromises()
  const gate = createCallGate('endpoint')
  // Registered first, so that the gate is closed when the endpoint's own listeners run.
  options.signal.addEventListener('abort', () => gate.close())
  const commits = createCallGate('endpoint')
  const pendingWork = new Set<Promise<unknown>>()
  let begun: Promise<unknown> = Promise.resolve()
  const acting: StoreAccess = {
    async read(work) {
      // The state stays open: a stream that a member returns is read later, and there is nothing to commit.
      return work((await open(options, redactor)).state)
    },
    async write(work) {
      // Checked before the work, which may be a tool in place (E2).
      await options.dependencies.store.read((db) => requireOpenThread(db, options.threadId))
      const opened = await open(options, redactor)
      const result = await work(opened.state)
      await commit(options, { opened, gate: commits })
      return result
    },
    begin(work) {
      gate.assertOpen()
      begun = begun.then(() => acting.write(work))
      // `waitForWork` throws the failure; without a handler here Node would end the process first.
      begun.catch(() => undefined)
    },
    watch: (work) =>
      promises.watch(async () => {
        // Checked only here: work that has begun proceeds to its commit.
        gate.assertOpen()
        return trackPending(pendingWork, work())
      }),
  }
  const state = await createMembers(acting, async (own) => own)
  if (state === null) throw new ThreadNotFoundError(options.threadId)
  return {
    state,
    waitForWork: () => waitForAll(() => begun, promises.waitForWork),
    async close(patience) {
      gate.close()
      await withinTime(Promise.allSettled([begun, ...pendingWork]), patience)
      commits.close()
    },
    redactor,
  }
}

/** Waits for synchronous members and promises, and for the work that they begin. @throws the first failure */
async function waitForAll(begun: () => Promise<unknown>, waitForWork: () => Promise<void>): Promise<void> {
  for (;;) {
    const last = begun()
    // Waits for both even if one fails: work that goes on after the response would be lost.
    const ends = await Promise.allSettled([waitForWork(), last])
    // A handler of a promise may have begun more.
    if (begun() !== last) continue
    for (const end of ends) if (end.status === 'rejected') throw end.reason
    return
  }
}

/** Waits for the work, at most this long. */
async function withinTime(work: Promise<unknown>, milliseconds: number): Promise<void> {
  const over = new AbortController()
  const timeout = sleep(milliseconds, undefined, { signal: over.signal }).catch(() => undefined)
  await Promise.race([work, timeout])
  over.abort()
}

/** Keeps the promise in the set until it is settled. */
async function trackPending<Result>(set: Set<Promise<unknown>>, work: Promise<Result>): Promise<Result> {
  set.add(work)
  try {
    return await work
  } finally {
    set.delete(work)
  }
}

/** Opens a buffered state. Ids are derived from the origin's id, so each write has its own origin. */
function open(options: EndpointStateOptions, redactor: Redactor): Promise<BufferedState> {
  const origin = {
    kind: 'endpoint',
    id: `endpoint_${randomUUID()}`,
    run: null,
    step: null,
    side: null,
  } as const
  return openBufferedState({ ...options, now: Date.now(), origin, execution: null, redactor })
}

async function commit(
  { dependencies, threadId, sendSignal }: EndpointStateOptions,
  { opened, gate }: { readonly opened: BufferedState; readonly gate: CallGate },
): Promise<void> {
  await opened.waitForWork()
  const { operations } = await dependencies.store.write(async (tx) => {
    // The endpoint may have ended while the transaction waited for its turn (E4).
    gate.assertOpen()
    await requireOpenThread(tx, threadId)
    return opened.commit(tx)
  })
  for (const operation of operations) await sendSignal(operation)
}

/** Finds the target thread, starting from the endpoint's own thread; null if there is none. */
type Reach = (own: ThreadState) => Promise<ThreadState | null>

/** How members reach the store: each read and each write opens a buffered state of its own. */
interface StoreAccess {
  /** Commits nothing. */
  read<Result>(work: (own: ThreadState) => Promise<Result>): Promise<Result>
  /** Commits the writes, then signals the workflows. @throws ThreadTerminatedError */
  write<Result>(work: (own: ThreadState) => Promise<Result>): Promise<Result>
  /** As `write`, for a synchronous member (E3); `waitForWork` waits for it. */
  begin(work: (own: ThreadState) => Promise<void>): void
  /** Returns a promise whose failure neither ends the process nor is lost if user code does not await it. */
  watch<Result>(work: () => Promise<Result>): Promise<Result>
}

/** Reads or writes the target thread. */
type Use = <Result>(work: (state: ThreadState) => Promise<Result>) => Promise<Result>

/** Creates the state of the thread that `reach` finds, or null. Implements the rule of each access. */
async function createMembers(acting: StoreAccess, reach: Reach): Promise<ThreadState | null> {
  const known = await acting.read(reach)
  if (known === null) return null
  const read: Use = (work) =>
    acting.watch(() => acting.read(async (own) => work(await reachAgain(own, reach))))
  const write: Use = (work) =>
    acting.watch(() => acting.write(async (own) => work(await reachAgain(own, reach))))
  const { threadId, agentId, userId, createdAt, terminated, children } = known
  return {
    ...{ threadId, agentId, userId, createdAt, terminated, children },
    execution: null,
    // No other call would share it.
    context: Object.freeze({}),
    ...makeMethods((name, { access, sync }) => {
      const call = (given: readonly unknown[]) => (state: ThreadState) =>
        methodOf(state, name)(...given) as Promise<unknown>
      switch (access) {
        case 'definitions':
          return methodOf(known, name)
        case 'read':
          return (...given) => read(call(given))
        case 'lookup':
          return (...given) => {
            const next: Reach = async (own) => {
              const state = await reach(own)
              return state && (methodOf(state, name)(...given) as ReturnType<Reach>)
            }
            return acting.watch(() => createMembers(acting, next))
          }
        // A tool in place is one write: all of its writes are committed together (T9).
        case 'invoke':
        case 'write':
        case 'signal':
        case 'signal_started':
          if (sync === true)
            return (...given) =>
              acting.begin(async (own) => void methodOf(await reachAgain(own, reach), name)(...given))
          return (...given) => write(call(given))
      }
    }),
    injectMessage: (message) => acting.watch(() => injectMessage({ read, write }, message)),
  }
}

async function reachAgain(own: ThreadState, reach: Reach): Promise<ThreadState> {
  const state = await reach(own)
  if (state !== null) return state
  throw new Error('Expected the thread that was there a moment ago, got none: it was deleted.')
}

async function injectMessage(
  { read, write }: { readonly read: Use; readonly write: Use },
  message: Parameters<ThreadState['injectMessage']>[0],
): ReturnType<ThreadState['injectMessage']> {
  const injected = await write((state) => state.injectMessage(message))
  // Read again for the position that the commit assigned.
  return (await read((state) => state.getMessage(injected.id))) ?? injected
}
