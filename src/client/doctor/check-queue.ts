import { SIGNALS } from '../../protocol/messages.js'
import type { ChildReport } from '../../protocol/messages.js'
import { waitingItems } from '../../store/calls/request-lists.js'
import type { WaitingItem } from '../../store/calls/request-lists.js'
import { reportsOf } from '../../store/reopen/reopened-children.js'
import type { Reader } from '../../store/store.js'
import { findChild } from '../../store/threads/children.js'
import type { ThreadRecord } from '../../store/threads/threads.js'
import { parkedSince, signalOf } from '../reopen-thread.js'
import { signalThread } from '../signal-thread.js'
import type { ThreadSignal } from '../thread-workflow.js'
import { askWorkflow } from './ask-workflow.js'
import { repaired } from './finding.js'
import type { Doctor, Finding } from './finding.js'
import { isFresh } from './fresh.js'

/** What the store has waiting for a thread against what its workflow knows of. */
export async function checkQueue(doctor: Doctor, thread: ThreadRecord): Promise<readonly Finding[]> {
  const { context } = doctor
  const { id: threadId } = thread
  const store = await context.store()
  const old = await store.read((db) => oldItems(db, thread))
  if (old.length === 0) return []
  const unasked = `${old.length} items wait for it, and no worker says what it knows`
  const asked = await askWorkflow(doctor, { threadId, unasked })
  if (asked.snapshot === null) return asked.findings
  const { queue, children, run } = asked.snapshot
  const known = new Set(queue.map(({ id }) => id))
  const owed = children.flatMap((child) => (child.owed ? [child.reference] : []))
  // One that was delivered since is in neither.
  const waiting = await store.read((db) => oldItems(db, thread))
  // A run may have a tool behind the call that it is at.
  const unknown = waiting.filter((item) => !known.has(keyOf(item)) && (run === null || item.kind !== 'tool'))
  if (unknown.length === 0) return []
  const problem = `${unknown.length} items were accepted, and its workflow does not know of them`
  const work = async (): Promise<void> => {
    for (const item of unknown)
      await signalThread(context, threadId, await signalFor(doctor, { thread, item, owed }))
  }
  return [
    await repaired(doctor, { kind: 'unsignalled', threadId, problem }, { work, done: 'It is told of them.' }),
  ]
}

async function oldItems(db: Reader, thread: ThreadRecord): Promise<readonly WaitingItem[]> {
  return (await waitingItems(db, thread)).filter(({ createdAt }) => !isFresh(createdAt))
}

/** The workflow's name of an item: of a queued tool it is that of its call. */
function keyOf(item: WaitingItem): string {
  return item.kind === 'tool' ? item.tool.toolCallId : item.id
}

interface Untold {
  readonly thread: ThreadRecord
  readonly item: WaitingItem
  /** Children that have not answered a call. */
  readonly owed: readonly string[]
}

/** The report of a child that owes one is told as the child would: a call may wait for it (T7). */
async function signalFor({ context }: Doctor, { thread, item, owed }: Untold): Promise<ThreadSignal> {
  const signal = signalOf(item, parkedSince(thread))
  if (item.kind === 'tool' || item.message.from !== 'child' || owed.length === 0) return signal
  const store = await context.store()
  const report = await store.read((db) => reportOf(db, thread.id, item.id))
  return report !== null && owed.includes(report.reference)
    ? { name: SIGNALS.childReport, input: report }
    : signal
}

async function reportOf(db: Reader, threadId: string, messageId: string): Promise<ChildReport | null> {
  const row = await db
    .selectFrom('messages')
    .select('subagent_id')
    .where('thread_id', '=', threadId)
    .where('id', '=', messageId)
    .executeTakeFirst()
  const reference = row?.subagent_id ?? null
  if (reference === null || (await findChild(db, threadId, reference)) === null) return null
  const { last } = await reportsOf(db, reference)
  return last?.messageId === messageId ? { reference, ...last } : null
}
