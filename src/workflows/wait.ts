import { condition } from '@temporalio/workflow'
import { childrenChecked, childrenToCheck, nextCheckAt } from '../thread/children.js'
import type { Action } from '../thread/next-action.js'
import { callActivity } from './call-activity.js'
import type { ThreadHost } from './thread-host.js'

/**
 * Waits until the state changes. No timer, unless a child is owed that this Temporal run cannot see closing: then it
 * is looked for, so that no way for a child to end leaves this thread waiting (T7).
 */
export async function waitForSomething(
  host: ThreadHost,
  action: Extract<Action, { readonly kind: 'wait' | 'awaitChild' }>,
): Promise<void> {
  const { control } = host
  const changed = (): boolean => host.control !== control
  const checkAt = nextCheckAt(control)
  if (checkAt === null) return condition(changed)
  const timer = { summary: action.kind === 'awaitChild' ? 'look for the child' : 'look for children' }
  if (await condition(changed, Math.max(1, checkAt - Date.now()), timer)) return
  const references = childrenToCheck(host.control, Date.now())
  const called = await callActivity(host, {
    name: 'checkChildren',
    limit: 0,
    summary: 'look for children',
    cancellable: false,
    input: { check: control.childChecks + 1, references },
  })
  const closed = called.kind === 'answered' ? called.answer.closed : []
  host.update((current) => childrenChecked(current, references, closed, Date.now()))
}
