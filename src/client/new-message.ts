import { createHash } from 'node:crypto'
import { MessageRejectedError } from '../protocol/errors.js'
import { LIMITS } from '../protocol/limits.js'
import { messageIdProblem } from '../protocol/message-problems.js'
import type { AttachmentRef, NewAttachment } from '../protocol/message.js'
import { isObject, unwritableJson, utf8Length } from '../protocol/values.js'
import { attachmentRef, freeAttachmentPath, statFile } from '../store/files/attachments.js'
import { filePathProblem } from '../store/files/file-row.js'
import type { StoredFile } from '../store/files/file-row.js'
import { putFile } from '../store/files/files.js'
import { HIGHEST_INT, isPixels } from '../store/schema.js'
import type { Store, Writer } from '../store/store.js'
import { microseconds } from './client-context.js'

/** A message to a thread: text, files, or both. */
export interface NewMessage {
  readonly content?: string
  /** New files, or files of this thread by their path. */
  readonly attachments?: readonly (NewAttachment | AttachmentRef | string)[]
  /** @default 'user' */
  readonly role?: 'user' | 'assistant'
  /** In the model's context, hidden from the user's transcript. @default false */
  readonly silent?: boolean
  readonly metadata?: Record<string, unknown>
  /** Its idempotency key in this thread, for ever: sent again, it is delivered once. @default a UUID */
  readonly id?: string
}

/** A message whose every field was looked at. */
export interface CheckedMessage {
  readonly id: string
  readonly role: 'user' | 'assistant'
  readonly content: string | null
  readonly silent: boolean
  /** As it is stored: what JSON cannot carry is gone. */
  readonly metadata: Record<string, unknown> | null
  readonly attachments: readonly GivenAttachment[]
}

/** A file of the thread, or one to make. */
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

/** @throws MessageRejectedError naming what was expected and what came */
export function checkMessage(
  threadId: string,
  given: string | NewMessage,
  newId: () => string,
): CheckedMessage {
  const message: unknown = typeof given === 'string' ? { content: given } : given
  const problem = isObject(message)
    ? messageProblem(message)
    : `Expected a text or a message, got ${typeof message}.`
  if (problem !== undefined) throw new MessageRejectedError(threadId, problem)
  const { id, role, content, silent, metadata, attachments } = message as NewMessage
  return {
    id: id ?? newId(),
    role: role ?? 'user',
    content: content === undefined || content === '' ? null : content,
    silent: silent ?? false,
    metadata:
      metadata === undefined ? null : (JSON.parse(JSON.stringify(metadata)) as Record<string, unknown>),
    attachments: (attachments ?? []).map((attachment) => checkAttachment(threadId, attachment)),
  }
}

function messageProblem(message: Readonly<Record<string, unknown>>): string | undefined {
  const { id, role, content, silent, metadata, attachments } = message
  if (id !== undefined) {
    const problem = messageIdProblem(id) ?? halfCharacterProblem('a message id', id)
    if (problem !== undefined) return problem
  }
  if (role !== undefined && role !== 'user' && role !== 'assistant')
    return `Expected "role" to be "user" or "assistant", got ${JSON.stringify(role) ?? typeof role}.`
  if (silent !== undefined && typeof silent !== 'boolean')
    return `Expected "silent" to be true or false, got ${typeof silent}.`
  return contentProblem(content, attachments) ?? metadataProblem(metadata)
}

function contentProblem(content: unknown, attachments: unknown): string | undefined {
  if (content !== undefined && typeof content !== 'string')
    return `Expected "content" to be a text, got ${typeof content}.`
  if (attachments !== undefined && !Array.isArray(attachments))
    return `Expected "attachments" to be a list, got ${typeof attachments}.`
  const files = attachments?.length ?? 0
  if (files > LIMITS.messageAttachments)
    return `Expected at most ${LIMITS.messageAttachments} attachments, got ${files}: send several messages.`
  const bytes = utf8Length(content ?? '')
  if (bytes > LIMITS.messageBytes)
    return `Expected content of at most ${LIMITS.messageBytes} bytes, got ${bytes}: attach it as a file.`
  if (bytes === 0 && files === 0) return 'Expected "content" or "attachments", got neither.'
  return undefined
}

function metadataProblem(metadata: unknown): string | undefined {
  if (metadata === undefined) return undefined
  if (!isObject(metadata)) return `Expected "metadata" to be an object, got ${typeof metadata}.`
  let bytes: number
  try {
    bytes = utf8Length(JSON.stringify(metadata))
  } catch (error) {
    return `Expected "metadata" that JSON can carry, ${unwritableJson(error)}`
  }
  if (bytes <= LIMITS.messageBytes) return undefined
  return `Expected metadata of at most ${LIMITS.messageBytes} bytes as JSON, got ${bytes}: attach it as a file.`
}

/** @throws MessageRejectedError naming what was expected and what came */
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
      return `Expected "${side}" of attachment "${name}" to be a whole number up to ${HIGHEST_INT}, got ${cameAs(length)}.`
  }
  return undefined
}

function cameAs(value: unknown): string {
  return typeof value === 'number' ? String(value) : typeof value
}

/** The bytes of a new attachment, given as bytes or base64; a text says what is wrong with them. */
function attachmentBytes(data: unknown): Uint8Array | string {
  const bytes = typeof data === 'string' ? fromBase64(data) : data
  if (!(bytes instanceof Uint8Array)) return `Expected "data" to be bytes or base64, got ${nameOf(data)}.`
  if (bytes.length <= LIMITS.fileBytes) return bytes
  return `Expected a file of at most ${LIMITS.fileBytes} bytes, got ${bytes.length}.`
}

/** Node passes over what is not base64 and would store something else than was meant, such as of a plain text. */
function fromBase64(data: string): Uint8Array | undefined {
  const text = data.replaceAll(/[\r\n]/g, '')
  const isWhole = text.length % 4 === 0 || (!text.includes('=') && text.length % 4 !== 1)
  return isWhole && /^[\w+/-]*={0,2}$/.test(text) ? Buffer.from(text, 'base64') : undefined
}

function nameOf(data: unknown): string {
  return typeof data === 'string' ? 'a text that is no base64' : typeof data
}

/**
 * Says that an id or name has half a character, or nothing. No database and no server keeps one as it is: the row would have
 * another id than the one that was given.
 */
export function halfCharacterProblem(what: string, text: unknown): string | undefined {
  if (typeof text !== 'string' || !/\p{Surrogate}/u.test(text)) return undefined
  return `Expected ${what} of whole characters, got half of one, as slice() leaves it in the middle of an emoji.`
}

/** An attachment whose bytes are in the blob store, or that is a file of the thread. */
export type StoredAttachment =
  | Extract<GivenAttachment, { kind: 'file' }>
  | (Omit<Extract<GivenAttachment, { kind: 'new' }>, 'bytes'> & {
      readonly blob: string
      readonly size: number
    })

/** Bytes first, so that no entry ever names bytes that are not there. The same bytes are kept once. */
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

/** What an attachment adds to the digest of its message: the same whether its bytes are stored yet or not. */
export function attachmentDigest(attachment: GivenAttachment): Readonly<Record<string, string>> {
  if (attachment.kind === 'file') return { path: attachment.path }
  const bytes = createHash('sha256').update(attachment.bytes).digest('hex')
  return { name: attachment.name, mimeType: attachment.mimeType, bytes }
}

/**
 * Makes the entries of new files and finds those that are named; belongs into the transaction that stages the message.
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
        ? await existingFile(tx, threadId, attachment.path)
        : await putFile(tx, {
            ...attachment,
            threadId,
            path: await freeAttachmentPath(tx, threadId, attachment.name),
            now: microseconds(),
          })
    const description = attachment.kind === 'file' ? attachment.description : null
    placed.push({ ...attachmentRef(file), ...(description !== null && { description }) })
  }
  return placed
}

async function existingFile(tx: Writer, threadId: string, path: string): Promise<StoredFile> {
  const file = await statFile(tx, threadId, path)
  if (file !== null && !file.isDirectory) return file
  const came = file === null ? 'no such file' : 'a folder'
  throw new MessageRejectedError(
    threadId,
    `Expected the attachment ${path} to be a file of the thread, got ${came}: ` +
      'a new file is given as { name, mimeType, data }.',
  )
}
