import { LIMITS } from '../../protocol/limits.js'
import type { AttachmentRef } from '../../protocol/message.js'
import type { ChildRecord } from '../../store/threads/children.js'

/** The texts of one group's children in one message: a quarter of a window of 128,000 tokens. */
export const GROUP_BYTES = 128 * 1024

/** A child's report for a message of its parent. */
interface ReportedText {
  /** The child's thread id. */
  readonly reference: string
  readonly kind: 'result' | 'failure'
  readonly text: string
  /** The files, with their paths in the parent. */
  readonly attachments: readonly AttachmentRef[]
}

/** Returns a report's message: the exact wording of Standard Agents, then the files by their paths in the parent. */
export function reportText({ reference, kind, text, attachments }: ReportedText): string {
  const what = kind === 'result' ? 'returned the following result' : 'reported a failure'
  const message = `Subagent (reference: ${reference}) has ${what}:\n${truncateToFit(text)}`
  if (attachments.length === 0) return message
  return [`${message}\n`, 'Files, by their paths in this thread:', ...attachments.map(pathLine)].join('\n')
}

function pathLine({ path }: AttachmentRef): string {
  return `- ${path}`
}

/** Truncates a text to a message's limit; the registry keeps the whole text. */
export function truncateToFit(text: string, most: number = LIMITS.messageBytes): string {
  const bytes = Buffer.from(text)
  if (bytes.byteLength <= most) return text
  // The slice may end inside a character.
  const head = bytes
    .subarray(0, most)
    .toString()
    .replace(/\uFFFD$/, '')
  return `${head}\n[… cut: ${bytes.byteLength} bytes in all; the rest is in the registry of subagents only …]`
}

/** Returns the message of a failure without files. */
export function failureText(reference: string, text: string): string {
  return reportText({ reference, kind: 'failure', text, attachments: [] })
}

/** The outcome of one child of a group. */
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

/** Returns one text for a whole group, in the order in which the children were started. */
export function groupText(members: readonly GroupMember[]): string {
  const parts = members.map(({ name, reference, outcome, text }, index) => {
    return `${index + 1}. ${name} (reference: ${reference}) ${HEADINGS[outcome]}:\n${text}`
  })
  const count = members.length === 1 ? '1 subagent has' : `${members.length} subagents have`
  return [`${count} ended.`, ...parts].join('\n\n')
}

/** Truncates the texts of a group to one message's limit: short texts stay whole, long ones share the rest. */
export function fittingMembers(members: readonly GroupMember[]): readonly GroupMember[] {
  const texts = members.map(({ text }) => Buffer.byteLength(text)).toSorted((one, other) => one - other)
  let left: number = GROUP_BYTES
  let share = left
  for (const [index, bytes] of texts.entries()) {
    share = Math.floor(left / (texts.length - index))
    if (bytes > share) break
    left -= bytes
  }
  return members.map((member) => ({ ...member, text: truncateToFit(member.text, share) }))
}

/** Returns as many files of a group as one message or result may have, and a note about the others. */
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
  /** A note after the text; empty if all files are there. */
  readonly note: string
}

/** Returns the name of a child in lists: that of the instance, else that of its agent. */
export function nameOfChild({ thread_name: own, name }: ChildRecord): string {
  return own ?? name
}

export const SILENT_END = 'The subagent ended its session and has nothing to report by itself.'
