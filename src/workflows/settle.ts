import { listClosedChildren } from '../thread/children.js'
import type { ThreadControl } from '../thread/control.js'
import { applySettled, interruptStep, listInterruptedTools, settleInput } from '../thread/settling.js'
import type { Ends } from '../thread/settling.js'
import { callActivity, untilStored } from './activities.js'
import type { ThreadHost } from './thread-host.js'

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
async function trySettle(host: ThreadHost, ends: Ends, tools: readonly string[]): Promise<boolean> {
  const { control } = host
  const { ending, close } = ends
  const called = await callActivity(host, {
    name: 'settle',
    limit: 0,
    summary: summaryOf(ends, control),
    interruptedBy: null,
    input: settleInput(control, { ...ends, tools }, Date.now()),
  })
  const answer = called.kind === 'answered' ? called.answer : null
  if (answer === null && (ending !== null || close !== null)) return false
  const now = Date.now()
  host.update((current) => applySettled(current, { ...ends, sent: control }, answer, now))
  return true
}

function summaryOf({ ending, close }: Ends, control: ThreadControl): string {
  if (close !== null) return `close: ${close.outcome}`
  if (ending !== null) return 'end of run'
  if (listClosedChildren(control).length > 0) return 'subagent closed'
  return control.givenUp.length > 0 ? 'effect given up' : 'late events'
}
