import { setCurrentDetails, upsertSearchAttributes, workflowInfo } from '@temporalio/workflow'
import { pageOfThread, rootOf, SEARCH_ATTRIBUTES, searchAttributesOf } from '../protocol/messages.js'
import type { ThreadStatus } from '../protocol/status.js'
import type { ThreadControl } from '../thread/control.js'
import { doingOf, doingOn, statusOf } from '../thread/snapshot.js'
import type { ThreadHost } from './thread-host.js'

/** Shows the thread in the Temporal UI: agent, status, step, tool; registered names only, never content (T5). */
export function showStatus(host: ThreadHost): void {
  const { control } = host
  setCurrentDetails(detailsOf(control))
  const shown = workflowInfo().searchAttributes ?? {}
  const status = shownStatus(control, shown[SEARCH_ATTRIBUTES.status])
  const { threadId, start, agent } = control
  const wanted = searchAttributesOf(threadId, start, { agent, status })
  const changed = Object.entries(wanted).filter(([name, values]) => !sameValues(shown[name], values))
  if (changed.length > 0)
    upsertSearchAttributes(Object.fromEntries(changed.map(([name, values]) => [name, [...values]])))
}

function detailsOf(control: ThreadControl): string {
  const { run, start } = control
  const lines = [`Agent: ${control.agent}`, `Status: ${statusOf(control)}`]
  if (start.parent !== undefined)
    lines.push(`Parent: ${start.parent.threadId}`, `Root: ${rootOf(control.threadId, start)}`)
  if (start.page !== undefined) lines.push(`Page: ${pageOfThread(start.page, control.threadId)}`)
  if (run !== null) {
    lines.push(`Run ${run.number}, side ${run.side}, steps ${run.steps}`)
    lines.push(`Tokens: ${run.usage.inputTokens} in, ${run.usage.outputTokens} out`)
    const doing = doingOf(control)
    if (doing !== null) lines.push(`Doing: ${doing}`)
    const taskQueue = doingOn(control)
    if (taskQueue !== null) lines.push(`Task queue: ${taskQueue}`)
  }
  return lines.join('  \n')
}

/**
 * A thread that works keeps the status of its last rest: each change is billed, and two a turn would tell little. It keeps no
 * wait for a person, which would ask for an answer in vain.
 */
function shownStatus(
  control: ThreadControl,
  shown: readonly unknown[] | undefined,
): readonly string[] | null {
  const status = statusOf(control)
  if (control.start.showsWork === true || !WORKING.has(status)) return [status]
  return WAITING.has(String(shown?.[0])) ? [] : null
}

const WORKING: ReadonlySet<ThreadStatus> = new Set(['running', 'waiting_resource'])
const WAITING: ReadonlySet<ThreadStatus> = new Set(['waiting_permission', 'waiting_input'])

function sameValues(shown: readonly unknown[] = [], wanted: readonly string[]): boolean {
  return shown.length === wanted.length && wanted.every((value, index) => shown[index] === value)
}
