/**
 * The other threads that a call has opened: its parent, its children, and theirs.
 *
 * Owns: the lookup and opening of these threads; which members are refused on them, by the access of the member; the bound
 * on outbound signals; their part of the commit.
 * Does not own: the members (members.ts) and the overlays of one thread (thread-overlays.ts).
 *
 * Invariants:
 * R1: a call opens a thread once, so each path to it leads to the same state.
 * R2: writes to another thread are committed with the outcome of the call (T9); the call's workflow then signals that
 *     thread's workflow.
 * R3: a thread that is closed when the call opens it, or at the commit, takes no write (T8).
 */
import { buildPlan } from '../../definitions/plan/build-plan.js'
import type { PlanContent } from '../../definitions/plan/plan-content.js'
import { fact } from '../../protocol/facts.js'
import type { Fact } from '../../protocol/facts.js'
import { LIMITS } from '../../protocol/limits.js'
import type { ThreadOperation, OutboundOperation } from '../../protocol/operations.js'
import type { SubagentRegistryEntry } from '../../protocol/status.js'
import type { Reader, Writer } from '../../store/store.js'
import { listResumableChildren } from '../../store/threads/thread-tree.js'
import { findChild } from '../../store/threads/children.js'
import { isOpen } from '../../store/threads/open-threads.js'
import { findThread, requestTermination } from '../../store/threads/threads.js'
import type { ThreadRecord } from '../../store/threads/threads.js'
import type { ActivityDependencies } from '../activity.js'
import type { VariableScope } from '../variables/variables.js'
import type { BufferedWrite, Written } from './journal.js'
import { createThreadState, makeMethods, methodOf } from './members.js'
import { commitParts, openParts } from './thread-overlays.js'
import type { Relative, StatePlace } from './thread-overlays.js'
import type { Micros } from '../../protocol/time.js'

/** Another thread with the call's writes to it. */
interface OpenRelative extends Relative {
  readonly isChanged: () => boolean
  readonly waitForWork: () => Promise<void>
  readonly commit: (tx: Writer) => Promise<readonly ThreadOperation[]>
}

/** The lookups of other threads, and the call's writes to them. */
type Relatives = StatePlace['relatives'] & {
  /** Waits until the events that the call emitted to them are stored or their write has failed. */
  readonly waitForWork: () => Promise<void>
  readonly commit: (tx: Writer) => Promise<Required<Written>>
}

/** A thread that was found and is to be opened. */
interface FoundRelative {
  readonly thread: ThreadRecord
  readonly children: readonly SubagentRegistryEntry[]
  /** The thread waits for variables before its start, so it has no workflow yet. */
  readonly isDeferred: boolean
  /** The relation of the call's thread to this one. */
  readonly sentBy: 'child' | 'parent'
  /** Counts signals to other workflows. @throws an error when there are too many for one call */
  readonly countSignal: () => void
}

interface RelativesOptions extends Omit<Shared, 'relatives'> {
  /** The call's own thread: a lookup may lead back to it. */
  readonly own: () => Relative
}

export function createRelatives({ own, ...options }: RelativesOptions): Relatives {
  const { gate } = options
  const { store } = options.dependencies
  const opened = new Map<string, OpenRelative>()
  let signals = 0

  function countSignal(): void {
    if (signals >= LIMITS.queuedByCall)
      throw new Error(
        `Expected at most ${LIMITS.queuedByCall} operations on other threads from one call, got another one.`,
      )
    signals += 1
  }

  async function relative(thread: ThreadRecord, sentBy: 'child' | 'parent'): Promise<Relative> {
    if (thread.id === options.from.threadId) return own()
    const known = opened.get(thread.id)
    if (known !== undefined) return known
    const [children, isDeferred] = await store.read((db) =>
      Promise.all([listResumableChildren(db, thread.id), isDeferredChild(db, thread)]),
    )
    // The call may have ended during the read; then the thread must not reach the commit.
    gate.assertOpen()
    // Another lookup of the same thread may have finished first (R1).
    const found =
      opened.get(thread.id) ??
      openRelative({ ...options, relatives }, { thread, children, isDeferred, sentBy, countSignal })
    opened.set(thread.id, found)
    return found
  }

  const relatives: Relatives = {
    async parentOf(parentId) {
      const thread = parentId === null ? null : await store.read((db) => findThread(db, parentId))
      return thread === null ? null : relative(thread, 'child')
    },
    async childOf(parentId, reference) {
      const thread =
        typeof reference === 'string' ? await store.read((db) => findThread(db, reference)) : null
      return thread?.parent_thread_id === parentId ? relative(thread, 'parent') : null
    },
    async waitForWork() {
      for (const { waitForWork } of opened.values()) await waitForWork()
    },
    async commit(tx) {
      const operations: ThreadOperation[] = []
      const events: Fact[] = []
      for (const [to, changed] of opened) {
        if (!changed.isChanged()) continue
        if (await takesWork(tx, to)) operations.push(...signalsTo(to, await changed.commit(tx)))
        else events.push(THREAD_CLOSED)
      }
      return { operations, events }
    },
  }
  return relatives
}

async function isDeferredChild(db: Reader, { id, parent_thread_id: parent }: ThreadRecord): Promise<boolean> {
  return parent !== null && (await findChild(db, parent, id))?.status === 'deferred'
}

/** The warning for a thread that has closed since the call opened it (R3). */
const THREAD_CLOSED: Fact = fact('runtime.warning', {
  code: 'thread_closed',
  message: 'What a tool did to another thread was dropped, because that thread was closed.',
})

async function takesWork(db: Reader, threadId: string): Promise<boolean> {
  const thread = await findThread(db, threadId)
  return thread !== null && isOpen(thread)
}

function signalsTo(to: string, operations: readonly ThreadOperation[]): readonly ThreadOperation[] {
  return operations.filter(isOutbound).map((operation) => ({ kind: 'signal_thread', to, operation }))
}

const OUTBOUND: ReadonlySet<string> = new Set<OutboundOperation['kind']>([
  'queue_message',
  'queue_tool',
  'schedule_effect',
  'remove_effect',
  'remove_queued',
  'set_env',
  'terminate',
])

/** Operations of other kinds steer a run, and this call has no run of another thread. */
function isOutbound(operation: ThreadOperation): operation is OutboundOperation {
  return OUTBOUND.has(operation.kind)
}

/** The parts that a relative shares with the state of the call. */
type Shared = Pick<StatePlace, 'dependencies' | 'gate' | 'redactor' | 'relatives' | 'now'> & {
  /** The call's thread and run, and the id from which the call derives its ids. */
  readonly from: { readonly threadId: string; readonly run: number | null; readonly id: string }
}

const NOT_HERE = 'A tool cannot be invoked in another thread, whose run is not here: use its queueTool.'

/** Opens a parent or a child for a call, without a run and without hooks. */
function openRelative(shared: Shared, found: FoundRelative): OpenRelative {
  const { dependencies, from, now } = shared
  const { thread, children, isDeferred, sentBy, countSignal } = found
  const { id: threadId } = thread
  const opened = openParts({
    ...shared,
    ...{ thread, children, hooks: null, execution: null },
    scope: scopeOf(dependencies, thread),
    // Calls of two threads may have the same id; the thread's id distinguishes them.
    origin: {
      kind: 'relative',
      id: `${from.threadId}:${from.id}`,
      sentBy,
      sentIn: from.run === null ? null : { threadId: from.threadId, number: from.run },
      run: null,
      step: null,
      side: null,
    },
    // No other call would share it.
    context: Object.freeze({}),
    invokeTool: () => Promise.reject(new Error(NOT_HERE)),
    terminate: terminateBy(sentBy, thread, now),
    onNotified: () => undefined,
  })
  let changed = false
  const isClosed = !isOpen(thread)
  const onWrite = (): void => void (changed = true)
  const rules = rulesOf({ threadId, isClosed, isDeferred, onWrite, countSignal })
  const { gate, redactor } = shared
  const methods = makeMethods((name, row) => {
    const isNoop = isClosed && 'isNoopOnClosed' in row
    return isNoop ? async () => undefined : rules[row.access](methodOf(opened.methods, name))
  })
  return {
    state: createThreadState({ gate, redactor, known: opened.known, methods }),
    notify: rules.signal(opened.notify),
    isChanged: () => changed,
    waitForWork: opened.waitForWork,
    commit: async (tx) => (await commitParts(tx, opened, { threadId, now })).operations,
  }
}

/** Returns the scope of the agent as this worker has it. Its plan is built only when a variable is read. */
function scopeOf(dependencies: ActivityDependencies, { id: threadId, agent }: ThreadRecord): VariableScope {
  let built: { readonly content: PlanContent | null } | undefined
  return {
    ...{ threadId, agent, prompt: null },
    get content() {
      const plan = built === undefined ? buildPlan(dependencies.registry, agent, dependencies) : null
      if (plan !== null) built = { content: 'missing' in plan ? null : plan }
      return built?.content ?? null
    },
  }
}

/** Requests termination in the thread's row, which is the authority (T8) even if its workflow cannot be signalled. */
function terminateBy(
  sentBy: FoundRelative['sentBy'],
  { id: threadId }: ThreadRecord,
  now: Micros,
): BufferedWrite {
  const reason = sentBy === 'child' ? 'A subagent requested it.' : 'Its parent thread requested it.'
  return async (tx) => {
    const requested = await requestTermination(tx, { threadId, reason, by: sentBy, now })
    return requested === 'requested' ? { operations: [{ kind: 'terminate' }] } : {}
  }
}

interface RelativeLimits {
  readonly threadId: string
  /** A closed thread can be read and not changed (R3). */
  readonly isClosed: boolean
  /** The thread has not started, so its workflow cannot be signalled. */
  readonly isDeferred: boolean
  readonly onWrite: () => void
  /** @throws an error when the call has sent too many signals */
  readonly countSignal: () => void
}

/** Puts a check before the work. */
type Rule = <Given extends readonly unknown[], Result>(
  work: (...given: Given) => Result,
) => (...given: Given) => Result

/** Returns the rules for members on another thread, by access (R3). An access without a rule does not compile. */
function rulesOf({ threadId, isClosed, isDeferred, onWrite, countSignal }: RelativeLimits) {
  const allow: Rule = (work) => work
  const write: Rule =
    (work) =>
    (...given) => {
      if (isClosed) throw new Error(`Expected an open thread, got ${threadId}, which was closed.`)
      onWrite()
      return work(...given)
    }
  const signal: Rule = (work) =>
    write((...given) => {
      countSignal()
      return work(...given)
    })
  const signalStarted: Rule = (work) =>
    signal((...given) => {
      if (!isDeferred) return work(...given)
      throw new Error(
        `Expected a thread that runs, got ${threadId}, which waits for variables: use injectMessage, setValue, ` +
          'setEnv or files, which it finds.',
      )
    })
  // The implementation of `invokeTool` that this state is opened with refuses each tool.
  return {
    read: allow,
    definitions: allow,
    lookup: allow,
    invoke: allow,
    write,
    signal,
    signal_started: signalStarted,
  }
}
