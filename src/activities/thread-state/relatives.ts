/**
 * The threads around a call's own, as far as the call has looked at them: its parent, its children, theirs. Each is opened
 * once, so that whoever reaches it by another way sees what was done to it; what was done is committed with the outcome of
 * the call (T9), and told to the workflow of that thread by the call's own.
 */
import type { ThreadState } from '../../definitions/thread-state.js'
import type { Fact } from '../../protocol/facts.js'
import { LIMITS } from '../../protocol/limits.js'
import type { ThreadOperation, ToldOperation } from '../../protocol/operations.js'
import type { SubagentRegistryEntry } from '../../protocol/subagent.js'
import type { Reader, Store, Writer } from '../../store/store.js'
import { registeredChildren } from '../../store/threads/child-registry.js'
import { findChild } from '../../store/threads/children.js'
import { findThread } from '../../store/threads/threads.js'
import type { ThreadRecord } from '../../store/threads/threads.js'
import type { CallGate } from './call-gate.js'
import type { Written } from './journal.js'
import type { ChildNotice } from './messages-overlay.js'

/** Another thread in the hands of a call. */
export interface Relative {
  readonly state: ThreadState
  readonly notify: (notice: ChildNotice) => Promise<void>
}

/** What the call did to it. */
export interface OpenRelative extends Relative {
  readonly isChanged: () => boolean
  readonly settled: () => Promise<void>
  readonly commit: (tx: Writer) => Promise<readonly ThreadOperation[]>
}

export interface Relatives {
  /** Null for the parent of a root thread, and for one that is not in the store. */
  readonly parentOf: (parentId: string | null) => Promise<Relative | null>
  /** Null for what is no child of that thread. */
  readonly childOf: (parentId: string, reference: string) => Promise<Relative | null>
  /** What was emitted to them is stored, or given up. */
  readonly settled: () => Promise<void>
  readonly commit: (tx: Writer) => Promise<Required<Written>>
}

/** A thread that is about to be opened. */
export interface FoundRelative {
  readonly thread: ThreadRecord
  readonly children: readonly SubagentRegistryEntry[]
  /** It waits for variables before it starts: nobody is there to be told. */
  readonly isDeferred: boolean
  /** Who the call's thread is to it. */
  readonly sentBy: 'child' | 'parent'
  /** Counts what its workflow has to be told. @throws a sentence when it is too much */
  readonly countTell: () => void
}

interface RelativesOptions {
  readonly store: Store
  readonly threadId: string
  readonly gate: CallGate
  /** The call's own thread, which a relative may lead back to. */
  readonly own: () => Relative
  readonly open: (found: FoundRelative) => OpenRelative
}

export function createRelatives({ store, threadId, gate, own, open }: RelativesOptions): Relatives {
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
    if (thread.id === threadId) return own()
    const known = opened.get(thread.id)
    if (known !== undefined) return known
    const [children, isDeferred] = await store.read((db) =>
      Promise.all([registeredChildren(db, thread.id), waitsForVariables(db, thread)]),
    )
    // One that waited for the database while the call ended must not reach the commit.
    gate.assertOpen()
    // Another look may have been quicker.
    const found = opened.get(thread.id) ?? open({ thread, children, isDeferred, sentBy, countTell })
    opened.set(thread.id, found)
    return found
  }

  return {
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
}

async function waitsForVariables(
  db: Reader,
  { id, parent_thread_id: parent }: ThreadRecord,
): Promise<boolean> {
  return parent !== null && (await findChild(db, parent, id))?.status === 'deferred'
}

/** T8: a thread that has closed since the call looked at it takes nothing. */
const CLOSED_MEANWHILE: Fact = {
  type: 'runtime.warning',
  payload: {
    code: 'thread_closed',
    message: 'What a tool did to another thread was dropped: that thread was closed meanwhile.',
  },
}

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

/** A state without a run asks for nothing else. */
function isTold(operation: ThreadOperation): operation is ToldOperation {
  return TOLD.has(operation.kind)
}
