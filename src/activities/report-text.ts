import { LIMITS } from '../protocol/limits.js'
import type { AttachmentRef } from '../protocol/message.js'

/** What a child has told, on its way into a message of its parent. */
interface ToldReport {
  /** The child's thread id. */
  readonly reference: string
  readonly kind: 'result' | 'failure'
  readonly text: string
  /** Files of the parent. */
  readonly attachments: readonly AttachmentRef[]
}

/** What a parent reads of a child: the exact wording of Standard Agents, then its files by their paths in the parent. */
export function reportText({ reference, kind, text, attachments }: ToldReport): string {
  const what = kind === 'result' ? 'returned the following result' : 'reported a failure'
  const told = `Subagent (reference: ${reference}) has ${what}:\n${fitting(text)}`
  if (attachments.length === 0) return told
  return [`${told}\n`, 'Files, by their paths in this thread:', ...attachments.map(pathLine)].join('\n')
}

function pathLine({ path }: AttachmentRef): string {
  return `- ${path}`
}

/** A message holds so much and no more; the registry keeps the whole. */
export function fitting(text: string, most: number = LIMITS.messageBytes): string {
  const bytes = Buffer.from(text)
  if (bytes.byteLength <= most) return text
  // The cut may leave half a character.
  const head = bytes
    .subarray(0, most)
    .toString()
    .replace(/\uFFFD$/, '')
  return `${head}\n[… cut: ${bytes.byteLength} bytes in all; the rest is in the registry of subagents only …]`
}

/** Words alone. */
export function failureText(reference: string, text: string): string {
  return reportText({ reference, kind: 'failure', text, attachments: [] })
}
