/**
 * The members of `ThreadState` that are about files, attachments, and the bytes of both: content that code passes, streams,
 * and search.
 */

import { Script, createContext } from 'node:vm'

import type { FileChunk, QueuedMessage, ThreadState } from '../../definitions/thread-state.js'
import { LIMITS } from '../../protocol/limits.js'
import type { AttachmentRef, FileRecord } from '../../protocol/message.js'
import type { BlobStore } from '../../store/files/blob-store.js'
import { nameOf } from '../../store/files/file-checks.js'
import type { StoredFile } from '../../store/files/files.js'
import { HIGHEST_INT, isPixels } from '../../store/schema.js'
import { StoreError } from '../../store/store-error.js'
import type { FilesOverlay, StoredContent } from './files.js'
import type { CallGate } from './journal.js'
import { jsonObjectCopy, kindOf } from './strict-json.js'
import { attachmentRef } from '../../store/files/attachments.js'

/** The members of `ThreadState` that are about files. */
type FileMembers = Pick<
  ThreadState,
  | 'writeFile'
  | 'readFile'
  | 'readFileStream'
  | 'statFile'
  | 'getFileThumbnail'
  | 'readdirFile'
  | 'unlinkFile'
  | 'mkdirFile'
  | 'rmdirFile'
  | 'grepFiles'
  | 'findFiles'
  | 'getFileStats'
>

/** Large enough to be fast, and small enough to hold many chunks at once. */
const CHUNK_BYTES = 256 * 1024

interface FileMembersOptions {
  readonly files: FilesOverlay
  readonly blobs: BlobStore
  readonly gate: CallGate
}

export function createFileMembers({ files, blobs, gate }: FileMembersOptions): FileMembers {
  return {
    async writeFile(path, data, mimeType, options = {}) {
      const { width, height, metadata } = options
      const given = { named: path, data, encoding: 'utf8', mimeType, width, height, metadata } as const
      return recordOf(await files.put(path, prepareContent(blobs, given)))
    },
    async readFile(path) {
      const file = await files.stat(path)
      if (file === null || file.blob === null) return null
      const bytes = await blobs.read(file.blob)
      if (bytes === null) throw bytesMissing(path)
      return new Uint8Array(bytes).buffer
    },
    async readFileStream(path) {
      const file = await files.stat(path)
      if (file === null || file.blob === null) return null
      return chunksOf({ blobs, gate, path, blob: file.blob, size: file.size })
    },
    async statFile(path) {
      const file = await files.stat(path)
      return file === null ? null : recordOf(file)
    },
    getFileThumbnail: async () => null,
    readdirFile: async (path) => ({ entries: (await files.list(path)).map(recordOf) }),
    unlinkFile: (path) => files.remove(path),
    mkdirFile: async (path) => recordOf(await files.makeFolder(path)),
    rmdirFile: (path) => files.removeFolder(path),
    grepFiles: (pattern) => grepFiles({ files, blobs, pattern }),
    findFiles: async (pattern) => ({ paths: [...(await files.find(pattern))] }),
    getFileStats: async () => ({ ...(await files.stats()) }),
  }
}

function recordOf({ blob: _blob, ...record }: StoredFile): FileRecord {
  return record
}

interface ChunkSource {
  readonly blobs: BlobStore
  readonly gate: CallGate
  readonly path: string
  readonly blob: string
  readonly size: number
}

/** Opens the bytes when the first chunk is read, so an unread stream holds nothing open. */
async function* chunksOf({ blobs, gate, path, blob, size }: ChunkSource): AsyncIterable<FileChunk> {
  gate.assertOpen()
  const bytes = await blobs.stream(blob)
  if (bytes === null) throw bytesMissing(path)
  const totalChunks = Math.max(1, Math.ceil(size / CHUNK_BYTES))
  let index = 0
  for await (const data of splitEvenly(bytes, CHUNK_BYTES)) {
    gate.assertOpen()
    yield { data, index, totalChunks, isLast: index === totalChunks - 1 }
    index++
  }
}

function bytesMissing(path: string): StoreError {
  return new StoreError('corrupt', `The bytes of ${path} are not in the blob store: restore it from a backup`)
}

/** The content of a file as a tool passes it. */
interface GivenContent {
  readonly named: string
  readonly data: ArrayBuffer | Uint8Array | string
  readonly encoding: 'utf8' | 'base64'
  readonly mimeType: string
  readonly width?: number | undefined
  readonly height?: number | undefined
  readonly metadata?: Record<string, unknown> | undefined
}

const MIME_TYPE_LENGTH = 255

/** Checks the content at once. The returned function stores the bytes. @throws an error that explains what is wrong */
function prepareContent(blobs: BlobStore, given: GivenContent): () => Promise<StoredContent> {
  const { named, mimeType } = given
  if (typeof mimeType !== 'string' || mimeType === '' || mimeType.length > MIME_TYPE_LENGTH)
    throw new Error(
      `Expected the MIME type of ${named} to be a text such as text/plain, got ${kindOf(mimeType)}.`,
    )
  const facts = {
    mimeType,
    width: pixels(given.width, `the width of ${named}`),
    height: pixels(given.height, `the height of ${named}`),
    metadata: given.metadata == null ? null : { ...jsonObjectCopy(given.metadata, `metadata of ${named}`) },
  }
  const bytes = bytesOf(given)
  return async () => {
    const { digest, size } = await blobs.write(bytes)
    return { blob: digest, size, ...facts }
  }
}

/** Copies the bytes, because the tool may change its buffer while they are written. */
function bytesOf({ named, data, encoding }: GivenContent): Uint8Array {
  if (typeof data === 'string') {
    if (encoding === 'base64' && !isBase64(data))
      throw new Error(`Expected the data of ${named} to be bytes or base64, got a text that is not base64.`)
    assertSize(named, Buffer.byteLength(data, encoding))
    return Buffer.from(data, encoding)
  }
  if (!(data instanceof ArrayBuffer) && !(data instanceof Uint8Array))
    throw new Error(
      `Expected the data of ${named} to be an ArrayBuffer, a Uint8Array or a text, got ${kindOf(data)}.`,
    )
  assertSize(named, data.byteLength)
  return data instanceof Uint8Array ? Uint8Array.from(data) : new Uint8Array(data.slice(0))
}

function assertSize(named: string, size: number): void {
  if (size <= LIMITS.fileBytes) return
  const megabytes = LIMITS.fileBytes / 1024 / 1024
  throw new Error(`Expected ${named} to have at most ${megabytes} MB, got ${size} bytes: split it.`)
}

/** Checked, because Node's decoder ignores characters that are not base64 and would store wrong bytes. */
function isBase64(text: string): boolean {
  return text.length % 4 === 0 && /^[A-Za-z0-9+/]*={0,2}$/.test(text)
}

function pixels(value: unknown, named: string): number | null {
  if (value == null) return null
  if (isPixels(value)) return value
  const came = typeof value === 'number' ? value : kindOf(value)
  throw new Error(`Expected ${named} to be a whole number of pixels, at most ${HIGHEST_INT}, got ${came}.`)
}

/** Larger files are not searched. */
const FILE_BYTES = 1024 * 1024

/** Total number of lines: more would not fit into a model's context. */
const MATCHES = 1000

const LINE_LENGTH = 1000

/** Total milliseconds of matching, which blocks the worker; longer would delay heartbeats. */
const TIME = 2000

const TEXT_TYPE =
  /^text\/|[/+.-](json|jsonl|ndjson|xml|yaml|toml|javascript|ecmascript|typescript|sh|shellscript|sql|graphql)$/

interface Grep {
  readonly files: FilesOverlay
  readonly blobs: BlobStore
  /** A regular expression. */
  readonly pattern: string
}

/** Returns matching lines of text files up to 1 MB: at most 1,000 lines, each shortened to 1,000 characters. */
async function grepFiles({ files, blobs, pattern }: Grep): Promise<{ path: string; matches: string[] }[]> {
  const match = createMatcher(pattern)
  const found: { path: string; matches: string[] }[] = []
  let left = MATCHES
  for (const path of await files.find('*')) {
    const file = await files.stat(path)
    if (file === null || file.blob === null || file.size > FILE_BYTES || !isText(file.mimeType)) continue
    const bytes = await blobs.read(file.blob)
    if (bytes === null) continue
    const matches = match(new TextDecoder().decode(bytes)).slice(0, left)
    if (matches.length > 0) found.push({ path, matches: matches.map((line) => line.slice(0, LINE_LENGTH)) })
    left -= matches.length
    if (left === 0) break
  }
  return found
}

function isText(mimeType: string): boolean {
  return TEXT_TYPE.test(mimeType.split(';', 1)[0]?.trim().toLowerCase() ?? '')
}

/** Matches in a separate script, since only a script can have a timeout: a model's expression may backtrack forever. */
function createMatcher(pattern: string): (text: string) => readonly string[] {
  const place: { expression: RegExp; lines: readonly string[] } = {
    expression: expressionOf(pattern),
    lines: [],
  }
  const context = createContext(place)
  const script = new Script('lines.filter((line) => expression.test(line))')
  let left = TIME
  return (text) => {
    place.lines = text.split(/\r?\n/)
    const start = performance.now()
    try {
      // The script above returns a list of strings.
      return script.runInContext(context, { timeout: Math.max(1, Math.ceil(left)) }) as readonly string[]
    } catch (error) {
      if (isTimeout(error)) throw tooSlow()
      throw error
    } finally {
      left -= performance.now() - start
    }
  }
}

/** The error belongs to the script's realm, so it is not an instance of this realm's `Error`. */
function isTimeout(error: unknown): boolean {
  return (
    typeof error === 'object' &&
    error !== null &&
    'code' in error &&
    error.code === 'ERR_SCRIPT_EXECUTION_TIMEOUT'
  )
}

function expressionOf(pattern: unknown): RegExp {
  if (typeof pattern !== 'string')
    throw new Error(`Expected a regular expression as text, got a ${typeof pattern}.`)
  try {
    return new RegExp(pattern)
  } catch (error) {
    throw new Error(`Expected a regular expression, got one that is not valid: ${String(error)}`, {
      cause: error,
    })
  }
}

function tooSlow(): Error {
  return new Error(
    `Expected a regular expression that is done in ${TIME / 1000} s, got a slower one: simplify it.`,
  )
}

/** Splits bytes into pieces of one size; the last piece has the rest. Without bytes there is one empty piece. */
async function* splitEvenly(chunks: AsyncIterable<Uint8Array>, size: number): AsyncIterable<Uint8Array> {
  let piece = new Uint8Array(size)
  let filled = 0
  for await (const chunk of chunks) {
    for (let from = 0; from < chunk.byteLength;) {
      // A full piece is yielded only when another byte follows, so that the last piece is not empty.
      if (filled === size) {
        yield piece
        piece = new Uint8Array(size)
        filled = 0
      }
      const part = chunk.subarray(from, from + size - filled)
      piece.set(part, filled)
      filled += part.byteLength
      from += part.byteLength
    }
  }
  yield piece.slice(0, filled)
}

/** A new file, or a file of the thread by reference or path. */
type GivenAttachment = NonNullable<QueuedMessage['attachments']>[number]

interface AttachmentTarget {
  readonly files: FilesOverlay
  readonly blobs: BlobStore
}

/** Writes new files under /attachments; references must exist. @throws an error that explains an invalid attachment */
export async function resolveAttachments(
  target: AttachmentTarget,
  given: readonly GivenAttachment[],
): Promise<readonly AttachmentRef[]> {
  const references: AttachmentRef[] = []
  for (const attachment of given) references.push(await resolve(target, attachment))
  return references
}

async function resolve({ files, blobs }: AttachmentTarget, given: GivenAttachment): Promise<AttachmentRef> {
  if (typeof given === 'string') return findAttachment(files, given)
  if (typeof given !== 'object' || given === null)
    throw new Error(`Expected an attachment to be a file, a reference or a path, got ${kindOf(given)}.`)
  if ('path' in given) {
    const { description } = given
    return {
      ...(await findAttachment(files, given.path)),
      ...(description === undefined ? {} : { description }),
    }
  }
  const { name, data, mimeType, width, height } = given
  if (typeof name !== 'string' || name === '')
    throw new Error(`Expected an attachment to have a name, got ${kindOf(name)}.`)
  const content = {
    named: `the attachment ${name}`,
    data,
    encoding: 'base64',
    mimeType,
    width,
    height,
  } as const
  return attachmentRef(await files.putAttachment(name, prepareContent(blobs, content)))
}

async function findAttachment(files: FilesOverlay, path: string): Promise<AttachmentRef> {
  const file = await files.stat(path)
  if (file !== null && !file.isDirectory) return attachmentRef(file)
  const came = file === null ? 'no such file' : 'a folder'
  throw new Error(`Expected the attachment ${path} to be a file of this thread, got ${came}: write it first.`)
}

/** Returns the reference to the file at the path where the commit put it. */
export function atNewPath(file: AttachmentRef, moved: ReadonlyMap<string, string>): AttachmentRef {
  const path = moved.get(file.path)
  return path === undefined ? file : { ...file, id: path, path, name: nameOf(path) }
}
