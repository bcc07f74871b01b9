import { LIMITS } from '../../protocol/limits.js'
import type { AttachmentRef } from '../../protocol/message.js'
import { madeFiles } from './answer-parts.js'
import type { Author } from './answer-parts.js'
import { EVERY_SENSE, mediaKind } from './media.js'
import type { Senses } from './media.js'
import { isOwn } from './perspective.js'
import type { Perspective } from './perspective.js'
import type { TranscriptRow } from './transcript-row.js'

/** The bytes of a file with the type that they have; null: it could not be read as what it should be. */
export type ReadFiles = ReadonlyMap<AttachmentRef, InlinedFile | null>

export interface InlinedFile {
  readonly mediaType: string
  readonly data: Uint8Array
}

/** Which files a request carries itself. */
export interface Inlining {
  readonly senses: Senses
  readonly perspective: Perspective
  /** How many of the newest messages keep their files at least. */
  readonly recent: number
  /** Who is asked: the files that it made itself go back to it. */
  readonly author: Author | null
}

/**
 * The files that go into a request as parts, of messages presented as `user`, of results, and of the author's own answers; all
 * others are told by their note. Older ones leave in jumps: at every `recent`th position, and to half when they are too large together, so that
 * most requests begin as the one before (T12).
 */
export function filesToInline(
  rows: readonly TranscriptRow[],
  { senses, perspective, recent, author }: Inlining,
): ReadonlySet<AttachmentRef> {
  const newest = Math.max(0, ...rows.map(({ position }) => position ?? 0))
  const before = recent > 0 ? Math.floor((newest - recent) / recent) * recent : Infinity
  const files = rows
    .filter((row) => (row.position ?? newest + 1) > before)
    .flatMap((row) => {
      if (isShown(row, perspective)) return row.attachments.filter((file) => mediaKind(file, senses) !== null)
      const made = madeFiles(row, author)
      return row.attachments.filter((file) => made.has(file.path) && mediaKind(file, EVERY_SENSE) !== null)
    })
    .filter((file) => file.size <= LIMITS.inlinedFileBytes)
  return new Set(newestWithin(files))
}

/** Most providers take no files in the words of a model; that which made them takes them back. */
function isShown(row: TranscriptRow, perspective: Perspective): boolean {
  return isOwn(row, perspective) === (row.role === 'tool')
}

function newestWithin(files: readonly AttachmentRef[]): readonly AttachmentRef[] {
  const total = files.reduce((sum, { size }) => sum + size, 0)
  if (total <= LIMITS.inlinedFileBytes) return files
  let left = LIMITS.inlinedFileBytes / 2
  const first = files.findLastIndex(({ size }) => (left -= size) < 0)
  // The newest is shown however large it is.
  return files.slice(Math.min(first + 1, files.length - 1))
}
