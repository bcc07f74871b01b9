import type { Deed, ModelDeed } from '../desk/deeds.js'
import type { Stamp } from '../desk/journal.js'
import { noncesIn } from '../desk/nonce.js'
import type { Finding } from '../finding.js'
import type { Evidence } from './evidence.js'
import type { ThreadRecord } from './thread-record.js'

/** A prompt tool sees its own first words only. */
const FRAMES: ReadonlySet<string> = new Set(['outline'])

/** Rows that a request reads at most (`LIMITS.contextRows`); where there are more it is cut to half of them. */
const WINDOW = 500

/**
 * The first row that a request shows whatever was cut, whose answer stands, or would stand, at the end. A cut window begins
 * with a turn: with the first words of somebody else in that half.
 */
function firstShown(rows: ThreadRecord['rows'], end: number): number {
  if (end <= WINDOW) return 0
  const half = end - WINDOW / 2
  const turn = rows.findIndex(({ role }, place) => place >= half && role === 'user')
  return turn === -1 ? half : turn
}

/**
 * T4 for model calls: a request that does not show an answer which was committed before it was made asks for that answer,
 * or for an earlier one, again.
 */
export function checkModels(
  { threadId, rows }: ThreadRecord,
  deeds: readonly (Deed & Stamp)[],
  evidence: Evidence,
): readonly Finding[] {
  const answers = rows
    .map((row, place) => ({ ...row, place }))
    .filter(({ role, depth, status }) => role !== 'tool' && depth === 0 && status === 'completed')
    .flatMap(({ id, content, place }) => noncesIn(content ?? '').map((nonce) => ({ nonce, id, place })))
    .map(({ nonce, id, place }) => ({ nonce, id, place, at: evidence.answer(nonce, threadId, id) }))
  const asked = deeds.filter(
    (deed): deed is ModelDeed & Stamp =>
      deed.kind === 'model' && deed.threadId === threadId && !FRAMES.has(deed.prompt),
  )
  const findings: Finding[] = []
  for (const { nonce, seen, at, side } of asked) {
    const end = answers.find((answer) => answer.nonce === nonce)?.place ?? rows.length
    const first = firstShown(rows, end)
    const missing = answers.find(
      ({ nonce: answer, at: seenAt, place }) => seenAt < at && !seen.includes(answer) && place >= first,
    )
    if (missing === undefined) continue
    const problem = `The model was asked again (side ${side}, ${nonce}) behind the answer ${missing.nonce}.`
    findings.push({ kind: 'repeated', threadId, id: missing.id, problem })
  }
  const twice = answers.filter(
    ({ nonce }, index) => answers.findIndex((one) => one.nonce === nonce) !== index,
  )
  for (const { id, nonce } of twice)
    findings.push({ kind: 'doubled', threadId, id, problem: `The answer ${nonce} is there twice.` })
  return findings
}
