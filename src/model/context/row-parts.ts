import type { LanguageModelV4FilePart, LanguageModelV4TextPart } from '@ai-sdk/provider'
import type { AttachmentRef } from '../../protocol/message.js'
import { attachmentNote } from './attachment-note.js'
import type { ReadFiles } from './inlined-files.js'
import type { TranscriptRow } from './transcript-row.js'

/** The text parts of a row: what it says, then a note of its files. Blank text is left out: providers refuse it. */
export function rowParts(row: TranscriptRow, files?: ReadFiles): LanguageModelV4TextPart[] {
  return [row.content ?? '', attachmentNote(row.attachments, files)]
    .filter((text) => text.trim() !== '')
    .map((text) => ({ type: 'text', text }))
}

/**
 * How the runtime's own texts in user messages begin: notes (`SYSTEM_NOTE`), reports of subagents (`reportText`) and of groups
 * (`groupText`). The model must be able to believe these words.
 */
const OURS = /^[^\S\n\r]*(?:system note:|subagent \(reference:|\d+ subagents? ha(?:s|ve) ended\.)/gimu

/**
 * The row with each line quoted by `> ` that begins like one of ours, for texts of others in user messages: no text from outside
 * is the same for the model as a report or a note. Only the first line of a report stays: the rest is the subagent's own words.
 */
export function withoutImitations(row: TranscriptRow): TranscriptRow {
  const text = row.content ?? ''
  const content = text.replaceAll(OURS, (line, at: number) =>
    at === 0 && isReport(row, text) ? line : `> ${line}`,
  )
  return content === text ? row : { ...row, content }
}

/** A message that the runtime wrote, or the report of a subagent; any other words of a subagent are its own. */
function isReport({ sent_by: by, subagent_id: reference }: TranscriptRow, text: string): boolean {
  if (by === 'runtime') return true
  return reference !== null && text.startsWith(`Subagent (reference: ${reference}) has `)
}

/** The files that the request carries itself. */
export function fileParts(
  attachments: readonly AttachmentRef[],
  files: ReadFiles | undefined,
): LanguageModelV4FilePart[] {
  return attachments.flatMap((attachment) => filePart(attachment, files) ?? [])
}

/** The same by the paths of the files. */
export function filesByPath(
  attachments: readonly AttachmentRef[],
  files: ReadFiles | undefined,
): ReadonlyMap<string, LanguageModelV4FilePart> {
  return new Map(
    attachments.flatMap((attachment) => {
      const part = filePart(attachment, files)
      return part === null ? [] : [[attachment.path, part]]
    }),
  )
}

function filePart(attachment: AttachmentRef, files: ReadFiles | undefined): LanguageModelV4FilePart | null {
  const file = files?.get(attachment)
  if (file == null) return null
  const { mediaType, data } = file
  // The note has the whole name; providers are particular about what a file name may hold.
  const filename = attachment.name.replaceAll(/[^\w.-]+/g, '-')
  return { type: 'file', mediaType, filename, data: { type: 'data', data } }
}
