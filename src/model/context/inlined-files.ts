import { LIMITS } from '../../protocol/limits.js'
import type { AttachmentRef } from '../../protocol/message.js'
import { madeFiles } from './answer-parts.js'
import type { Author } from './answer-parts.js'
import { isOwn } from './transcript-row.js'
import type { Perspective, TranscriptRow } from './transcript-row.js'

/** The files with their bytes and actual types; null: the file could not be read as its declared type. */
export type ReadFiles = ReadonlyMap<AttachmentRef, InlinedFile | null>

export interface InlinedFile {
  readonly mediaType: string
  readonly data: Uint8Array
}

/** Decides which files a request carries itself. */
export interface Inlining {
  readonly senses: Senses
  readonly perspective: Perspective
  /** The number of the newest messages that keep their files at least. */
  readonly recent: number
  /** The model of the request: files that it made itself go back to it. */
  readonly author: Author | null
}

/**
 * The files that a request carries as parts: those of messages presented as `user`, of results, and of the author's own
 * answers. All others appear only in the note. Older files leave in jumps, at every `recent`th position, and down to half
 * when they are too large together, so that most requests begin as the request before (T12).
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

/** The kinds of files that the rows show to a model that accepts all of them, as `Senses` names them. */
export function shownKinds(
  rows: readonly TranscriptRow[],
  { perspective, recent }: Pick<Inlining, 'perspective' | 'recent'>,
): readonly (keyof Senses)[] {
  if (rows.every(({ attachments }) => attachments.length === 0)) return []
  const files = filesToInline(rows, { senses: EVERY_SENSE, perspective, recent, author: null })
  const kinds = new Set([...files].map((file) => mediaKind(file, EVERY_SENSE)))
  return SENSE_OF.flatMap(([kind, sense]) => (kinds.has(kind) ? [sense] : []))
}

/** Most providers accept no files in messages of a model; only the model that made a file accepts it back. */
function isShown(row: TranscriptRow, perspective: Perspective): boolean {
  return isOwn(row, perspective) === (row.role === 'tool')
}

function newestWithin(files: readonly AttachmentRef[]): readonly AttachmentRef[] {
  const total = files.reduce((sum, { size }) => sum + size, 0)
  if (total <= LIMITS.inlinedFileBytes) return files
  let left = LIMITS.inlinedFileBytes / 2
  const first = files.findLastIndex(({ size }) => (left -= size) < 0)
  // The newest file is shown whatever its size.
  return files.slice(Math.min(first + 1, files.length - 1))
}

/** The kinds of files that a model accepts as parts of a message. */
interface Senses {
  readonly images: boolean
  readonly documents: boolean
  readonly audio: boolean
}

const EVERY_SENSE: Senses = { images: true, documents: true, audio: true }

type MediaKind = 'image' | 'document' | 'audio'

const SENSE_OF: readonly (readonly [kind: MediaKind, sense: keyof Senses])[] = [
  ['image', 'images'],
  ['document', 'documents'],
  ['audio', 'audio'],
]

/**
 * The types that every provider accepts; one file of another type in the history would make each later request fail.
 */
const KINDS: ReadonlyMap<string, MediaKind> = new Map([
  ['image/png', 'image'],
  ['image/jpeg', 'image'],
  ['image/jpg', 'image'],
  ['image/gif', 'image'],
  ['image/webp', 'image'],
  ['application/pdf', 'document'],
  ['audio/wav', 'audio'],
  ['audio/x-wav', 'audio'],
  ['audio/mpeg', 'audio'],
  ['audio/mp3', 'audio'],
])

const SIGNATURES: readonly (readonly [type: string, begins: RegExp])[] = [
  ['image/png', /^\x89PNG\r\n/],
  ['image/jpeg', /^\xff\xd8\xff/],
  ['image/gif', /^GIF8[79]a/],
  ['image/webp', /^RIFF[^]{4}WEBP/],
  ['application/pdf', /^[^]{0,1000}%PDF-/],
  ['audio/wav', /^RIFF[^]{4}WAVE/],
  ['audio/mpeg', /^(ID3|\xff[\xe2-\xff])/],
]
const LONGEST_SIGNATURE = 1024

/** The kind of part for a file by its declared type; null: the model gets only a note with the path. */
function mediaKind({ mimeType }: AttachmentRef, senses: Senses): MediaKind | null {
  const kind = KINDS.get(mimeType.toLowerCase().split(';')[0]?.trim() ?? '')
  if (kind === undefined) return null
  return { image: senses.images, document: senses.documents, audio: senses.audio }[kind] ? kind : null
}

/** The most that Anthropic counts for one image, and more than OpenAI does. */
const TOKENS_PER_IMAGE = 1600
/** A page of a PDF has some 60 KB and 2000 tokens; a second of MP3 has 16 KB and 10 tokens. */
const BYTES_PER_TOKEN_OF = { document: 32, audio: 1600 } as const

/** An estimate of the tokens of a file in a request that carries it. */
export function fileTokens(file: AttachmentRef): number {
  const kind = mediaKind(file, EVERY_SENSE)
  if (kind === null || kind === 'image') return TOKENS_PER_IMAGE
  return Math.ceil(file.size / BYTES_PER_TOKEN_OF[kind])
}

/** The type by the bytes themselves: providers refuse a file of another type than declared. Null: no accepted type. */
export function mediaTypeOf(bytes: Uint8Array): string | null {
  const head = Buffer.from(bytes.subarray(0, LONGEST_SIGNATURE)).toString('latin1')
  return SIGNATURES.find(([, begins]) => begins.test(head))?.[0] ?? null
}

/** The note that lists the files of a row with their paths for the model; '' without files. */
export function attachmentNote(attachments: readonly AttachmentRef[], files?: ReadFiles): string {
  if (attachments.length === 0) return ''
  const lines = attachments.map((file) => fileLine(file) + (files?.get(file) === null ? UNREADABLE : ''))
  return ['Attached files:', ...lines].join('\n')
}

const UNREADABLE = ' (could not be read)'

function fileLine({ name, mimeType, size, path }: AttachmentRef): string {
  return `- ${oneLine(name)} (${oneLine(mimeType)}, ${size} bytes) at ${oneLine(path)}`
}

/** A file name with a line break could otherwise pass for a line of its own. */
function oneLine(text: string): string {
  return text.replaceAll(/\p{Cc}+/gu, ' ')
}
