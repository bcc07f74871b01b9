import type { ThreadHandle } from 'everthread/client'

import { refsIn } from '../desk/program.js'
import { noteFile } from '../desk/take-note.js'
import type { Finding } from '../finding.js'
import { callsOf, isRefused } from './check-calls.js'
import type { ThreadRecord } from './thread-record.js'

/** What a call of each tool leaves behind in a thread, once if it succeeded and never if not (T9). */
const LEFT: Readonly<Record<string, { readonly words: string; readonly where: 'own' | 'parent' }>> = {
  note: { words: 'noted', where: 'own' },
  remind: { words: 'rang', where: 'own' },
  tell: { words: 'told', where: 'parent' },
}

/** The part of a client that knows them. */
interface Files {
  get(threadId: string): Pick<ThreadHandle, 'statFile'>
}

/** Messages, files and values that tools and effects write are there with the outcome of the call, once, or not at all. */
export async function checkWrites(
  threads: Files,
  record: ThreadRecord,
  byId: ReadonlyMap<string, ThreadRecord>,
): Promise<readonly Finding[]> {
  const { threadId, rows } = record
  const findings: Finding[] = []
  const counts: number[] = []
  for (const { id, function: called } of rows.flatMap(callsOf)) {
    const left = Object.hasOwn(LEFT, called.name) ? LEFT[called.name] : undefined
    const result = rows.find((row) => row.role === 'tool' && row.tool_call_id === id)
    if (left === undefined || result === undefined) continue
    const [ref = ''] = refsIn(called.arguments)
    const target = left.where === 'own' ? record : byId.get(record.parent ?? '')
    const succeeded = result.tool_status === 'success'
    const there = target?.rows.filter(
      ({ role, content }) => role === 'user' && isOf(content, left.words, ref),
    )
    const count = there?.length ?? 0
    // A thread that ends rejects what has not had its turn.
    const least = succeeded && target?.closed === false ? 1 : 0
    const most = succeeded ? 1 : 0
    const problem = `${called.name} ${succeeded ? 'succeeded' : 'did not'}, and its message is there ${count} times.`
    if (count < least) findings.push({ kind: 'lost', threadId, id, problem })
    if (count > most) findings.push({ kind: 'doubled', threadId, id, problem })
    if (called.name !== 'note') continue
    const [, number] = /note (\d+)/.exec(result.content ?? '') ?? []
    if (succeeded) counts.push(Number(number))
    const file = await threads.get(threadId).statFile(noteFile(ref))
    const wrote = succeeded || (record.closed && isRefused(result))
    if ((file !== null) !== wrote)
      findings.push({
        kind: 'wrong',
        threadId,
        id,
        problem: `Its file ${file === null ? 'is missing' : 'is there'}.`,
      })
  }
  if (counts.some((count, index) => count !== index + 1))
    findings.push({
      kind: 'wrong',
      threadId,
      id: 'notes',
      problem: `Notes were counted ${counts.join(', ')}.`,
    })
  return findings
}

function isOf(content: string | null, words: string, ref: string): boolean {
  return content?.includes(`${words} ${ref}`) === true
}
