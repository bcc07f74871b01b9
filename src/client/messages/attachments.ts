import { createHash } from 'node:crypto'
import { MessageRejectedError } from '../../protocol/errors.js'
import { LIMITS } from '../../protocol/limits.js'
import type { AttachmentRef, NewAttachment } from '../../protocol/message.js'
import { isObject } from '../../protocol/values.js'
import { attachmentRef, freeAttachmentPath } from '../../store/files/attachments.js'
import { statFile, putFile } from '../../store/files/files.js'
import { filePathProblem } from '../../store/files/file-checks.js'
import type { StoredFile } from '../../store/files/files.js'
import { HIGHEST_INT, isPixels } from '../../store/schema.js'
import type { Store, Writer } from '../../store/store.js'
import { nowMicros } from '../../protocol/time.js'

/** A file of the thread, or a new one. */
export type GivenAttachment =
  | { readonly kind: 'file'; readonly path: string; readonly description: string | null }
  | {
      readonly kind: 'new'
      readonly name: string
      readonly mimeType: string
      readonly bytes: Uint8Array
      readonly width: number | null
      readonly height: number | null
    }

/** Validates an attachment. @throws MessageRejectedError that names what was expected and what was given */
export function checkAttachment(
  threadId: string,
  given: NewAttachment | AttachmentRef | string,
): GivenAttachment {
  const attachment: unknown = typeof given === 'string' ? { path: given } : given
  const problem = isObject(attachment)
    ? attachmentProblem(attachment)
    : `Expected an attachment, got ${typeof attachment}.`
  if (problem !== undefined) throw new MessageRejectedError(threadId, problem)
  if (typeof given === 'string') return { kind: 'file', path: given, description: null }
  if (!('data' in given)) return { kind: 'file', path: given.path, description: given.description ?? null }
  const bytes = attachmentBytes(given.data)
  if (typeof bytes === 'string')
    throw new MessageRejectedError(threadId, `Attachment "${given.name}": ${bytes}`)
  const { name, mimeType, width, height } = given
  return { kind: 'new', name, mimeType, bytes, width: width ?? null, height: height ?? null }
}

function attachmentProblem(attachment: Readonly<Record<string, unknown>>): string | undefined {
  const { data, path, name, mimeType } = attachment
  if (data === undefined) {
    if (typeof path === 'string') return filePathProblem(path)
    return 'Expected an attachment with "data" or the "path" of a file of the thread, got neither.'
  }
  if (typeof name !== 'string' || name === '') return 'Expected an attachment with a "name", got none.'
  if (typeof mimeType !== 'string' || mimeType === '')
    return `Expected attachment "${name}" to have a "mimeType", got none.`
  for (const side of ['width', 'height']) {
    const length = attachment[side]
    if (length !== undefined && !isPixels(length))
      return `Expected "${side}" of attachment "${name}" to be a whole number up to ${HIGHEST_INT}, got ${describeValue(length)}.`
  }
  return undefined
}

function describeValue(value: unknown): string {
  return typeof value === 'number' ? String(value) : typeof value
}

/** Reads the bytes of a new attachment, which are given as bytes or base64; a returned text says what is wrong with them. */
function attachmentBytes(data: unknown): Uint8Array | string {
  const bytes = typeof data === 'string' ? fromBase64(data) : data
  if (!(bytes instanceof Uint8Array))
    return `Expected "data" to be bytes or base64, got ${describeData(data)}.`
  if (bytes.length <= LIMITS.fileBytes) return bytes
  return `Expected a file of at most ${LIMITS.fileBytes} bytes, got ${bytes.length}.`
}

/** Decodes base64. Node ignores what is not base64, and would decode a plain text into other bytes than were meant. */
function fromBase64(data: string): Uint8Array | undefined {
  const text = data.replaceAll(/[\r\n]/g, '')
  const isWhole = text.length % 4 === 0 || (!text.includes('=') && text.length % 4 !== 1)
  return isWhole && /^[\w+/-]*={0,2}$/.test(text) ? Buffer.from(text, 'base64') : undefined
}

function describeData(data: unknown): string {
  return typeof data === 'string' ? 'a text that is no base64' : typeof data
}

/** An attachment whose bytes are in the blob store, or that is a file of the thread. */
export type StoredAttachment =
  | Extract<GivenAttachment, { kind: 'file' }>
  | (Omit<Extract<GivenAttachment, { kind: 'new' }>, 'bytes'> & {
      readonly blob: string
      readonly size: number
    })

/** Stores bytes before their entries, so that no entry ever names missing bytes. The same bytes are kept once. */
export async function storeBytes(
  store: Store,
  attachments: readonly GivenAttachment[],
): Promise<readonly StoredAttachment[]> {
  const stored: StoredAttachment[] = []
  for (const attachment of attachments) {
    if (attachment.kind === 'file') {
      stored.push(attachment)
      continue
    }
    const { bytes, ...entry } = attachment
    const { digest, size } = await store.blobs.write(bytes)
    stored.push({ ...entry, blob: digest, size })
  }
  return stored
}

/** The part of an attachment in the digest of its message: it is the same whether the bytes are stored yet or not. */
export function attachmentDigest(attachment: GivenAttachment): Readonly<Record<string, string>> {
  if (attachment.kind === 'file') return { path: attachment.path }
  const bytes = createHash('sha256').update(attachment.bytes).digest('hex')
  return { name: attachment.name, mimeType: attachment.mimeType, bytes }
}

/**
 * Creates the entries of new files and finds the named files, in the transaction that stages the message.
 * @throws MessageRejectedError for a path that the thread does not have
 */
export async function placeAttachments(
  tx: Writer,
  threadId: string,
  attachments: readonly StoredAttachment[],
): Promise<readonly AttachmentRef[]> {
  const placed: AttachmentRef[] = []
  for (const attachment of attachments) {
    const file =
      attachment.kind === 'file'
        ? await requireFile(tx, threadId, attachment.path)
        : await putFile(tx, {
            ...attachment,
            threadId,
            path: await freeAttachmentPath(tx, threadId, attachment.name),
            now: nowMicros(),
          })
    const description = attachment.kind === 'file' ? attachment.description : null
    placed.push({ ...attachmentRef(file), ...(description !== null && { description }) })
  }
  return placed
}

async function requireFile(tx: Writer, threadId: string, path: string): Promise<StoredFile> {
  const file = await statFile(tx, threadId, path)
  if (file !== null && !file.isDirectory) return file
  const came = file === null ? 'no such file' : 'a folder'
  throw new MessageRejectedError(
    threadId,
    `Expected the attachment ${path} to be a file of the thread, got ${came}: ` +
      'a new file is given as { name, mimeType, data }.',
  )
}
