import { randomUUID } from 'node:crypto'
import { permissionsProblem } from '../../policy/permissions.js'
import type { Permissions } from '../../policy/permissions.js'
import {
  MessageRejectedError,
  TemporalUnavailableError,
  ThreadBusyError,
  ThreadConflictError,
  ThreadNotFoundError,
  ThreadTerminatedError,
} from '../../protocol/errors.js'
import { LIMITS } from '../../protocol/limits.js'
import { messageIdProblem } from '../../protocol/message-problems.js'
import type { AttachmentRef, Message, NewAttachment } from '../../protocol/message.js'
import { DELIVERIES, SIGNALS } from '../../protocol/messages.js'
import type { Delivery, QueuedDelivery } from '../../protocol/messages.js'
import { halfCharacterProblem, isObject, unwritableJson, utf8Length } from '../../protocol/values.js'
import type { JsonObject } from '../../protocol/values.js'
import { digestOf } from '../../store/digest.js'
import { removeFile } from '../../store/files/files.js'
import { countUndelivered, deleteWaiting, stageMessage } from '../../store/messages/message-writes.js'
import type { StageResult } from '../../store/messages/message-writes.js'
import { findMessage } from '../../store/messages/transcript.js'
import type { Reader, Store, Writer } from '../../store/store.js'
import { requireOpenThread } from '../../store/threads/open-threads.js'
import { restoreOwnState } from '../../store/threads/sessions.js'
import { openRun } from '../../store/threads/stops.js'
import { deleteWebhook } from '../../store/webhooks/webhooks.js'
import { clientSpan, inSpan } from '../../telemetry/spans.js'
import { storeStopNews } from '../client-context.js'
import type { ClientContext } from '../client-context.js'
import { forgetCommand, isRepeated, storeOnce } from '../once.js'
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
 * with the same id and content is delivered once (T3), whatever failed before. The activity in flight is also told of a message
 * that preempts, as it is told of a stop.
 */
export function sendMessage(context: ClientContext, sending: Sending): Promise<SentMessage> {
  const { threadId } = sending
  return inSpan(clientSpan('everthread.send', { threadId }), () => send(context, sending))
}

async function send(
  context: ClientContext,
  { threadId, message: given, defaultId, start }: Sending,
): Promise<SentMessage> {
  const message = checkMessage(threadId, given, () => defaultId ?? randomUUID())
  const problem = callbackProblem(context, message.callback)
  if (problem !== undefined) throw new MessageRejectedError(threadId, problem)
  const isFirst = message.id === defaultId
  const store = await context.store()
  // Checked before its files are written: a thread that accepts nothing stores no bytes either.
  await store.read(async (db) => {
    if (await isRepeated(db, context, threadId)) return
    if ((await findMessage(db, threadId, message.id)) === null)
      await requireDeliverable(db, threadId, message)
  })
  const attachments = await storeBytes(store, message.attachments)
  const cursor = message.callback === undefined ? '' : (await store.readEventEnds()).settled
  const content = contentOf(message)
  const accepting = { threadId, message, content, attachments, isFirst, cursor, secrets: store.secrets }
  const { answer, state, run } = await store.write((tx) => acceptOnce(tx, context, accepting))
  const { messageId } = answer
  if (state !== 'delivered')
    await announce(context, threadId, {
      message: { ...message, id: messageId },
      isNew: state === 'new',
      start,
    })
  if (run !== null) await storeStopNews(context, { threadId, run })
  return answer
}

/** Accepts the message, or finds the one that its key has brought before. */
async function acceptOnce(
  tx: Writer,
  context: ClientContext,
  accepting: Accepting,
): Promise<Accepted & { readonly answer: SentMessage }> {
  const { threadId, message, content } = accepting
  let accepted: Accepted | undefined
  const { answer } = await storeOnce(tx, context, {
    ...{ threadId, name: 'send', content },
    store: async (): Promise<SentMessage> => {
      const busy = await readBusy(tx, threadId)
      accepted = await accept(tx, accepting, busy)
      const { callback, id: messageId } = message
      if (callback !== undefined && accepted.state === 'new')
        await insertCallback(tx, accepting.secrets, {
          threadId,
          messageId,
          callback,
          cursor: accepting.cursor,
        })
      return { messageId: message.id, status: isBusy(busy) ? 'queued' : 'accepted' }
    },
  })
  // The run that a repeated one preempts was told of it, or ends by the signal.
  const known = accepted ?? { state: stateOf(await findMessage(tx, threadId, answer.messageId)), run: null }
  return { ...known, answer }
}

/** A message that was accepted: nothing loses it any more. */
export interface SentMessage {
  readonly messageId: string
  /** `queued`: the thread worked, or something waited before it. A repetition without a key says what holds then. */
  readonly status: 'accepted' | 'queued'
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
    const deliver = queuedDelivery(message)
    const input = { messageId: message.id, role: message.role, ...(deliver !== undefined && { deliver }) }
    await signalThread(context, threadId, { name: SIGNALS.queueMessage, input }, start)
  } catch (error) {
    const store = await context.store()
    if (isNew && MessageRejectedError.isInstance(error))
      await store.write(async (tx) => {
        await forgetCommand(tx, context, threadId)
        await withdrawMessage(tx, threadId, message)
      })
    if (!TemporalUnavailableError.isInstance(error)) throw error
    const { address, problem, cause } = error
    throw new TemporalUnavailableError(threadId, { address, problem, messageId: message.id }, cause)
  }
}

interface Accepting {
  readonly threadId: string
  readonly message: CheckedMessage
  /** What makes it the same message when it comes again. */
  readonly content: JsonObject
  readonly attachments: readonly StoredAttachment[]
  /** The message of a `create` that gave it no id. */
  readonly isFirst: boolean
  /** The end of the log before it, from which its callback reads; empty without one. */
  readonly cursor: string
  readonly secrets: Store['secrets']
}

interface Accepted {
  readonly state: 'new' | 'waiting' | 'delivered'
  /** The run that it ends. */
  readonly run: number | null
}

/** Stages the message, and returns what has become of it so far. An error here rolls back the files too. */
async function accept(
  tx: Writer,
  { threadId, message, content, attachments, isFirst }: Accepting,
  busy: Busy,
): Promise<Accepted> {
  const known = await findMessage(tx, threadId, message.id)
  if (known === null) await requireDeliverable(tx, threadId, message, busy)
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
    deliver: queuedDelivery(message),
    digest: digestOf(content),
    brings: message.runPermissions === undefined ? undefined : { permissions: message.runPermissions },
  })
  requireStaged(result, { threadId, messageId: message.id, isFirst })
  const state = known === null ? 'new' : stateOf(known)
  const preempts = state !== 'delivered' && message.deliver === 'preempt'
  return { state, run: preempts ? busy.run : null }
}

/**
 * @throws ThreadNotFoundError or ThreadTerminatedError; ThreadBusyError for a message that only an idle thread takes;
 * MessageRejectedError for one that wants another run of a thread with one run
 */
async function requireDeliverable(
  db: Reader,
  threadId: string,
  message: Pick<CheckedMessage, 'deliver'>,
  known?: Busy,
): Promise<void> {
  const { resumable } = await requireOpenThread(db, threadId)
  if (message.deliver === 'reject' && isBusy(known ?? (await readBusy(db, threadId))))
    throw new ThreadBusyError(threadId)
  if (resumable || queuedDelivery(message) === undefined) return
  const problem = `Expected a thread that goes on after its session for "deliver", got "${threadId}", which closes then: send the message without it.`
  throw new MessageRejectedError(threadId, problem)
}

/** What a thread works on, or has waiting. */
interface Busy {
  readonly run: number | null
  /** Not looked for while a run goes on. */
  readonly waiting: number
}

async function readBusy(db: Reader, threadId: string): Promise<Busy> {
  const run = await openRun(db, threadId)
  return { run, waiting: run === null ? await countUndelivered(db, threadId) : 0 }
}

function isBusy({ run, waiting }: Busy): boolean {
  return run !== null || waiting > 0
}

/** What its item says about its delivery; undefined for the usual one. */
function queuedDelivery({ deliver }: Pick<CheckedMessage, 'deliver'>): QueuedDelivery | undefined {
  return deliver === 'next_turn' || deliver === 'preempt' ? deliver : undefined
}

/** Of a message that was sent before. */
function stateOf(message: Message | null): Exclude<Accepted['state'], 'new'> {
  return message?.position === null && message.status === 'pending' ? 'waiting' : 'delivered'
}

function contentOf(message: CheckedMessage): JsonObject {
  const { role, content, silent, metadata, attachments, runPermissions, deliver, callback } = message
  // The check has made it JSON.
  return {
    role,
    content,
    silent,
    metadata: metadata as JsonObject | null,
    attachments: attachments.map(attachmentDigest),
    ...(runPermissions !== undefined && { runPermissions: runPermissions as JsonObject }),
    ...(deliver !== undefined && deliver !== 'next_step' && { deliver }),
    ...(callback !== undefined && { callback: { url: callback.url, secret: callback.secret } }),
  }
}

/** Deletes a staged message that is never signalled, and the files that came with it. */
async function withdrawMessage(tx: Writer, threadId: string, given: CheckedMessage): Promise<void> {
  const message = await findMessage(tx, threadId, given.id)
  if (message === null || message.position !== null || message.status !== 'pending') return
  await deleteWaiting(tx, threadId, given.id)
  await restoreOwnState(tx, threadId)
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
  /**
   * What happens while the thread works or has something waiting. `next_step`: it joins the run before its next model call.
   * `next_turn`: it begins a run of its own, and what is sent behind it waits, too. `preempt`: it goes before everything that waits, the
   * run ends as `preempted`, and a new one begins with it. `reject`: ThreadBusyError. @default 'next_step'
   */
  readonly deliver?: Delivery | 'reject'
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
  readonly deliver?: Delivery | 'reject'
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
  const { id, role, content, silent, metadata, attachments, runPermissions, deliver, callback } =
    message as NewMessage
  return {
    id: id ?? newId(),
    role: role ?? 'user',
    content: content === undefined || content === '' ? null : content,
    silent: silent ?? false,
    metadata:
      metadata === undefined ? null : (JSON.parse(JSON.stringify(metadata)) as Record<string, unknown>),
    attachments: (attachments ?? []).map((attachment) => checkAttachment(threadId, attachment)),
    ...(runPermissions !== undefined && { runPermissions }),
    ...(deliver !== undefined && { deliver }),
    ...(callback !== undefined && { callback }),
  }
}

function messageProblem(message: Readonly<Record<string, unknown>>): string | undefined {
  const { id, role, content, silent, metadata, attachments, runPermissions, deliver } = message
  if (id !== undefined) {
    const problem = messageIdProblem(id) ?? halfCharacterProblem('a message id', id)
    if (problem !== undefined) return problem
  }
  if (role !== undefined && role !== 'user' && role !== 'assistant')
    return `Expected "role" to be "user" or "assistant", got ${JSON.stringify(role) ?? typeof role}.`
  if (silent !== undefined && typeof silent !== 'boolean')
    return `Expected "silent" to be true or false, got ${typeof silent}.`
  const modes: readonly unknown[] = [undefined, ...DELIVERIES, 'reject']
  if (!modes.includes(deliver))
    return `Expected "deliver" to be one of ${modes.slice(1).join(', ')}, got ${JSON.stringify(deliver) ?? typeof deliver}.`
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
