/**
 * What `useChat` sends: its whole history, of which two things count.
 *
 * Owns: the newest message of the person and the answers in the newest message of the assistant, taken out of a request and carried out.
 * Does not own: how they are stored (`messages`, `answers`), and the stream that follows (`follow.ts`).
 *
 * Invariants: nothing else of the history is read, so a forged one has no effect; a request that is repeated has none, because the id of
 * the message is its key and an answer is taken once; what asks for another answer, or edits, makes a fork (0091). No address is fetched: a file comes as `data:`, or is one of the thread.
 */
import type { Caller } from '../../policy/approval.js'
import { MessageRejectedError, RequestNotFoundError } from '../../protocol/errors.js'
import type { NewAttachment } from '../../protocol/message.js'
import { isObject, withoutUndefined } from '../../protocol/values.js'
import { findMessage } from '../../store/messages/transcript.js'
import { findRequest } from '../../store/calls/requests.js'
import { findThread } from '../../store/threads/threads.js'
import type { Answer } from '../answers/check-answer.js'
import { respond } from '../answers/respond.js'
import { requireThread } from '../client-context.js'
import type { ClientContext } from '../client-context.js'
import { forkThread } from '../forks/fork-thread.js'
import type { ForkThread } from '../forks/fork-thread.js'
import { sendMessage } from '../messages/send-message.js'
import type { NewMessage } from '../messages/send-message.js'
import { pathOfFileUrl } from './file-urls.js'
import { followUIMessage } from './follow.js'
import type { UIStreamReading } from './follow.js'
import type { UIMessageChunk } from '../../views/ui-messages.js'

/** The body of a request of `useChat`, as it came. */
export interface UIMessagesRequest {
  readonly messages: readonly unknown[]
  readonly trigger?: string
  /** With `submit-message`: the message that the last one of `messages` takes the place of. */
  readonly messageId?: string
  /** What happens to the message while the thread works: see `send`. @default 'next_turn' where the thread can have one, else 'next_step' */
  readonly deliver?: NewMessage['deliver']
}

export interface SubmitUIMessages {
  /** Who answers requests, as your service has authenticated them. */
  readonly caller?: Caller
  /** False: an edit and `regenerate-message`, which fork the thread, are refused in the stream. @default true */
  readonly mayFork?: boolean
  /** Runs what sends the message. */
  readonly admit?: <T>(work: () => Promise<T>) => Promise<T>
}

/** What the stream is about. */
type UIStreamSubject = Parameters<typeof followUIMessage>[2]['of']

const NO_FORK =
  'Expected a new message, got an edit or "regenerate-message", which fork the thread: a token of this thread alone opens no fork.'

interface Submission extends SubmitUIMessages {
  readonly request: UIMessagesRequest
}

/**
 * Carries out a request, and tells what follows.
 * @throws MessageRejectedError for a request with nothing new; what `send` and `respond` throw
 */
export async function answerUIMessages(
  context: ClientContext,
  threadId: string,
  { signal, fileUrl, ...submission }: Submission & UIStreamReading,
): Promise<AsyncIterable<UIMessageChunk>> {
  const asked = await forkedMessage(context, threadId, submission.request)
  if (asked !== null && submission.mayFork === false) return only({ type: 'error', errorText: NO_FORK })
  if (asked !== null) {
    const { admit = (work) => work() } = submission
    const fork = await admit(() => forkThread(context, threadId, asked))
    const { threadId: id, messageId: message } = fork
    const urls = fileUrl === undefined ? {} : { fileUrl: (path: string) => fileUrl(path, id) }
    const of = message === null ? ({ current: true } as const) : { message }
    const chunks = await followUIMessage(context, id, { of, ...withoutUndefined({ signal }), ...urls })
    return behind(forkChunk(threadId, id), chunks ?? only())
  }
  const of = await submit(context, threadId, submission)
  const reading = { of, ...withoutUndefined({ signal, fileUrl }) }
  return (await followUIMessage(context, threadId, reading)) ?? only()
}

/** Tells the page where the conversation goes on. */
function forkChunk(threadId: string, id: string): UIMessageChunk {
  return { type: 'data-thread', id, data: { threadId: id, forkedFrom: threadId }, transient: true }
}

async function* behind(
  first: UIMessageChunk,
  rest: AsyncIterable<UIMessageChunk>,
): AsyncGenerator<UIMessageChunk, void> {
  yield first
  yield* rest
}

/**
 * The fork that a request asks for: another answer to the last message of the person, or an edit of one that was delivered. Null: it
 * asks for none.
 */
async function forkedMessage(
  context: ClientContext,
  threadId: string,
  { messages, trigger, messageId }: UIMessagesRequest,
): Promise<ForkThread | null> {
  const last = messages.findLast((message) => isObject(message))
  const id = last?.['role'] === 'user' && typeof last['id'] === 'string' ? last['id'] : null
  if (trigger === 'regenerate-message') return { again: true, ...(id !== null && { before: id }) }
  if (last === undefined || id === null || messageId !== id) return null
  const store = await context.store()
  const known = await store.read((db) => findMessage(db, threadId, id))
  return known?.position == null ? null : { before: id, message: readMessage(threadId, last) }
}

async function* only(...chunks: readonly UIMessageChunk[]): AsyncGenerator<UIMessageChunk, void> {
  yield* chunks
}

async function submit(
  context: ClientContext,
  threadId: string,
  { request, caller, admit = (work) => work() }: Submission,
): Promise<UIStreamSubject> {
  const { messages, deliver } = request
  const given = messages.filter((message) => isObject(message))
  const last = given.at(-1)
  const assistant = given.findLast(({ role }) => role === 'assistant')
  const isNew = last?.['role'] === 'user'
  const answers = await readAnswers(context, threadId, assistant?.['parts'])
  const answered: string[] = []
  for (const { requestId, answer } of answers) {
    try {
      await respond(context, { threadId, requestId, answer, caller })
      answered.push(requestId)
    } catch (error) {
      // An answer that comes too late must not hold the message of the person up.
      if (!isNew || !RequestNotFoundError.isInstance(error)) throw error
    }
  }
  if (isNew) {
    const message = { ...readMessage(threadId, last), ...(await deliveryTo(context, threadId, deliver)) }
    const { messageId } = await admit(() => sendMessage(context, { threadId, message }))
    return { message: messageId }
  }
  const newest = answered.at(-1)
  if (newest !== undefined) return { request: newest }
  throw new MessageRejectedError(
    threadId,
    'Expected a message of the user at the end of "messages", or an answer in the last one of the assistant, got neither.',
  )
}

async function deliveryTo(
  context: ClientContext,
  threadId: string,
  deliver: NewMessage['deliver'],
): Promise<Pick<NewMessage, 'deliver'>> {
  if (deliver !== undefined) return { deliver }
  const store = await context.store()
  const thread = await store.read((db) => findThread(db, threadId))
  return thread?.resumable === true ? { deliver: 'next_turn' } : {}
}

type Fields = Readonly<Record<string, unknown>>

/** The message of a person: its texts and files. @throws MessageRejectedError */
function readMessage(threadId: string, message: Fields): NewMessage {
  const { id, parts, metadata } = message
  const given = partsOf(parts)
  const texts = given.filter(({ type }) => type === 'text').map(({ text }) => text)
  const files = given.filter(({ type }) => type === 'file')
  if (typeof id !== 'string' || texts.some((text) => typeof text !== 'string'))
    throw new MessageRejectedError(
      threadId,
      'Expected the last message to have an id and parts of the types "text" and "file", got something else.',
    )
  return {
    ...{ id, content: texts.join('\n\n') },
    ...(files.length > 0 && { attachments: files.map((file) => readFile(threadId, file)) }),
    ...(isObject(metadata) && { metadata: metadata as Record<string, unknown> }),
  }
}

function partsOf(parts: unknown): readonly Fields[] {
  return Array.isArray(parts) ? parts.filter((part): part is Fields => isObject(part)) : []
}

const DATA_URL = /^data:([\w.+-]+\/[\w.+-]+)?(?:;[^;,]*)*?;base64,([A-Za-z0-9+/=]*)$/

function readFile(threadId: string, { url, mediaType, filename }: Fields): NewAttachment | string {
  const address = typeof url === 'string' ? url : ''
  const path = pathOfFileUrl(threadId, address)
  if (path !== null) return path
  const [whole, type, data = ''] = DATA_URL.exec(address) ?? []
  if (whole === undefined)
    throw new MessageRejectedError(
      threadId,
      'Expected a file as a data: URL in base64, or one of this thread, got another address: it is not fetched.',
    )
  const mimeType = typeof mediaType === 'string' && mediaType.includes('/') ? mediaType : type
  return {
    ...{ name: typeof filename === 'string' && filename !== '' ? filename : 'file', data },
    mimeType: mimeType ?? 'application/octet-stream',
  }
}

interface GivenAnswer {
  readonly requestId: string
  readonly answer: Answer
}

/** The answers to requests of this thread. What its history says of calls that asked for nothing is no answer. */
async function readAnswers(
  context: ClientContext,
  threadId: string,
  parts: unknown,
): Promise<readonly GivenAnswer[]> {
  const answers: GivenAnswer[] = []
  const store = await context.store()
  await store.read((db) => requireThread(db, threadId))
  for (const part of partsOf(parts)) {
    const approval = approvalIn(part)
    if (approval !== null) answers.push(approval)
    const { toolCallId: id } = part
    const isResult = part['state'] === 'output-available' || part['state'] === 'output-error'
    if (approval !== null || !isResult || typeof id !== 'string') continue
    const request = await store.read((db) => findRequest(db, threadId, id))
    if (request?.kind === 'call' && request.status === 'open')
      answers.push({ requestId: id, answer: resultIn(part) })
  }
  return answers
}

/** What `addToolApprovalResponse` has set. A call that went on since has another state. */
function approvalIn({ state, approval }: Fields): GivenAnswer | null {
  if (state !== 'approval-responded' || !isObject(approval)) return null
  const { id, approved, reason } = approval
  if (typeof id !== 'string' || typeof approved !== 'boolean') return null
  return { requestId: id, answer: { approved, ...(typeof reason === 'string' && { reason }) } }
}

/** What `addToolOutput` has set. */
function resultIn({ state, output, errorText }: Fields): Answer {
  const text = (value: unknown): string => (typeof value === 'string' ? value : (JSON.stringify(value) ?? ''))
  if (state === 'output-error') return { result: { status: 'error', error: text(errorText) } }
  return { result: { status: 'success', result: text(output) } }
}
