import { randomUUID } from 'node:crypto'
import { permissionsProblem } from '../../policy/permissions.js'
import type { Permissions } from '../../policy/permissions.js'
import {
  MessageRejectedError,
  TemporalUnavailableError,
  ThreadConflictError,
  ThreadNotFoundError,
  ThreadTerminatedError,
} from '../../protocol/errors.js'
import { LIMITS } from '../../protocol/limits.js'
import { messageIdProblem } from '../../protocol/message-problems.js'
import type { AttachmentRef, Message, NewAttachment } from '../../protocol/message.js'
import { SIGNALS } from '../../protocol/messages.js'
import { isObject, unwritableJson, utf8Length } from '../../protocol/values.js'
import type { JsonObject } from '../../protocol/values.js'
import { digestOf } from '../../store/digest.js'
import { removeFile } from '../../store/files/files.js'
import { deleteWaiting, stageMessage } from '../../store/messages/message-writes.js'
import type { StageResult } from '../../store/messages/message-writes.js'
import { findMessage } from '../../store/messages/transcript.js'
import type { Writer } from '../../store/store.js'
import { deleteWebhook } from '../../store/webhooks/webhooks.js'
import { clientSpan, inSpan } from '../../telemetry/spans.js'
import { requireOpenThread } from '../client-context.js'
import type { ClientContext } from '../client-context.js'
import { signalThread } from '../thread-workflow.js'
import { callbackIdOf, callbackProblem, insertCallback } from '../webhooks/callback.js'
import type { MessageCallback } from '../webhooks/callback.js'
import type { NewThreadStart } from '../thread-workflow.js'
import { attachmentDigest, checkAttachment, placeAttachments, storeBytes } from './attachments.js'
import type { GivenAttachment, StoredAttachment } from './attachments.js'
import { nowMicros } from '../../protocol/time.js'

interface Sending {
  readonly threadId: string
  readonly message: string | NewMessage
  /** @default a UUID */
  readonly defaultId?: string
  /** The thread may be new: its workflow starts with the message. */
  readonly start?: NewThreadStart
}

/**
 * The only path of a message: its row first (T2), then a signal with nothing but its id (T5). A message that is sent again
 * with the same id and content is delivered once (T3), whatever failed before.
 */
export function sendMessage(context: ClientContext, sending: Sending): Promise<{ messageId: string }> {
  const { threadId } = sending
  return inSpan(clientSpan('everthread.send', { threadId }), () => send(context, sending))
}

async function send(
  context: ClientContext,
  { threadId, message: given, defaultId, start }: Sending,
): Promise<{ messageId: string }> {
  const message = checkMessage(threadId, given, () => defaultId ?? randomUUID())
  const problem = callbackProblem(context, message.callback)
  if (problem !== undefined) throw new MessageRejectedError(threadId, problem)
  const digest = digestOf(contentOf(message))
  const isFirst = message.id === defaultId
  const store = await context.store()
  // Checked before its files are written: a thread that accepts nothing stores no bytes either.
  await store.read(async (db) => {
    if ((await findMessage(db, threadId, message.id)) === null) await requireOpenThread(db, threadId)
  })
  const attachments = await storeBytes(store, message.attachments)
  const { callback } = message
  const cursor = callback === undefined ? '' : (await store.readEventEnds()).settled
  const accepted = await store.write(async (tx) => {
    const outcome = await accept(tx, { threadId, message, attachments, digest, isFirst })
    if (callback !== undefined && outcome === 'new')
      await insertCallback(tx, store.secrets, { threadId, messageId: message.id, callback, cursor })
    return outcome
  })
  if (accepted !== 'delivered')
    await announce(context, threadId, { message, isNew: accepted === 'new', start })
  return { messageId: message.id }
}

interface Announcement {
  readonly message: CheckedMessage
  readonly isNew: boolean
  readonly start: NewThreadStart | undefined
}

/**
 * Signals the id to the workflow. A message that is refused for good was not accepted: it is withdrawn, unless it was sent
 * before, because that attempt may have been acknowledged (T3).
 */
async function announce(
  context: ClientContext,
  threadId: string,
  { message, isNew, start }: Announcement,
): Promise<void> {
  try {
    const input = { messageId: message.id, role: message.role }
    await signalThread(context, threadId, { name: SIGNALS.queueMessage, input }, start)
  } catch (error) {
    const store = await context.store()
    if (isNew && MessageRejectedError.isInstance(error))
      await store.write((tx) => withdrawMessage(tx, threadId, message))
    if (!TemporalUnavailableError.isInstance(error)) throw error
    const { address, problem, cause } = error
    throw new TemporalUnavailableError(threadId, { address, problem, messageId: message.id }, cause)
  }
}

interface Accepting {
  readonly threadId: string
  readonly message: CheckedMessage
  readonly attachments: readonly StoredAttachment[]
  readonly digest: string
  /** The message of a `create` that gave it no id. */
  readonly isFirst: boolean
}

/** Stages the message, and returns what has become of it so far. An error here rolls back the files too. */
async function accept(
  tx: Writer,
  { threadId, message, attachments, digest, isFirst }: Accepting,
): Promise<'new' | 'waiting' | 'delivered'> {
  const known = await findMessage(tx, threadId, message.id)
  if (known === null) await requireOpenThread(tx, threadId)
  const result = await stageMessage(tx, {
    id: message.id,
    threadId,
    role: message.role,
    content: message.content,
    silent: message.silent,
    metadata: message.metadata,
    attachments: known === null ? await placeAttachments(tx, threadId, attachments) : [],
    createdAt: nowMicros(),
    sentBy: 'client',
    digest,
    brings: message.runPermissions === undefined ? undefined : { permissions: message.runPermissions },
  })
  requireStaged(result, { threadId, messageId: message.id, isFirst })
  if (known === null) return 'new'
  return isWaiting(known) ? 'waiting' : 'delivered'
}

function isWaiting(message: Message): boolean {
  return message.position === null && message.status === 'pending'
}

function contentOf(message: CheckedMessage): JsonObject {
  const { role, content, silent, metadata, attachments, runPermissions } = message
  // The check has made it JSON.
  return {
    role,
    content,
    silent,
    metadata: metadata as JsonObject | null,
    attachments: attachments.map(attachmentDigest),
    ...(runPermissions !== undefined && { runPermissions: runPermissions as JsonObject }),
  }
}

/** Deletes a staged message that is never signalled, and the files that came with it. */
async function withdrawMessage(tx: Writer, threadId: string, given: CheckedMessage): Promise<void> {
  const message = await findMessage(tx, threadId, given.id)
  if (message === null || message.position !== null || message.status !== 'pending') return
  await deleteWaiting(tx, threadId, given.id)
  if (given.callback !== undefined) await deleteWebhook(tx, callbackIdOf(threadId, given.id))
  for (const [index, { path }] of message.attachments.entries())
    if (given.attachments[index]?.kind === 'new') await removeFile(tx, threadId, path)
}

/** A message or a tool call that was to be staged. */
type Staged = { readonly threadId: string } & (
  | {
      readonly messageId: string
      /** True when its id was derived from the thread's. */ readonly isFirst?: boolean
    }
  /** `id` is the one that the caller gave. */
  | { readonly toolCallId: string; readonly id: string }
)

/** @throws ThreadConflictError, ThreadTerminatedError, ThreadNotFoundError or MessageRejectedError if nothing was accepted */
export function requireStaged(result: StageResult, staged: Staged): void {
  const { threadId } = staged
  if (result === 'conflict')
    throw new ThreadConflictError(threadId, {
      problem: conflictProblem(staged),
      ...('messageId' in staged && { messageId: staged.messageId }),
    })
  if (result === 'terminated') throw new ThreadTerminatedError(threadId, 'terminated')
  if (result === 'missing_thread') throw new ThreadNotFoundError(threadId)
  if (result === 'queue_full') {
    const problem = `Expected at most ${LIMITS.queuedItems} queued messages, got another one: wait until some are delivered.`
    throw new MessageRejectedError(threadId, problem)
  }
}

/** Names the id that the caller gave: for a first message this is the id of the thread, because its own was derived. */
function conflictProblem(staged: Staged): string {
  if ('messageId' in staged && staged.isFirst === true)
    return (
      `Expected thread id "${staged.threadId}" to be new or to come with the same first message, got another message: ` +
      'use another id, or send the message to the thread that is there.'
    )
  const named = 'messageId' in staged ? `message id "${staged.messageId}"` : `tool call id "${staged.id}"`
  return `Expected ${named} to be new, got other content under it before: use another id.`
}

/** A message to a thread: text, files, or both. */
export interface NewMessage {
  readonly content?: string
  /** New files, or files of this thread by their path. */
  readonly attachments?: readonly (NewAttachment | AttachmentRef | string)[]
  /** @default 'user' */
  readonly role?: 'user' | 'assistant'
  /** Whether it is in the model's context and hidden from the user's transcript. @default false */
  readonly silent?: boolean
  readonly metadata?: Record<string, unknown>
  /**
   * Rules for the run that it begins or joins, and for all that this run starts: they can make those of the thread stricter, and
   * never weaker. The next run does not have them.
   */
  readonly runPermissions?: Permissions
  /** Once the message has come to its end, and the run that took it too, the result of that run is posted there. */
  readonly callback?: MessageCallback
  /** Its idempotency key in this thread, for ever: a message that is sent again is delivered once. @default a UUID */
  readonly id?: string
}

/** A message whose fields are all validated. */
interface CheckedMessage {
  readonly id: string
  readonly role: 'user' | 'assistant'
  readonly content: string | null
  readonly silent: boolean
  /** As it is stored: values that JSON cannot carry are dropped. */
  readonly metadata: Record<string, unknown> | null
  readonly attachments: readonly GivenAttachment[]
  readonly runPermissions?: Permissions
  readonly callback?: MessageCallback
}

/** Validates a message. @throws MessageRejectedError that names what was expected and what was given */
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
  const { id, role, content, silent, metadata, attachments, runPermissions, callback } = message as NewMessage
  return {
    id: id ?? newId(),
    role: role ?? 'user',
    content: content === undefined || content === '' ? null : content,
    silent: silent ?? false,
    metadata:
      metadata === undefined ? null : (JSON.parse(JSON.stringify(metadata)) as Record<string, unknown>),
    attachments: (attachments ?? []).map((attachment) => checkAttachment(threadId, attachment)),
    ...(runPermissions !== undefined && { runPermissions }),
    ...(callback !== undefined && { callback }),
  }
}

function messageProblem(message: Readonly<Record<string, unknown>>): string | undefined {
  const { id, role, content, silent, metadata, attachments, runPermissions } = message
  if (id !== undefined) {
    const problem = messageIdProblem(id) ?? halfCharacterProblem('a message id', id)
    if (problem !== undefined) return problem
  }
  if (role !== undefined && role !== 'user' && role !== 'assistant')
    return `Expected "role" to be "user" or "assistant", got ${JSON.stringify(role) ?? typeof role}.`
  if (silent !== undefined && typeof silent !== 'boolean')
    return `Expected "silent" to be true or false, got ${typeof silent}.`
  return contentProblem(content, attachments) ?? metadataProblem(metadata) ?? rulesProblem(runPermissions)
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

function rulesProblem(runPermissions: unknown): string | undefined {
  const problem = permissionsProblem(runPermissions)
  return problem === undefined ? undefined : `runPermissions: ${problem}.`
}

/**
 * Refuses half a character (a lone surrogate) in an id or name. No database and no server keeps it unchanged: the row would
 * have another id than the one that was given.
 */
export function halfCharacterProblem(what: string, text: unknown): string | undefined {
  if (typeof text !== 'string' || !/\p{Surrogate}/u.test(text)) return undefined
  return `Expected ${what} of whole characters, got half of one, as slice() leaves it in the middle of an emoji.`
}
