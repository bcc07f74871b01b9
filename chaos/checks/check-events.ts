import type { Stamp } from '../desk/journal.js'
import type { Finding } from '../finding.js'
import type { ReceivedEvent } from '../processes/received-event.js'
import type { Fact, ThreadRecord } from './thread-record.js'

/** Events that tell of one thing once. */
const ONCE: ReadonlySet<string> = new Set(['run.started', 'message.created', 'tool.result'])
/** Each row has one of them. */
const TELLING: ReadonlySet<string> = new Set(['message.created', 'tool.result'])
const ENDS: ReadonlySet<string> = new Set(['run.completed', 'run.failed', 'run.cancelled'])

/** The log has no gap and nothing twice, and the subscriber, killed as often as it was, has all of it, once, in order. */
export function checkEvents(
  { threadId, facts, rows }: ThreadRecord,
  received: readonly (ReceivedEvent & Stamp)[],
): readonly Finding[] {
  const findings: Finding[] = []
  const find = (kind: Finding['kind'], id: string, problem: string): void =>
    void findings.push({ kind, threadId, id, problem })
  const gap = facts.findIndex(({ sequence }, index) => sequence !== index + 1)
  if (gap >= 0) find('lost', `event ${gap + 1}`, 'The log has a gap there.')
  for (const [thing, count] of counted(facts))
    if (count > 1) find('doubled', thing, `The log tells of it ${count} times.`)
  const told = new Set(facts.filter(({ type }) => TELLING.has(type)).map(({ messageId }) => messageId))
  for (const { id } of rows) if (!told.has(id)) find('lost', id, 'The log does not tell of this message.')
  for (const run of unpairedRuns(facts)) find('wrong', run, 'The log has only one end of this run.')
  const seen = received.filter(({ sequence }) => sequence !== null)
  for (const [index, { eventId }] of facts.entries()) {
    const line = seen[index]
    if (line?.eventId === eventId) continue
    const got = line === undefined ? 'nothing' : `event ${line.sequence}`
    const kind = line !== undefined && (line.sequence ?? 0) <= index ? 'doubled' : 'lost'
    find(kind, `event ${index + 1}`, `The subscriber got ${got} there.`)
    break
  }
  if (seen.length > facts.length)
    find('doubled', 'events', `The subscriber got ${seen.length} of ${facts.length}.`)
  return findings
}

function unpairedRuns(facts: readonly Fact[]): readonly string[] {
  const runsOf = (events: readonly Fact[]): readonly string[] => events.map(({ runId = '' }) => runId)
  const begun = runsOf(facts.filter(({ type }) => type === 'run.started'))
  const ended = runsOf(facts.filter(({ type }) => ENDS.has(type)))
  return [...begun.filter((run) => !ended.includes(run)), ...ended.filter((run) => !begun.includes(run))]
}

function counted(facts: readonly Fact[]): ReadonlyMap<string, number> {
  const counts = new Map<string, number>()
  for (const { type, messageId, runId, toolCallId } of facts) {
    if (!ONCE.has(type) && !ENDS.has(type)) continue
    const kind = ENDS.has(type) ? 'run end' : type
    const what = type === 'tool.result' ? toolCallId : (messageId ?? runId)
    counts.set(`${kind} ${what}`, (counts.get(`${kind} ${what}`) ?? 0) + 1)
  }
  return counts
}
