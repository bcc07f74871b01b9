import type { Finding } from '../finding.js'
import type { Fact, ThreadRecord } from './thread-record.js'

const RUN_ENDS: ReadonlySet<string> = new Set(['run.completed', 'run.failed', 'run.cancelled'])
/** Tells nothing by itself. */
const EXPLICIT = 'scout'

/** T7: a parent that is there learns the end of each session of a child once, and its close once if it does not stay. */
export function checkChildren(parent: ThreadRecord, all: readonly ThreadRecord[]): readonly Finding[] {
  const { threadId } = parent
  const findings: Finding[] = []
  const spawned = count(parent, 'subagent.spawned')
  for (const [reference, times] of spawned)
    if (times > 1)
      findings.push({ kind: 'doubled', threadId, id: reference, problem: `It was spawned ${times} times.` })
  const completed = count(parent, 'subagent.completed')
  const failed = count(parent, 'subagent.failed')
  const inputs = count(parent, 'subagent.input')
  const stopped = count(parent, 'subagent.failed', isStopped)
  const closed = count(parent, 'subagent.closed')
  for (const child of all) {
    if (child.parent !== threadId) continue
    const id = child.threadId
    const told = (completed.get(id) ?? 0) + (failed.get(id) ?? 0)
    const sessions = child.facts.filter(({ type }) => RUN_ENDS.has(type)).length
    const asked =
      sessions + unreadOf(child, { stopped: stopped.get(id) ?? 0, inputs: (inputs.get(id) ?? 0) - sessions })
    const problem = `${child.agent}: ${sessions} sessions ended, and the parent was told of ${told}.`
    if (!spawned.has(id)) findings.push({ kind: 'lost', threadId, id, problem: 'Its start was not told.' })
    if (child.agent !== EXPLICIT) {
      if (told < sessions && !parent.closed) findings.push({ kind: 'lost', threadId, id, problem })
      if (told > asked) findings.push({ kind: 'doubled', threadId, id, problem })
    }
    if ((closed.get(id) ?? 0) > 1)
      findings.push({ kind: 'doubled', threadId, id, problem: 'Its close was told more than once.' })
  }
  return findings
}

interface Asked {
  /** How often the parent was told that the child was stopped. */
  readonly stopped: number
  /** Messages beyond the sessions. */
  readonly inputs: number
}

function isStopped({ payload }: Fact): boolean {
  return 'reason' in payload && payload.reason === 'stopped'
}

/** A message that met the stop of its subagent is told without a session, and waits there. */
function unreadOf({ facts }: ThreadRecord, { stopped, inputs }: Asked): number {
  const cancelled = facts.filter(({ type }) => type === 'run.cancelled').length
  return Math.max(0, Math.min(stopped - cancelled, inputs))
}

function count(
  { facts }: ThreadRecord,
  type: string,
  holds: (fact: Fact) => boolean = () => true,
): ReadonlyMap<string, number> {
  const counts = new Map<string, number>()
  for (const fact of facts) {
    if (fact.type !== type || fact.childId === undefined || !holds(fact)) continue
    counts.set(fact.childId, (counts.get(fact.childId) ?? 0) + 1)
  }
  return counts
}
