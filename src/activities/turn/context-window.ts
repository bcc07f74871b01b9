import type { PromptContent } from '../../definitions/plan/plan-content.js'
import { clipResult } from '../../model/context/cut-window.js'
import { mediaTypeOf } from '../../model/context/inlined-files.js'
import type { InlinedFile, ReadFiles } from '../../model/context/inlined-files.js'
import type { CallModelInput } from '../../protocol/activities.js'
import { LIMITS } from '../../protocol/limits.js'
import type { AttachmentRef } from '../../protocol/message.js'
import { statFile } from '../../store/files/attachments.js'
import { lastBoundary } from '../../store/messages/context-boundaries.js'
import type { Boundary } from '../../store/messages/context-boundaries.js'
import type { TranscriptMessage } from '../../store/messages/message-row.js'
import { findTranscriptRow, readRows, readRowSizes } from '../../store/messages/transcript.js'
import type { RowSize, Transcript } from '../../store/messages/transcript.js'
import { StoreError } from '../../store/store-error.js'
import type { Reader, Store } from '../../store/store.js'

/** The rows of the transcript that a request is made of, as its window was cut last. */
export interface ContextWindow {
  readonly boundary: Boundary | null
  /** The first message of the run within which the window was cut; it stands before the rows. */
  readonly opening: TranscriptMessage | null
  readonly rows: readonly TranscriptMessage[]
  readonly bytes: ReadonlyMap<number, number>
  /** There may be more rows after the boundary than were read. */
  readonly overflows: boolean
}

/**
 * Reads the rows after the last boundary, at most as many as a window holds: the cost does not grow with the thread
 * (T6).
 */
export async function readWindow(
  db: Reader,
  { threadId, side, run, frame }: CallModelInput,
  { includeChat }: PromptContent,
): Promise<ContextWindow> {
  // A nested step without the conversation has only its own message.
  if (frame !== null && !includeChat) return NOTHING
  const boundary = await lastBoundary(db, threadId, side)
  const transcript: Transcript = { threadId, from: boundary?.position ?? 0, run: includeChat ? null : run }
  const sizes = await readRowSizes(db, { ...transcript, limit: LIMITS.contextRows + 1 })
  const read = withinLimits(sizes)
  const from = read.at(-1)?.position
  const rows = from === undefined ? [] : await readRows(db, { ...transcript, from })
  const opening = boundary?.detail.opening ?? null
  const clipped = boundary?.detail.clipped ?? 0
  return {
    boundary,
    opening: opening === null ? null : await findTranscriptRow(db, threadId, opening),
    rows: rows.map((row) => ((row.position ?? Infinity) <= clipped ? clipResult(row) : row)),
    bytes: new Map(read.map(({ position, bytes }) => [position, bytes])),
    overflows: read.length < sizes.length || sizes.length > LIMITS.contextRows,
  }
}

const NOTHING: ContextWindow = {
  boundary: null,
  opening: null,
  rows: [],
  bytes: new Map(),
  overflows: false,
}

/** The newest rows that can be read whole; always the newest one. */
function withinLimits(newestFirst: readonly RowSize[]): readonly RowSize[] {
  let bytes = 0
  const over = newestFirst.findIndex((row, index) => {
    bytes += row.bytes
    return index > 0 && bytes > LIMITS.contextBytes
  })
  return over === -1 ? newestFirst : newestFirst.slice(0, over)
}

/**
 * The bytes of files of a thread, each path read once; null where a file is missing or not of the kind that its
 * attachment names.
 */
export async function readFiles(
  store: Store,
  threadId: string,
  attachments: Iterable<AttachmentRef>,
): Promise<ReadFiles> {
  const read = new Map<string, InlinedFile | null>()
  const files = new Map<AttachmentRef, InlinedFile | null>()
  for (const attachment of attachments) {
    const { path } = attachment
    const known = read.get(path)
    const file = known === undefined ? await readFile(store, threadId, path) : known
    read.set(path, file)
    files.set(attachment, file !== null && isOfKind(file, attachment) ? file : null)
  }
  return files
}

async function readFile(store: Store, threadId: string, path: string): Promise<InlinedFile | null> {
  const entry = await store.read((db) => statFile(db, threadId, path))
  if (entry?.blob == null || entry.size > LIMITS.inlinedFileBytes) return null
  const data = await bytesOf(store, entry.blob)
  const mediaType = data === null ? null : mediaTypeOf(data)
  return data === null || mediaType === null ? null : { mediaType, data }
}

/**
 * A corrupt file is left out of the request, which says so; while the store fails in passing, the activity is retried.
 */
async function bytesOf({ blobs }: Store, digest: string): Promise<Uint8Array | null> {
  try {
    return await blobs.read(digest)
  } catch (error) {
    if (StoreError.isInstance(error) && error.code === 'corrupt') return null
    throw error
  }
}

/** A PNG that is named a JPEG is sent; a PDF that is named an image is not, because models may not take it. */
function isOfKind({ mediaType }: InlinedFile, { mimeType }: AttachmentRef): boolean {
  return mediaType.split('/')[0] === mimeType.toLowerCase().split('/')[0]
}
