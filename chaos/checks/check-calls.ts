import type { Message, ToolCallEntry } from 'everthread'

import type { Deed, ToolDeed } from '../desk/deeds.js'
import type { Stamp } from '../desk/journal.js'
import type { Finding } from '../finding.js'
import type { Evidence } from './evidence.js'
import { grouped } from './grouped.js'
import type { ThreadRecord } from './thread-record.js'

/** What may become of a call of each tool that has a side effect. */
interface Rule {
  /** Side effects of a call that succeeded. */
  readonly least: number
  /** Side effects in all. */
  readonly most: number
  /** A cut one runs again. */
  readonly idempotent?: true
}

const ONCE: Rule = { least: 1, most: 1 }
const RULES: Readonly<Record<string, Rule>> = {
  book: ONCE,
  permit: ONCE,
  note: ONCE,
  remind: ONCE,
  tell: ONCE,
  charge: { least: 1, most: Infinity, idempotent: true },
  // Its tries are those of one attempt.
  retrying: { least: 2, most: 3 },
}

/** The words that stand for a call that was cut off, by a crash, a stop or the end of its thread. */
const CUT = /outcome of this call is unknown|call was interrupted|call was cancelled/
/** The error of a tool that writes a message while its thread ends. Like any tool that throws, it keeps what it wrote before. */
const REFUSED = /takes messages, got .*, which was terminated/
/** The error of a tool of a subagent that writes to its parent, when the parent has ended since. */
const PARENT_REFUSED = /an open thread, got .*, which was closed/
const UNKNOWN = /outcome of this call is unknown/

type Acted = ToolDeed & Stamp

/** Whether a thread has ended, and its parent. */
interface Ended {
  readonly own: boolean
  readonly parent: boolean
}

/** T4: each call has one result; what it did outside fits to that result, and nothing was done again behind it. */
export function checkCalls(
  { threadId, rows, closed: own }: ThreadRecord,
  deeds: readonly (Deed & Stamp)[],
  evidence: Evidence,
  parent = false,
): readonly Finding[] {
  const findings: Finding[] = []
  const acted = grouped(
    deeds.filter((deed): deed is Acted => deed.kind === 'tool' && deed.threadId === threadId),
    ({ callId }) => callId,
  )
  const results = grouped(
    rows.filter(({ role }) => role === 'tool'),
    (row) => row.tool_call_id ?? '',
  )
  const known = new Set<string>()
  for (const { id, function: called } of rows.flatMap(callsOf)) {
    known.add(id)
    const found = results.get(id) ?? []
    const [result] = found
    if (result === undefined)
      findings.push({ kind: 'lost', threadId, id, problem: `A call of ${called.name} has no result.` })
    else if (found.length > 1)
      findings.push({ kind: 'doubled', threadId, id, problem: `It has ${found.length} results.` })
    else
      for (const { kind, problem } of checkCall(called.name, result, acted.get(id) ?? [], { own, parent }))
        findings.push({ kind, threadId, id, problem })
    const late = (acted.get(id) ?? []).filter(({ at }) => at > evidence.result(threadId, id))
    if (late.length > 0)
      findings.push({
        kind: 'repeated',
        threadId,
        id,
        problem: `${called.name} acted behind its own result.`,
      })
  }
  for (const id of acted.keys())
    if (!known.has(id))
      findings.push({
        kind: 'wrong',
        threadId,
        id,
        problem: 'It acted, and the transcript has no such call.',
      })
  return findings
}

/** Its thread ended while the tool was at work. */
export function isRefused({ content }: Message): boolean {
  return REFUSED.test(content ?? '')
}

function isRefusedByEnd(result: Message, ended: Ended): boolean {
  return (ended.own && isRefused(result)) || (ended.parent && PARENT_REFUSED.test(result.content ?? ''))
}

export function callsOf({ tool_calls: calls }: Message): readonly ToolCallEntry[] {
  // Written by our own code, as `Message` says.
  return calls === null ? [] : (JSON.parse(calls) as readonly ToolCallEntry[])
}

type Problem = Pick<Finding, 'kind' | 'problem'>

function checkCall(name: string, result: Message, acted: readonly Acted[], ended: Ended): readonly Problem[] {
  const rule = Object.hasOwn(RULES, name) ? RULES[name] : undefined
  if (rule === undefined) return checkWords(name, result)
  const problems: Problem[] = []
  const succeeded = result.tool_status === 'success'
  const times = `${name} acted ${acted.length} times, and its result is: ${result.content?.slice(0, 60)}`
  if (acted.length > rule.most) problems.push({ kind: 'repeated', problem: times })
  if (succeeded && acted.length < rule.least) problems.push({ kind: 'lost', problem: times })
  const isCut = CUT.test(result.content ?? '') || isRefusedByEnd(result, ended)
  if (!succeeded && !isCut) problems.push({ kind: 'wrong', problem: times })
  if (rule.idempotent === true && UNKNOWN.test(result.content ?? ''))
    problems.push({ kind: 'wrong', problem: `${name} may run again, and it was left unknown.` })
  if (new Set(acted.map(({ key }) => key)).size > 1)
    problems.push({ kind: 'wrong', problem: `${name} acted under several keys.` })
  if (rule.idempotent !== true && new Set(acted.map(({ pid }) => pid)).size > 1)
    problems.push({ kind: 'repeated', problem: `${name} acted in several processes.` })
  return problems
}

/** Tools of no side effect that is counted: what they say may not be that something is broken. */
function checkWords(name: string, { content }: Message): readonly Problem[] {
  return /Damaged:/.test(content ?? '') ? [{ kind: 'wrong', problem: `${name} said: ${content}` }] : []
}
