import type { MessageRead, ThreadClient } from 'everthread/client'
import type { Finding } from '../finding.js'
import type { Acknowledgement } from '../processes/acknowledgement.js'
import { several } from './several.js'
import type { ThreadRecord } from './thread-record.js'

type Sent = Pick<Acknowledgement, 'threadId' | 'messageId'>

interface Ends {
  readonly records: ReadonlyMap<string, ThreadRecord>
  /** Messages that stopped subagents say they keep. */
  readonly kept: ReadonlySet<string>
}

/** Each submission has exactly one end: the client reads it, and the log tells of the same one, once. */
export async function checkEnds(
  threads: { get: (threadId: string) => Pick<ReturnType<ThreadClient['get']>, 'message'> },
  sent: readonly Sent[],
  { records, kept }: Ends,
): Promise<readonly Finding[]> {
  const found = await several(sent, async ({ threadId, messageId: id = '' }): Promise<readonly Finding[]> => {
    const read = await threads.get(threadId).message(id)
    const problem = problemOf(read, toldEnds(records.get(threadId), id), kept.has(id))
    return problem === null ? [] : [{ kind: problem.kind, threadId, id, problem: problem.text }]
  })
  return found.flat()
}

interface Problem {
  readonly kind: Finding['kind']
  readonly text: string
}

function problemOf(read: MessageRead | null, told: readonly string[], isKept: boolean): Problem | null {
  if (read === null) return { kind: 'lost', text: 'It was accepted, and the client reads nothing of it.' }
  const end = read.end?.kind ?? null
  if (end === null && isKept) return null
  if (end === null) return { kind: 'stuck', text: 'It was accepted, and has no end.' }
  if (told.length > 1)
    return { kind: 'doubled', text: `The log tells of ${told.length} ends: ${told.join(', ')}.` }
  const [only = 'none'] = told
  return only === end ? null : { kind: 'wrong', text: `Its end is ${end}, and the log tells of ${only}.` }
}

/** The ends of a message of which the log tells. */
function toldEnds(record: ThreadRecord | undefined, id: string): readonly string[] {
  return (record?.facts ?? []).flatMap((fact) => {
    if (fact.messageId !== id) return []
    if (fact.type === 'message.created') return ['delivered']
    return fact.type === 'message.ended' ? [String(fact.payload.end)] : []
  })
}
