import { condition } from '@temporalio/workflow'
import { LIMITS } from '../protocol/limits.js'
import { waitOver } from '../thread/apply.js'
import { childrenChecked, childrenToCheck, nextCheckAt, reportsTaken } from '../thread/child-checks.js'
import { acceptReport } from '../thread/children.js'
import { waitExpired } from '../thread/cut-waits.js'
import { deferredAction } from '../thread/deferred.js'
import { endingOf } from '../thread/next-action.js'
import type { Action } from '../thread/next-action.js'
import { callActivity } from './call-activity.js'
import type { ThreadHost } from './thread-host.js'

type Waits = Extract<Action, { readonly kind: 'wait' | 'awaitChildren' | 'awaitAnswer' | 'awaitModel' }>

/**
 * Waits until the state changes. No timer of its own, unless a call has a timeout, or a child is owed that this Temporal run
 * cannot see closing: then it is looked for, so that no way for a child to end leaves this thread waiting (T7).
 */
export async function waitForSomething(host: ThreadHost, action: Waits): Promise<void> {
  const { control } = host
  const changed = (): boolean => host.control !== control || tookMany(host)
  const deadline = action.kind === 'awaitChildren' ? action.call.wait.deadline : null
  const checkAt = nextCheckAt(control)
  const at = Math.min(deadline ?? Infinity, checkAt ?? Infinity)
  if (at === Infinity) return condition(changed)
  const timer = { summary: at === deadline ? 'timeout of a subagent' : 'look for children' }
  const delay = Math.min(Math.max(1, at - Date.now()), LIMITS.longestTimer)
  if (await condition(changed, delay, timer)) return
  if (action.kind === 'awaitChildren')
    host.update((current) => waitExpired(current, action.call.id, Date.now()))
  if (checkAt !== null && checkAt <= Date.now()) await lookForChildren(host)
}

async function lookForChildren(host: ThreadHost): Promise<void> {
  const { control } = host
  const references = childrenToCheck(host.control, Date.now())
  const called = await callActivity(host, {
    name: 'checkChildren',
    limit: 0,
    summary: 'look for children',
    cutBy: null,
    input: { check: control.childChecks + 1, references, taken: reportsTaken(control, references) },
  })
  const { closed, missed = [] } = called.kind === 'answered' ? called.answer : { closed: [] }
  const now = Date.now()
  host.update((current) => {
    const told = missed.reduce((next, report) => acceptReport(next, report, now), current)
    return childrenChecked(told, references, closed, now)
  })
}

/** Waits as long as an activity asked for. Messages do not cut it, a stop and a terminate do. */
export async function waitForResource(host: ThreadHost, until: number): Promise<void> {
  const now = Date.now()
  host.startsAction(now)
  // A subagent that has its variables starts meanwhile.
  const cut = (): boolean =>
    endingOf(host.control) !== null || deferredAction(host.control) !== null || tookMany(host)
  const delay = Math.min(until - now, LIMITS.longestTimer)
  if (delay > 0 && (await condition(cut, delay, { summary: 'wait for a resource' }))) return
  host.update(waitOver)
}

/** Signals that change nothing count too: a run refuses its 10,001st (T10). */
function tookMany(host: ThreadHost): boolean {
  return host.signals >= LIMITS.signalsPerRun
}
