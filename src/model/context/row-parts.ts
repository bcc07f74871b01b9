import { attachmentNote } from './attachment-note.js'

import type { LanguageModelV4TextPart } from '@ai-sdk/provider'
import type { TranscriptRow } from './transcript-row.js'

/** The text parts of a row: what it says, then a note of its files. Blank text is left out: providers refuse it. */
export function rowParts(row: TranscriptRow): LanguageModelV4TextPart[] {
  return [row.content ?? '', attachmentNote(row.attachments)]
    .filter((text) => text.trim() !== '')
    .map((text) => ({ type: 'text', text }))
}
