import { LIMITS } from '../../protocol/limits.js'
import type { AttachmentRef } from '../../protocol/message.js'
import type { ChildRecord } from '../../store/threads/children.js'

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

/** What became of one child of those that a call has started in one go. */
export interface GroupMember {
  readonly reference: string
  readonly name: string
  readonly outcome: 'result' | 'failure' | 'notice'
  readonly text: string
  readonly attachments: readonly AttachmentRef[]
}

const HEADINGS: Readonly<Record<GroupMember['outcome'], string>> = {
  result: 'has returned the following result',
  failure: 'has reported a failure',
  notice: 'has ended',
}

/** One text that answers for all of them, in the order in which they were started. */
export function groupText(members: readonly GroupMember[]): string {
  const parts = members.map(({ name, reference, outcome, text }, index) => {
    return `${index + 1}. ${name} (reference: ${reference}) ${HEADINGS[outcome]}:\n${text}`
  })
  const count = members.length === 1 ? '1 subagent has' : `${members.length} subagents have`
  return [`${count} ended.`, ...parts].join('\n\n')
}

/** Their one message holds so much and no more: short ones keep their words, long ones share what is left. */
export function fittingMembers(members: readonly GroupMember[]): readonly GroupMember[] {
  const texts = members.map(({ text }) => Buffer.byteLength(text)).toSorted((one, other) => one - other)
  let left: number = LIMITS.groupBytes
  let share = left
  for (const [index, bytes] of texts.entries()) {
    share = Math.floor(left / (texts.length - index))
    if (bytes > share) break
    left -= bytes
  }
  return members.map((member) => ({ ...member, text: fitting(member.text, share) }))
}

/** As many of their files as one message or result may have, and words about the others. */
export function groupFiles(members: readonly GroupMember[]): GroupFiles {
  const all = members.flatMap((member) => member.attachments)
  const attachments = all.slice(0, LIMITS.messageAttachments)
  const others = all.slice(LIMITS.messageAttachments)
  if (others.length === 0) return { attachments, note: '' }
  const [first] = others
  const note = `[… ${others.length} more files came; they are in this thread, from ${first?.path ?? ''} on …]`
  return { attachments, note: `\n\n${note}` }
}

interface GroupFiles {
  readonly attachments: readonly AttachmentRef[]
  /** Behind the text; empty where all of them are there. */
  readonly note: string
}

/** As a list of children names it: by its own name. */
export function nameOfChild({ thread_name: own, name }: ChildRecord): string {
  return own ?? name
}

export const SILENT_END = 'The subagent ended its session and has nothing to report by itself.'
