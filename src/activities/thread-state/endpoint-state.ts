/**
 * The state that a thread endpoint gets: outside of any run, and each write acts at once.
 *
 * Owns: one buffered state for each read and each write; the commit of a write, and telling the workflow of it; waiting for
 * what the endpoint did not await; the end of the endpoint.
 * Does not own: the members (members.ts), promises that nothing awaits (watched-promises.ts), the time that an endpoint has
 * (server/endpoints).
 *
 * Invariants:
 * E1: a write is committed before its workflow is told (T2), and before its member answers.
 * E2: a thread that is closed or is being terminated takes no write (T8): this is looked at before the work and again in
 *     the transaction.
 * E3: members that answer at once run one after another, in the order of the calls.
 * E4: after `close` nothing is committed.
 */
import { randomUUID } from 'node:crypto'
import { setTimeout as sleep } from 'node:timers/promises'
import type { PlanContent } from '../../definitions/plan/plan-content.js'
import type { ThreadState } from '../../definitions/thread-state.js'
import { ThreadNotFoundError, ThreadTerminatedError } from '../../protocol/errors.js'
import type { ThreadOperation } from '../../protocol/operations.js'
import type { Reader } from '../../store/store.js'
import { findThread } from '../../store/threads/threads.js'
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
  /** What is known of the agent; null where this process does not have it. */
  readonly content: PlanContent | null
  /** Tells the workflow, after the commit (E1). */
  readonly tell: (operation: ThreadOperation) => Promise<void>
  /** From its abort on every member throws. */
  readonly signal: AbortSignal
  /** Runs a tool in place: all that it writes is committed with its end. */
  readonly invokeTool: InvokeTool
}

/** An endpoint's state, and its end. */
export interface EndpointState {
  readonly state: ThreadState
  /** Waits for all that the endpoint began. To be awaited before the caller is answered. @throws the first failure */
  readonly settled: () => Promise<void>
  /**
   * From now on every member throws. Work that was begun before has `patience` milliseconds to finish; what has not come to
   * its commit by then is not committed (E4).
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
  // Registered first, so the gate is closed when the endpoint's own listeners run.
  options.signal.addEventListener('abort', () => gate.close())
  const commits = createCallGate('endpoint')
  const underWay = new Set<Promise<unknown>>()
  let begun: Promise<unknown> = Promise.resolve()
  const acting: StoreAccess = {
    async read(work) {
      // It is not closed: a stream that a member answers is read later, and there is nothing to commit.
      return work((await open(options, redactor)).state)
    },
    async write(work) {
      // Before the work, which may be a tool in place (E2).
      await options.dependencies.store.read((db) => assertOpen(db, options.threadId))
      const opened = await open(options, redactor)
      const result = await work(opened.state)
      await commit(options, { opened, gate: commits })
      return result
    },
    begin(work) {
      gate.assertOpen()
      begun = begun.then(() => acting.write(work))
      // `settled` throws the failure; without a handler here Node would end the process before.
      begun.catch(() => undefined)
    },
    watch: (work) =>
      promises.watch(async () => {
        // Looked at only here: work that was begun goes on to its commit.
        gate.assertOpen()
        return during(underWay, work())
      }),
  }
  const state = await endpointMembers(acting, async (own) => own)
  if (state === null) throw new ThreadNotFoundError(options.threadId)
  return {
    state,
    settled: () => allBegun(() => begun, promises.settled),
    async close(patience) {
      gate.close()
      await withinTime(Promise.allSettled([begun, ...underWay]), patience)
      commits.close()
    },
    redactor,
  }
}

/** Waits for the members that answer at once and for the promises, and for what they begin. @throws the first failure */
async function allBegun(begun: () => Promise<unknown>, settled: () => Promise<void>): Promise<void> {
  for (;;) {
    const last = begun()
    // Waits for both, also when one fails: work that goes on after the caller is answered would be lost.
    const ends = await Promise.allSettled([settled(), last])
    // A handler of a promise may have begun more.
    if (begun() !== last) continue
    for (const end of ends) if (end.status === 'rejected') throw end.reason
    return
  }
}

/** Waits for the work, but no longer than this. */
async function withinTime(work: Promise<unknown>, milliseconds: number): Promise<void> {
  const over = new AbortController()
  const late = sleep(milliseconds, undefined, { signal: over.signal }).catch(() => undefined)
  await Promise.race([work, late])
  over.abort()
}

/** Keeps the promise in the set until it is settled. */
async function during<Result>(set: Set<Promise<unknown>>, work: Promise<Result>): Promise<Result> {
  set.add(work)
  try {
    return await work
  } finally {
    set.delete(work)
  }
}

/** Ids of what is written are made from the id of the origin, so each write has an origin of its own. */
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
  { dependencies, threadId, tell }: EndpointStateOptions,
  { opened, gate }: { readonly opened: BufferedState; readonly gate: CallGate },
): Promise<void> {
  await opened.settled()
  const { operations } = await dependencies.store.write(async (tx) => {
    // The transaction has waited for its turn: the endpoint may be over (E4).
    gate.assertOpen()
    await assertOpen(tx, threadId)
    return opened.commit(tx)
  })
  for (const operation of operations) await tell(operation)
}

/** The thread's row is the authority (T8). */
async function assertOpen(db: Reader, threadId: string): Promise<void> {
  const thread = await findThread(db, threadId)
  if (thread === null) throw new ThreadNotFoundError(threadId)
  if (thread.closed_at === null && thread.terminate_requested_at === null) return
  throw new ThreadTerminatedError(threadId, thread.closed_at === null ? 'terminated' : thread.status)
}

/** Finds the thread that is meant, from the endpoint's own one; null if there is none. */
type Reach = (own: ThreadState) => Promise<ThreadState | null>

/** How members reach the store: each read and each write opens a buffered state of its own. */
interface StoreAccess {
  /** Commits nothing. */
  read<Result>(work: (own: ThreadState) => Promise<Result>): Promise<Result>
  /** Commits what the work wrote, then tells the workflows. @throws ThreadTerminatedError */
  write<Result>(work: (own: ThreadState) => Promise<Result>): Promise<Result>
  /** As `write`, for a member that answers at once (E3): `settled` waits for it. */
  begin(work: (own: ThreadState) => Promise<void>): void
  /** Answers the member's promise: if the code does not await it, its failure neither ends the process nor is lost. */
  watch<Result>(work: () => Promise<Result>): Promise<Result>
}

/** Reads or writes the thread that is meant. */
type Use = <Result>(work: (state: ThreadState) => Promise<Result>) => Promise<Result>

/** The state of the thread that `reach` finds; null if it finds none. The rules of each access are here. */
async function endpointMembers(acting: StoreAccess, reach: Reach): Promise<ThreadState | null> {
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
            return acting.watch(() => endpointMembers(acting, next))
          }
        // A tool in place is one write: what it does is committed together (T9).
        case 'invoke':
        case 'write':
        case 'tell':
        case 'ask':
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
  // Read again, for the position that the commit gave to it.
  return (await read((state) => state.getMessage(injected.id))) ?? injected
}
