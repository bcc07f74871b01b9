import type { Finding } from '../finding.js'
import type { AnswerLine } from '../processes/answer-line.js'

/** Each answer that was begun was acknowledged, or its request was ended; none was refused for another reason. */
export function checkAnswers(lines: readonly AnswerLine[]): readonly Finding[] {
  const findings = openAnswers(lines).map(({ threadId, requestId: id }): Finding => ({
    kind: 'stuck',
    threadId,
    id,
    problem: 'Its answer was given again and again, and never acknowledged.',
  }))
  for (const { kind, threadId, requestId: id, problem } of lines)
    if (kind === 'refused')
      findings.push({ kind: 'wrong', threadId, id, problem: `Its answer was refused: ${problem}` })
  return findings
}

/** Those that were begun and have no end. */
export function openAnswers(lines: readonly AnswerLine[]): readonly AnswerLine[] {
  const key = ({ threadId, requestId }: AnswerLine): string => `${threadId} ${requestId}`
  const ended = new Set(lines.filter(({ kind }) => kind !== 'begun').map(key))
  return lines.filter((line) => line.kind === 'begun' && !ended.has(key(line)))
}
