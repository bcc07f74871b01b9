import type { RunEnd, ThreadClose } from '../protocol/end-activities.js'
import { applyUnacknowledged, applyTermination } from '../thread/apply.js'
import { listClosedChildren, forgetClosedChildren } from '../thread/children.js'
import type { Action } from '../thread/next-action.js'
import { forgetGivenUp } from '../thread/operations.js'
import type { Ending } from '../thread/run.js'
import { listInterruptedTools, applySettle, interruptStep } from '../thread/settling.js'
import { snapshotOf } from '../thread/snapshot.js'
import { callActivity, untilStored } from './activities.js'
import type { ThreadHost } from './thread-host.js'

type Ends = Pick<Extract<Action, { readonly kind: 'settle' }>, 'ending' | 'close'>

/**
 * Finalizes the run, or the thread, in the store, with effects that were given up and children that are gone. The thread does
 * not go on before its end is stored: where the store fails for a day, the settle is repeated until it succeeds (T8).
 */
export async function settle(host: ThreadHost, ends: Ends): Promise<void> {
  const { ending } = ends
  const tools = listInterruptedTools(host.control, ending)
  host.update((control) => interruptStep(control, ending, Date.now()))
  await untilStored(host, async () => (await trySettle(host, ends, tools)) || null)
}

/**
 * A settle that ends neither run nor thread is not repeated: the next one stores the effects, and a message to a child that is
 * gone finds it closed.
 */
async function trySettle(
  host: ThreadHost,
  { ending, close }: Ends,
  tools: readonly string[],
): Promise<boolean> {
  const { control } = host
  const number = control.settles + 1
  const after = applySettle(control, { ending, close, queued: control.queue.length }, Date.now())
  const { givenUp } = control
  const closed = listClosedChildren(control)
  const unacknowledged = ending === null ? undefined : control.run?.unacknowledged
  const called = await callActivity(host, {
    name: 'settle',
    limit: 0,
    summary: summaryOf({ ending, close }, closed.length > 0),
    interruptedBy: null,
    input: {
      settle: number,
      end: ending === null ? null : runEnd(host, ending, tools),
      close: close === null ? null : { outcome: close.outcome, reason: close.reason },
      snapshot: snapshotOf(after, { now: Date.now(), since: Date.now() }),
      ...(after.activated.length > 0 && { activeSides: after.activated }),
      ...(givenUp.length > 0 && { givenUp }),
      ...(closed.length > 0 && { closed }),
      ...(unacknowledged !== undefined && { unacknowledged }),
      start: control.registered ? null : control.start,
      createdAt: control.createdAt,
    },
  })
  if (called.kind !== 'answered' && (ending !== null || close !== null)) return false
  if (called.kind === 'answered') host.update((current) => forgetGivenUp(current, givenUp))
  host.update((current) => forgetClosedChildren(current, closed))
  host.update((current) => applySettle(current, { ending, close, queued: control.queue.length }, Date.now()))
  if (called.kind !== 'answered') return true
  const { operations, terminated } = called.answer
  host.update((current) => applyUnacknowledged(current, { unacknowledged, operations }, Date.now()))
  if (terminated === true) host.update(applyTermination)
  return true
}

function summaryOf(
  { ending, close }: { readonly ending: Ending | null; readonly close: ThreadClose | null },
  closesChildren: boolean,
): string {
  if (close !== null) return `close: ${close.outcome}`
  if (ending !== null) return 'end of run'
  return closesChildren ? 'subagent closed' : 'effect given up'
}

function runEnd({ control }: ThreadHost, ending: Ending, tools: readonly string[]): RunEnd | null {
  const { run } = control
  if (run === null) return null
  const { reason, outcome, sessionCall, failure } = ending
  return {
    ...{ reason, outcome, steps: run.steps, usage: run.usage, sessionCall, tools },
    ...(run.steps === 0 && { trigger: run.trigger }),
    ...(failure !== undefined && { failure }),
  }
}
