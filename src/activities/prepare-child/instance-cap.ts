import type { SubagentContent } from '../../definitions/plan-content.js'
import { openInstances } from '../../store/children.js'
import type { Reader } from '../../store/store.js'
import { nameOfChild } from '../group-report.js'

/** Says that a subagent has as many instances as it may, and what to do instead; null while there is room. */
export async function instanceCapProblem(
  db: Reader,
  threadId: string,
  { agent, resumable }: SubagentContent,
): Promise<string | null> {
  const most = resumable?.maxInstances ?? null
  if (most === null) return null
  const open = await openInstances(db, { parentThreadId: threadId, agent })
  if (open.length < most) return null
  const names = open.slice(0, 10).map((child) => `${nameOfChild(child)} (reference: ${child.reference})`)
  return (
    `The agent "${agent}" may have at most ${most} open instance${most === 1 ? '' : 's'}, and has ${open.length}. ` +
    `Use subagent_message to give work to one that exists: ${names.join(', ')}.`
  )
}

/** Thrown inside a transaction to roll it back: the last place was taken meanwhile. */
export class InstanceCapReached extends Error {}
