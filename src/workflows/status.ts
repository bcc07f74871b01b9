import { setCurrentDetails, upsertSearchAttributes, workflowInfo } from '@temporalio/workflow'
import { rootOf, SEARCH_ATTRIBUTES } from '../protocol/messages.js'
import { utf8Length } from '../protocol/values.js'
import type { ThreadControl } from '../thread/control.js'
import { doingOf, doingOn, statusOf } from '../thread/snapshot.js'
import type { ThreadHost } from './thread-host.js'

/** The server terminates a workflow with a larger value. */
const SEARCH_ATTRIBUTE_BYTES = 2000

/** Shows the thread in the Temporal UI: agent, status, step, tool; registered names only, never content (T5). */
export function showStatus(host: ThreadHost): void {
  const { control } = host
  setCurrentDetails(detailsOf(control))
  const wanted = searchAttributesOf(control)
  const shown = workflowInfo().searchAttributes ?? {}
  const changed = Object.entries(wanted).filter(([name, values]) => !sameValues(shown[name], values))
  if (changed.length > 0) upsertSearchAttributes(Object.fromEntries(changed))
}

function detailsOf(control: ThreadControl): string {
  const { run, start } = control
  const lines = [`Agent: ${control.agent}`, `Status: ${statusOf(control)}`]
  if (start.parent !== undefined)
    lines.push(`Parent: ${start.parent.threadId}`, `Root: ${rootOf(control.threadId, start)}`)
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

/** Only the attributes that the start input names: an unregistered one fails the workflow task for ever. */
function searchAttributesOf(control: ThreadControl): Readonly<Record<string, string[]>> {
  const { start } = control
  const values: Record<string, string[]> = {
    [SEARCH_ATTRIBUTES.agent]: [control.agent],
    [SEARCH_ATTRIBUTES.status]: [statusOf(control)],
    ...(start.userId === undefined ? {} : { [SEARCH_ATTRIBUTES.user]: [start.userId] }),
    ...(start.parent === undefined ? {} : { [SEARCH_ATTRIBUTES.parent]: [start.parent.threadId] }),
    // A root has its own id: one query lists a whole tree.
    [SEARCH_ATTRIBUTES.root]: [rootOf(control.threadId, start)],
    ...(start.tags === undefined ? {} : { [SEARCH_ATTRIBUTES.tags]: fitting(start.tags) }),
  }
  const named = start.searchAttributes ?? []
  return Object.fromEntries(Object.entries(values).filter(([name]) => named.includes(name)))
}

/** As many values as the server takes: with more it would terminate the workflow. The store has all of them. */
function fitting(values: readonly string[]): string[] {
  const taken: string[] = []
  for (const value of values) {
    if (utf8Length(JSON.stringify([...taken, value])) > SEARCH_ATTRIBUTE_BYTES) break
    taken.push(value)
  }
  return taken
}

function sameValues(shown: readonly unknown[] | undefined, wanted: readonly string[]): boolean {
  return shown?.length === wanted.length && wanted.every((value, index) => shown[index] === value)
}
