/**
 * The threads around a call's own that the call has looked at: its parent, its children, and theirs.
 *
 * Owns: the lookup and opening of these threads; which members are refused on them, by the access of the member; the count
 * of what their workflows are told; their part of the commit.
 * Does not own: the members (members.ts) and the overlays of one thread (thread-overlays.ts).
 *
 * Invariants:
 * R1: a thread is opened once in a call, so each way to it leads to the same state.
 * R2: what is done to another thread is committed with the outcome of the call (T9); the call's workflow tells that
 *     thread's workflow.
 * R3: a thread that is closed when the call looks at it, or at the commit, takes nothing (T8).
 */
import { buildPlan } from '../../definitions/plan/build-plan.js'
import type { PlanContent } from '../../definitions/plan/plan-content.js'
import { fact } from '../../protocol/facts.js'
import type { Fact } from '../../protocol/facts.js'
import { LIMITS } from '../../protocol/limits.js'
import type { ThreadOperation, ToldOperation } from '../../protocol/operations.js'
import type { SubagentRegistryEntry } from '../../protocol/status.js'
import type { Reader, Writer } from '../../store/store.js'
import { registeredChildren } from '../../store/threads/child-registry.js'
import { findChild } from '../../store/threads/children.js'
import { findThread, requestTermination } from '../../store/threads/threads.js'
import type { ThreadRecord } from '../../store/threads/threads.js'
import type { ActivityDependencies } from '../activity.js'
import type { VariableScope } from '../variables/variables.js'
import type { BufferedWrite, Written } from './journal.js'
import { createThreadState, makeMethods, methodOf } from './members.js'
import type { Access } from './members.js'
import { commitParts, openParts } from './thread-overlays.js'
import type { Relative, StatePlace } from './thread-overlays.js'
import type { Micros } from '../../protocol/time.js'

/** Another thread with what the call did to it. */
interface OpenRelative extends Relative {
  readonly isChanged: () => boolean
  readonly settled: () => Promise<void>
  readonly commit: (tx: Writer) => Promise<readonly ThreadOperation[]>
}

/** The threads around one thread, and what the call did to them. */
type Relatives = StatePlace['relatives'] & {
  /** Waits until the events that the call emitted to them are stored, or their write has failed. */
  readonly settled: () => Promise<void>
  readonly commit: (tx: Writer) => Promise<Required<Written>>
}

/** A thread that is about to be opened. */
interface FoundRelative {
  readonly thread: ThreadRecord
  readonly children: readonly SubagentRegistryEntry[]
  /** The thread waits for variables before it starts: it has no workflow yet. */
  readonly isDeferred: boolean
  /** What the call's thread is to this one. */
  readonly sentBy: 'child' | 'parent'
  /** Counts what workflows of other threads have to be told. @throws an error when it is too much for one call */
  readonly countTell: () => void
}

interface RelativesOptions extends Omit<Shared, 'relatives'> {
  /** The call's own thread: a lookup may lead back to it. */
  readonly own: () => Relative
}

export function createRelatives({ own, ...options }: RelativesOptions): Relatives {
  const { gate } = options
  const { store } = options.dependencies
  const opened = new Map<string, OpenRelative>()
  let tells = 0

  function countTell(): void {
    if (tells >= LIMITS.queuedByCall)
      throw new Error(
        `Expected one call to ask at most ${LIMITS.queuedByCall} things of other threads, got another one.`,
      )
    tells += 1
  }

  async function relative(thread: ThreadRecord, sentBy: 'child' | 'parent'): Promise<Relative> {
    if (thread.id === options.from.threadId) return own()
    const known = opened.get(thread.id)
    if (known !== undefined) return known
    const [children, isDeferred] = await store.read((db) =>
      Promise.all([registeredChildren(db, thread.id), waitsForVariables(db, thread)]),
    )
    // A lookup that waited for the database while the call ended must not reach the commit.
    gate.assertOpen()
    // Another lookup of the same thread may have finished before (R1).
    const found =
      opened.get(thread.id) ??
      openRelative({ ...options, relatives }, { thread, children, isDeferred, sentBy, countTell })
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
    async settled() {
      for (const { settled } of opened.values()) await settled()
    },
    async commit(tx) {
      const operations: ThreadOperation[] = []
      const events: Fact[] = []
      for (const [to, changed] of opened) {
        if (!changed.isChanged()) continue
        if (await takesWork(tx, to)) operations.push(...tellsOf(to, await changed.commit(tx)))
        else events.push(CLOSED_MEANWHILE)
      }
      return { operations, events }
    },
  }
  return relatives
}

async function waitsForVariables(
  db: Reader,
  { id, parent_thread_id: parent }: ThreadRecord,
): Promise<boolean> {
  return parent !== null && (await findChild(db, parent, id))?.status === 'deferred'
}

/** A thread that has closed since the call looked at it takes nothing (R3). */
const CLOSED_MEANWHILE: Fact = fact('runtime.warning', {
  code: 'thread_closed',
  message: 'What a tool did to another thread was dropped: that thread was closed meanwhile.',
})

async function takesWork(db: Reader, threadId: string): Promise<boolean> {
  const thread = await findThread(db, threadId)
  return thread !== null && thread.closed_at === null && thread.terminate_requested_at === null
}

function tellsOf(to: string, operations: readonly ThreadOperation[]): readonly ThreadOperation[] {
  return operations.filter(isTold).map((operation) => ({ kind: 'tell', to, operation }))
}

const TOLD: ReadonlySet<string> = new Set<ToldOperation['kind']>([
  'queue_message',
  'queue_tool',
  'schedule_effect',
  'remove_effect',
  'remove_queued',
  'set_env',
  'terminate',
])

/** Operations of other kinds steer a run, and no run of another thread is at hand. */
function isTold(operation: ThreadOperation): operation is ToldOperation {
  return TOLD.has(operation.kind)
}

/** What a relative shares with the state of the call. */
type Shared = Pick<StatePlace, 'dependencies' | 'gate' | 'redactor' | 'relatives' | 'now'> & {
  /** The call's thread, and the id from which the call makes its ids. */
  readonly from: { readonly threadId: string; readonly id: string }
}

const NOT_HERE = 'A tool cannot be invoked in another thread, whose run is not here: use its queueTool.'

/** Opens a parent or a child for a call: no run of it is at hand, and its hooks do not run. */
function openRelative(shared: Shared, found: FoundRelative): OpenRelative {
  const { dependencies, from, now } = shared
  const { thread, children, isDeferred, sentBy, countTell } = found
  const { id: threadId } = thread
  const opened = openParts({
    ...shared,
    ...{ thread, children, hooks: null, execution: null },
    scope: scopeOf(dependencies, thread),
    // Calls of two threads have the same ids: the thread's id tells them apart.
    origin: {
      kind: 'relative',
      id: `${from.threadId}:${from.id}`,
      sentBy,
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
  const isClosed = thread.closed_at !== null || thread.terminate_requested_at !== null
  const onWrite = (): void => void (changed = true)
  const rules = rulesOf({ threadId, isClosed, isDeferred, onWrite, countTell })
  const { gate, redactor } = shared
  const methods = makeMethods((name, row) => {
    const passesOver = isClosed && 'passesOverClosed' in row
    return passesOver ? async () => undefined : rules[row.access](methodOf(opened.methods, name))
  })
  return {
    state: createThreadState({ gate, redactor, known: opened.known, methods }),
    notify: rules.tell(opened.notify),
    isChanged: () => changed,
    settled: opened.settled,
    commit: async (tx) => (await commitParts(tx, opened, { threadId, now })).operations,
  }
}

/** The agent as this worker has it. The plan is built only when a variable is read. */
function scopeOf(
  { registry, caps }: ActivityDependencies,
  { id: threadId, agent }: ThreadRecord,
): VariableScope {
  let built: { readonly content: PlanContent | null } | undefined
  return {
    ...{ threadId, agent, prompt: null },
    get content() {
      const plan = built === undefined ? buildPlan(registry, agent, caps) : null
      if (plan !== null) built = { content: 'missing' in plan ? null : plan }
      return built?.content ?? null
    },
  }
}

/** The thread's row is the authority (T8), whether or not its workflow runs and can be told. */
function terminateBy(
  sentBy: FoundRelative['sentBy'],
  { id: threadId }: ThreadRecord,
  now: Micros,
): BufferedWrite {
  const reason = sentBy === 'child' ? 'A subagent of it asked for it.' : 'Its parent thread asked for it.'
  return async (tx) => {
    const requested = await requestTermination(tx, { threadId, reason, now })
    return requested === 'requested' ? { operations: [{ kind: 'terminate' }] } : {}
  }
}

interface RelativeLimits {
  readonly threadId: string
  /** A closed thread can be read and not changed (R3). */
  readonly isClosed: boolean
  /** The thread has not started, so its workflow cannot be told anything. */
  readonly isDeferred: boolean
  readonly onWrite: () => void
  /** @throws an error when the call has told other threads too much */
  readonly countTell: () => void
}

/** The same work behind a check. */
type Rule = <Given extends readonly unknown[], Result>(
  work: (...given: Given) => Result,
) => (...given: Given) => Result

/** What stands before a member on another thread, by the member's access (R3). An access without a rule does not compile. */
function rulesOf({
  threadId,
  isClosed,
  isDeferred,
  onWrite,
  countTell,
}: RelativeLimits): Readonly<Record<Access, Rule>> {
  const allow: Rule = (work) => work
  const write: Rule =
    (work) =>
    (...given) => {
      if (isClosed)
        throw new Error(`Expected a thread that takes something, got ${threadId}, which was closed.`)
      onWrite()
      return work(...given)
    }
  const tell: Rule = (work) =>
    write((...given) => {
      countTell()
      return work(...given)
    })
  const ask: Rule = (work) =>
    tell((...given) => {
      if (!isDeferred) return work(...given)
      throw new Error(
        `Expected a thread that runs, got ${threadId}, which waits for variables: use injectMessage, setValue, ` +
          'setEnv or files, which it finds.',
      )
    })
  // The implementation of `invokeTool` that this state is opened with refuses each tool.
  return { read: allow, definitions: allow, lookup: allow, invoke: allow, write, tell, ask }
}
