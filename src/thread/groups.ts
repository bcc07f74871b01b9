/** Children that one call has started in one go, and whose ends are told together: by one item, when all have ended. */
import type { ChildGroup, ThreadControl } from './control.js'
import { enqueue } from './inbox.js'

/** No call waits for these: their group is told when they have ended, at once if all have. */
export function groupLeft(control: ThreadControl, group: ChildGroup, now: number): ThreadControl {
  const { callId, references } = group
  if (references.length > 0) return { ...control, groups: [...control.groups, group] }
  return enqueue(control, { kind: 'group', id: callId, queuedAt: now })
}

/** Whether the child's answer to this call only counts towards its group. */
export function isCounted(
  { groups }: ThreadControl,
  { reference, callId }: { readonly reference: string; readonly callId: string },
): boolean {
  return groups.some((group) => group.callId === callId && group.references.includes(reference))
}

/** A child has answered these calls: the last one of a group makes it an item. */
export function childCounted(
  control: ThreadControl,
  { reference, invocations }: { readonly reference: string; readonly invocations: readonly string[] },
  now: number,
): ThreadControl {
  return invocations.reduce((next, callId) => {
    const group = next.groups.find((candidate) => candidate.callId === callId)
    if (group === undefined || !group.references.includes(reference)) return next
    const references = group.references.filter((left) => left !== reference)
    const groups = next.groups.filter((candidate) => candidate !== group)
    return groupLeft({ ...next, groups }, { callId, references }, now)
  }, control)
}
