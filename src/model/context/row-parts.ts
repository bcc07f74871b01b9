import { attachmentNote } from './attachment-note.js'

import type { LanguageModelV4FilePart, LanguageModelV4TextPart } from '@ai-sdk/provider'
import type { AttachmentRef } from '../../protocol/message.js'
import type { ReadFiles } from './inlined-files.js'
import type { TranscriptRow } from './transcript-row.js'

/** The text parts of a row: what it says, then a note of its files. Blank text is left out: providers refuse it. */
export function rowParts(row: TranscriptRow, files?: ReadFiles): LanguageModelV4TextPart[] {
  return [row.content ?? '', attachmentNote(row.attachments, files)]
    .filter((text) => text.trim() !== '')
    .map((text) => ({ type: 'text', text }))
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
