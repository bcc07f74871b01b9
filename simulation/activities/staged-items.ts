import type { DrainItem } from '../../src/protocol/activities.js'
import { stage } from '../store/messages.js'
import type { ThreadRow } from '../store/rows.js'
import type { Attempt } from './steps.js'
import { toldOf } from './told-of.js'

/** The ids of the rows of a step's items, in their order; what came without a row gets one, once. */
export function stagedItems(
  attempt: Attempt,
  thread: ThreadRow,
  drain: readonly DrainItem[],
): readonly string[] {
  return drain.map((item) => {
    if (item.kind === 'message' && item.inline === undefined) {
      toldByMessage(attempt, thread, item.id)
      return item.id
    }
    const id = `row:${item.id}`
    if (thread.messages.has(id)) return id
    if (item.kind === 'child_closed')
      return closedRow(attempt, thread, { id, reference: item.reference, drain })
    if (item.kind === 'group') toldOfGroup(attempt, thread, item.id)
    stage(thread, { id, role: 'user', by: item.kind === 'message' ? 'client' : 'runtime', item: item.id })
    return id
  })
}

/** A report in the transcript. */
function toldByMessage({ world }: Attempt, thread: ThreadRow, id: string): void {
  const row = thread.messages.get(id)
  if (row === undefined || row.status !== 'pending' || row.child === undefined) return
  for (const callId of row.invocations ?? [])
    toldOf(world, { thread: thread.id, child: row.child, callId, by: 'message' })
}

/** All children of one call are told of together, with whatever else their reports answer. */
function toldOfGroup({ world }: Attempt, thread: ThreadRow, callId: string): void {
  for (const child of thread.children.values())
    if (child.callId === callId)
      for (const answered of [callId, '*'])
        toldOf(world, { thread: thread.id, child: child.reference, callId: answered, by: 'group' })
}

interface Closed {
  readonly id: string
  readonly reference: string
  readonly drain: readonly DrainItem[]
}

/** The report that a closed child left untold, or a row that says that it is gone. */
function closedRow(attempt: Attempt, thread: ThreadRow, { id, reference, drain }: Closed): string {
  const { world } = attempt
  const child = thread.children.get(reference)
  if (child !== undefined) child.closed = true
  const report = child?.report ?? null
  const row = report === null ? undefined : thread.messages.get(report)
  toldOf(world, { thread: thread.id, child: reference, callId: '*', by: 'closed' })
  if (report !== null && row?.status === 'pending' && !drain.some((item) => item.id === report)) {
    toldByMessage(attempt, thread, report)
    return report
  }
  stage(thread, { id, role: 'user', by: 'runtime', child: reference })
  return id
}
