import { condition } from '@temporalio/workflow'

import { LIMITS } from '../protocol/limits.js'
import { endWait } from '../thread/apply.js'
import { expireWait } from '../thread/child-calls.js'
import {
  acceptReport,
  applyChildChecks,
  listChildrenToCheck,
  nextDeferredAction,
  nextCheckAt,
  listReportNumbers,
} from '../thread/children.js'
import type { Action } from '../thread/next-action.js'
import { endingOf } from '../thread/run.js'
import { callActivity } from './activities.js'
import type { ThreadHost } from './thread-host.js'
import type { Millis } from '../protocol/time.js'

/** Waits until the state changes, or until the time at which an activity is to be repeated. */
export function waitFor(
  host: ThreadHost,
  action: Waits | Extract<Action, { readonly kind: 'waitUntil' }>,
): Promise<void> {
  return action.kind === 'waitUntil' ? waitForResource(host, action.until) : waitForSomething(host, action)
}

type Waits = Extract<Action, { readonly kind: 'wait' | 'awaitChildren' | 'awaitAnswer' | 'awaitModel' }>

/**
 * Waits until the state changes. It sets a timer only for the timeout of a call, or for the check of a child whose close event
 * does not reach this Temporal run, so that no way for a child to end leaves this thread waiting (T7).
 */
async function waitForSomething(host: ThreadHost, action: Waits): Promise<void> {
  const { control } = host
  const isChanged = (): boolean => host.control !== control || tookMany(host)
  const deadline = action.kind === 'awaitChildren' ? action.call.wait.deadline : null
  const checkAt = nextCheckAt(control)
  const at = Math.min(deadline ?? Infinity, checkAt ?? Infinity)
  if (at === Infinity) return condition(isChanged)
  const timer = { summary: at === deadline ? 'timeout of a subagent' : 'look for children' }
  const delay = Math.min(Math.max(1, at - Date.now()), LIMITS.longestTimer)
  if (await condition(isChanged, delay, timer)) return
  if (action.kind === 'awaitChildren')
    host.update((current) => expireWait(current, action.call.id, Date.now()))
  if (checkAt !== null && checkAt <= Date.now()) await lookForChildren(host)
}

async function lookForChildren(host: ThreadHost): Promise<void> {
  const { control } = host
  const references = listChildrenToCheck(host.control, Date.now())
  const called = await callActivity(host, {
    name: 'checkChildren',
    limit: 0,
    summary: 'look for children',
    interruptedBy: null,
    input: { check: control.childChecks + 1, references, taken: listReportNumbers(control, references) },
  })
  const {
    closed,
    missed = [],
    looked = references.length,
  } = called.kind === 'answered' ? called.answer : { closed: [] }
  const now = Date.now()
  host.update((current) => {
    const reported = missed.reduce((next, report) => acceptReport(next, report, now), current)
    // The remaining ones are still due: the next wait checks them.
    return applyChildChecks(reported, references.slice(0, looked), closed, now)
  })
}

/** Waits for the time that an activity asked for. A stop or a terminate ends the wait early, messages do not. */
async function waitForResource(host: ThreadHost, until: Millis): Promise<void> {
  const now = Date.now()
  host.beginAction(now)
  // A deferred subagent whose variables have come starts during the wait.
  const isInterrupted = (): boolean =>
    endingOf(host.control) !== null || nextDeferredAction(host.control) !== null || tookMany(host)
  const delay = Math.min(until - now, LIMITS.longestTimer)
  if (delay > 0 && (await condition(isInterrupted, delay, { summary: 'wait for a resource' }))) return
  host.update(endWait)
}

/** Signals that change nothing count too: a run refuses its 10,001st (T10). */
function tookMany(host: ThreadHost): boolean {
  return host.signals >= LIMITS.signalsPerRun
}
