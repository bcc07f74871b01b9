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
import { createCallGate } from './call-gate.js'
import type { CallGate } from './call-gate.js'
import { makeMethods, methodOf } from './members.js'
import { watchPromises } from './watched-promises.js'
import type { WatchedPromises } from './watched-promises.js'

interface ActingStateOptions {
  readonly dependencies: ActivityDependencies
  readonly threadId: string
  /** Name of the active agent. */
  readonly agent: string
  /** What is known of the agent; null where nobody here has it. */
  readonly content: PlanContent | null
  /** Tells the workflow, after the commit of its rows (T2). */
  readonly tell: (operation: ThreadOperation) => Promise<void>
  /** From its abort on every member throws. */
  readonly signal: AbortSignal
  /** Runs a tool in place: all that it writes is committed with its end. */
  readonly invokeTool: InvokeTool
}

/** A state outside of any run, whose every write acts at once. */
export interface ActingState {
  readonly state: ThreadState
  /** All that was begun is done: to be awaited before the caller is answered. @throws what failed of it */
  readonly settled: () => Promise<void>
  /**
   * From now on every member throws. What was begun before has so many milliseconds to be done, whatever becomes of it: what
   * has not come to its commit when this resolves is not committed.
   */
  readonly close: (patience: number) => Promise<void>
  /** Knows the secrets that `state` gave (T5). */
  readonly redactor: Redactor
}

/** Opens the state that a thread endpoint gets. @throws ThreadNotFoundError */
export async function openActingState(options: ActingStateOptions): Promise<ActingState> {
  const redactor = createRedactor()
  const promises = watchPromises()
  const gate = createCallGate('endpoint')
  // Before the code hears of it.
  options.signal.addEventListener('abort', () => gate.close())
  const commits = createCallGate('endpoint')
  const underWay = new Set<Promise<unknown>>()
  let begun: Promise<unknown> = Promise.resolve()
  const acting: Acting = {
    async read(work) {
      // Stays open: a stream that it answers is read later, and there is nothing to commit.
      return work((await open(options, redactor)).state)
    },
    async write(work) {
      // Before a tool runs in place, too; the commit looks again.
      await options.dependencies.store.read((db) => assertOpen(db, options.threadId))
      const opened = await open(options, redactor)
      const result = await work(opened.state)
      await commit(options, { opened, gate: commits })
      return result
    },
    begin(work) {
      gate.assertOpen()
      begun = begun.then(() => acting.write(work))
      // `settled` throws it; without a handler it would end the process before.
      begun.catch(() => undefined)
    },
    watch: (work) =>
      promises.watch(async () => {
        // Here alone: what was begun goes on to its commit, and is told.
        gate.assertOpen()
        return during(underWay, work())
      }),
  }
  const state = await actingMembers(acting, async (own) => own)
  if (state === null) throw new ThreadNotFoundError(options.threadId)
  return {
    state,
    settled: () => allBegun(() => begun, promises),
    async close(patience) {
      gate.close()
      await withinTime(Promise.allSettled([begun, ...underWay]), patience)
      commits.close()
    },
    redactor,
  }
}

/** All that was begun, one after another and by promises, and what that began. @throws what failed of it */
async function allBegun(begun: () => Promise<unknown>, promises: WatchedPromises): Promise<void> {
  for (;;) {
    const last = begun()
    // Both to their ends: what is under way while the caller is answered would be lost.
    const ends = await Promise.allSettled([promises.settled(), last])
    // What hangs on a promise may have begun more.
    if (begun() !== last) continue
    for (const end of ends) if (end.status === 'rejected') throw end.reason
    return
  }
}

/** Waits no longer than that. */
async function withinTime(work: Promise<unknown>, milliseconds: number): Promise<void> {
  const over = new AbortController()
  const late = sleep(milliseconds, undefined, { signal: over.signal }).catch(() => undefined)
  await Promise.race([work, late])
  over.abort()
}

/** The same promise, in the set until it is over. */
async function during<Result>(set: Set<Promise<unknown>>, work: Promise<Result>): Promise<Result> {
  set.add(work)
  try {
    return await work
  } finally {
    set.delete(work)
  }
}

/** Ids are made from that of the origin, so each write has its own. */
function open(options: ActingStateOptions, redactor: Redactor): Promise<BufferedState> {
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
  { dependencies, threadId, tell }: ActingStateOptions,
  { opened, gate }: { readonly opened: BufferedState; readonly gate: CallGate },
): Promise<void> {
  await opened.settled()
  const { operations } = await dependencies.store.write(async (tx) => {
    // It has waited for its turn.
    gate.assertOpen()
    await assertOpen(tx, threadId)
    return opened.commit(tx)
  })
  for (const operation of operations) await tell(operation)
}

/** T8: its row is the authority. */
async function assertOpen(db: Reader, threadId: string): Promise<void> {
  const thread = await findThread(db, threadId)
  if (thread === null) throw new ThreadNotFoundError(threadId)
  if (thread.closed_at === null && thread.terminate_requested_at === null) return
  throw new ThreadTerminatedError(threadId, thread.closed_at === null ? 'terminated' : thread.status)
}

/** Which thread of those around the own one is meant; null if there is none. */
type Reach = (own: ThreadState) => Promise<ThreadState | null>

/** How members reach the store: each by a buffered state of its own. */
interface Acting {
  /** Nothing is committed. */
  read<Result>(work: (own: ThreadState) => Promise<Result>): Promise<Result>
  /** Commits what was written, then tells the workflows. @throws ThreadTerminatedError */
  write<Result>(work: (own: ThreadState) => Promise<Result>): Promise<Result>
  /** As `write`, of a member that answers at once: one after another, and awaited at the end. */
  begin(work: (own: ThreadState) => Promise<void>): void
  /** What a member answers: whoever forgets to await it neither ends the process nor loses its failure. */
  watch<Result>(work: () => Promise<Result>): Promise<Result>
}

/** As `Acting`, on the thread that is meant. */
type Use = <Result>(work: (state: ThreadState) => Promise<Result>) => Promise<Result>

/** The members of a state, each of which acts at once on the thread that `reach` finds; null if it finds none. */
async function actingMembers(acting: Acting, reach: Reach): Promise<ThreadState | null> {
  const known = await acting.read(reach)
  if (known === null) return null
  const read: Use = (work) => acting.watch(() => acting.read(async (own) => work(await reached(own, reach))))
  const write: Use = (work) =>
    acting.watch(() => acting.write(async (own) => work(await reached(own, reach))))
  const { threadId, agentId, userId, createdAt, terminated, children } = known
  return {
    ...{ threadId, agentId, userId, createdAt, terminated, children },
    execution: null,
    // It would be shared by nobody.
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
            return acting.watch(() => actingMembers(acting, next))
          }
        // A tool in place is one write: its effects are committed together (T9).
        case 'invoke':
        case 'write':
        case 'tell':
        case 'ask':
          if (sync === true)
            return (...given) =>
              acting.begin(async (own) => void methodOf(await reached(own, reach), name)(...given))
          return (...given) => write(call(given))
      }
    }),
    injectMessage: (message) => acting.watch(() => injectMessage({ read, write }, message)),
  }
}

async function reached(own: ThreadState, reach: Reach): Promise<ThreadState> {
  const state = await reach(own)
  if (state !== null) return state
  throw new Error('Expected the thread that was there a moment ago, got none: it was deleted.')
}

async function injectMessage(
  { read, write }: { readonly read: Use; readonly write: Use },
  message: Parameters<ThreadState['injectMessage']>[0],
): ReturnType<ThreadState['injectMessage']> {
  const injected = await write((state) => state.injectMessage(message))
  // With the position that the commit gave it.
  return (await read((state) => state.getMessage(injected.id))) ?? injected
}
