import type { RunEnd, ThreadClose } from '../protocol/end-activities.js'
import type { Ending } from '../thread/control.js'
import type { Action } from '../thread/next-action.js'
import { closesTold } from '../thread/children.js'
import { givenUpTold } from '../thread/effects.js'
import { cutTools, settled, withCutStep } from '../thread/settling.js'
import { snapshotOf } from '../thread/snapshot.js'
import { callActivity } from './call-activity.js'
import type { ThreadHost } from './thread-host.js'

/** Ends the run, or the thread, in the store, and tells of effects that were given up and of children that are gone. When the store fails for a day, the thread goes on all the same. */
export async function settle(
  host: ThreadHost,
  { ending, close }: Pick<Extract<Action, { readonly kind: 'settle' }>, 'ending' | 'close'>,
): Promise<void> {
  const tools = cutTools(host.control, ending)
  host.update((control) => withCutStep(control, ending, Date.now()))
  const { control } = host
  const number = control.settles + 1
  const after = settled(control, { ending, close, queued: control.queue.length }, Date.now())
  const { givenUp, closed } = control
  const called = await callActivity(host, {
    name: 'settle',
    limit: 0,
    summary: summaryOf({ ending, close }, closed.length > 0),
    cutBy: null,
    input: {
      settle: number,
      end: ending === null ? null : runEnd(host, ending, tools),
      close: close === null ? null : { outcome: close.outcome, reason: close.reason },
      snapshot: snapshotOf(after, { now: Date.now(), since: Date.now() }),
      ...(givenUp.length > 0 && { givenUp }),
      ...(closed.length > 0 && { closed }),
      children: control.children.map((child) => child.reference),
      start: control.registered ? null : control.start,
      createdAt: control.createdAt,
    },
  })
  if (called.kind === 'answered') host.update((current) => givenUpTold(current, givenUp))
  host.update((current) => closesTold(current, closed))
  host.update((current) => settled(current, { ending, close, queued: control.queue.length }, Date.now()))
}

function summaryOf(
  { ending, close }: { readonly ending: Ending | null; readonly close: ThreadClose | null },
  tellsClosed: boolean,
): string {
  if (close !== null) return `close: ${close.outcome}`
  if (ending !== null) return 'end of run'
  return tellsClosed ? 'subagent closed' : 'effect given up'
}

function runEnd({ control }: ThreadHost, ending: Ending, tools: readonly string[]): RunEnd | null {
  const { run } = control
  if (run === null) return null
  const { reason, outcome, sessionCall } = ending
  return { reason, outcome, steps: run.steps, usage: run.usage, sessionCall, tools }
}
