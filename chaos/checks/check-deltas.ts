import type { Stamp } from '../desk/journal.js'
import type { Finding } from '../finding.js'
import type { ReceivedEvent } from '../processes/received-event.js'
import type { ThreadRecord } from './thread-record.js'

interface Streamed {
  readonly attempt: number
  /** Null: another attempt has begun, and nothing of it came yet. */
  readonly text: string | null
}

/** Text that streams comes without a gap; a higher attempt begins anew, and the stored message begins with the last one. */
export function checkDeltas(
  { threadId, rows }: ThreadRecord,
  received: readonly (ReceivedEvent & Stamp)[],
): readonly Finding[] {
  const texts = new Map<string, Streamed>()
  const findings: Finding[] = []
  for (const { messageId = '', type, delta } of received) {
    const before = texts.get(messageId) ?? { attempt: 0, text: '' }
    if (type === 'model.requested') texts.set(messageId, { attempt: before.attempt, text: null })
    if (delta === undefined) continue
    const text = delta.attempt > before.attempt ? '' : before.text
    if (delta.attempt < before.attempt || delta.offset !== text?.length) {
      const problem = `Text of attempt ${delta.attempt} came at ${delta.offset}, behind ${text?.length} of ${before.attempt}.`
      findings.push({ kind: 'wrong', threadId, id: messageId, problem })
    }
    texts.set(messageId, { attempt: delta.attempt, text: `${text ?? ''}${delta.text}` })
  }
  for (const { id, content, status } of rows) {
    const text = texts.get(id)?.text ?? null
    if (text === null || status !== 'completed' || content?.startsWith(text) === true) continue
    findings.push({ kind: 'wrong', threadId, id, problem: 'The stored message is not what was streamed.' })
  }
  return findings
}
