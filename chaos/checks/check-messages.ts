import type { Stamp } from '../desk/journal.js'
import type { ThreadPlan } from '../driver/action.js'
import type { Finding } from '../finding.js'
import type { Acknowledgement } from '../processes/acknowledgement.js'
import type { ThreadRecord } from './thread-record.js'
import type { Unplaced } from './ask-store.js'

interface Sent {
  readonly plan: ThreadPlan
  /** Of the plan's thread, in the order in which they were written down. */
  readonly acknowledged: readonly (Acknowledgement & Stamp)[]
  readonly unplaced: ReadonlyMap<string, Unplaced>
}

/** T3: what was acknowledged is there, once, in that order, as it was sent; the transcript has no gap. */
export function checkMessages(
  record: ThreadRecord,
  { plan, acknowledged, unplaced }: Sent,
): readonly Finding[] {
  const { threadId, rows } = record
  const findings: Finding[] = []
  const find = (kind: Finding['kind'], id: string, problem: string): void =>
    void findings.push({ kind, threadId, id, problem })
  let before = 0
  for (const { kind, action, messageId = '', problem } of acknowledged) {
    if (kind === 'refused') find('wrong', `action ${action}`, `The client was refused: ${problem}`)
    if (kind !== 'sent' && kind !== 'full') continue
    const planned = plan.actions[action]
    const content = planned?.kind === 'send' ? planned.content : ''
    const there = rows.filter(
      (row) => row.id === messageId || (row.role === 'user' && row.content === content),
    )
    if (kind === 'full') {
      if (there.length > 0 || unplaced.has(messageId))
        find('wrong', messageId, 'It was refused, for the queue was full, and was kept.')
      continue
    }
    const [row, ...others] = there
    if (others.length > 0) find('doubled', messageId, `It is in the transcript ${there.length} times.`)
    if (row === undefined && !isRejected(record, unplaced.get(messageId)))
      find('lost', messageId, `It is not in the transcript: ${unplaced.get(messageId)?.status ?? 'no row'}.`)
    if (row === undefined) continue
    if (row.content !== content) find('wrong', messageId, 'Its words are not those that were sent.')
    if ((row.position ?? 0) <= before) find('wrong', messageId, 'It stands before one that was sent earlier.')
    before = row.position ?? before
  }
  return [...findings, ...checkPositions(record)]
}

/** A thread that ends rejects what has not had its turn, and says so. */
function isRejected({ closed }: ThreadRecord, message: Unplaced | undefined): boolean {
  return closed && message?.status === 'rejected'
}

/** What was accepted has come to an end of some kind, or waits for the next word of a parent that stopped its subagent. */
export function checkWaiting(
  unplaced: ReadonlyMap<string, Unplaced>,
  kept: ReadonlySet<string>,
): readonly Finding[] {
  return [...unplaced].flatMap(([id, { threadId, status }]): readonly Finding[] =>
    status === 'pending' && !kept.has(id)
      ? [{ kind: 'stuck', threadId, id, problem: 'It was accepted, and nobody takes it.' }]
      : [],
  )
}

export function checkPositions({ threadId, rows }: ThreadRecord): readonly Finding[] {
  const wrong = rows.find(({ position }, index) => position !== index + 1)
  if (wrong === undefined) return []
  const problem = `Its position is ${wrong.position}, and the rows before it are ${rows.indexOf(wrong)}.`
  return [{ kind: 'wrong', threadId, id: wrong.id, problem }]
}
