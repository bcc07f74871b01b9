/**
 * The stream of a message of the AI SDK: which run it is of, where in the log it begins, and when it ends.
 *
 * Owns: the run that answers a message, or goes on after an answer; the pause while a person is asked; the end. Does not own: the chunks
 * (`views/ui-message-stream.ts`) and the events (`events/follow-events.ts`).
 *
 * Invariants: a stream tells of a run from its `start` on, from the log, so a reader that was cut off begins again and misses nothing; a
 * stream that goes on after an answer tells what came behind the request, and nothing twice.
 */
import { ConfigError } from '../../protocol/errors.js'
import { isRunEnd } from '../../protocol/facts.js'
import type { ThreadEvent } from '../../protocol/events.js'
import { runIdOf } from '../../protocol/ids.js'
import { findRequest, listOpenRequests } from '../../store/calls/requests.js'
import { findToolCall } from '../../store/calls/tool-calls.js'
import { lastSequence, readEvents } from '../../store/events.js'
import { readShownMessages } from '../../store/messages/shown-messages.js'
import { findMessage, findMessageWithEnd } from '../../store/messages/transcript.js'
import type { Reader, Store } from '../../store/store.js'
import { lastRun } from '../../store/threads/runs.js'
import type { UIMessageChunk } from '../../views/ui-messages.js'
import { pauseChunks, uiMessageStreamView } from '../../views/ui-message-stream.js'
import type { UIStreamOptions } from '../../views/ui-message-stream.js'
import { requireThread } from '../client-context.js'
import type { ClientContext } from '../client-context.js'
import { withoutSecrets } from '../events/event-page.js'
import { followEvents, parsePosition } from '../events/follow-events.js'
import { runNumber } from '../reads/run-result.js'
import { fileUrlsOf } from './file-urls.js'

/** What a stream is about: the answer to a message, what follows the answer to a request, or what goes on now. */
type UIStreamSubject =
  | { readonly message: string }
  | { readonly request: string }
  /** `after`: the cursor of a transcript; then a run that has ended since is told, too. */
  | { readonly current: true; readonly after?: string }

/** How a stream is read. */
export interface UIStreamReading extends Partial<UIStreamOptions> {
  /** Ends the stream, without an error. */
  readonly signal?: AbortSignal
}

/**
 * Opens the stream; null: nothing goes on, and nothing has changed.
 * @throws ThreadNotFoundError; ConfigError for a cursor that is none, or ahead of the log
 */
export async function followUIMessage(
  context: ClientContext,
  threadId: string,
  { of, signal, fileUrl = fileUrlsOf(threadId) }: UIStreamReading & { readonly of: UIStreamSubject },
): Promise<AsyncIterable<UIMessageChunk> | null> {
  const store = await context.store()
  const following: Following = { context, threadId, fileUrl, signal }
  await store.read((db) => requireThread(db, threadId))
  if ('message' in of) return answersTo(following, [of.message])
  if ('request' in of) {
    const run = await store.read((db) => runOfRequest(db, threadId, of.request))
    return run === null ? null : followRun(following, run, of.request)
  }
  const { run, queued } = await store.read((db) => readCurrent(db, threadId, of.after))
  return run === null && queued.length === 0 ? null : followCurrent(following, run, queued)
}

interface Following {
  readonly context: ClientContext
  readonly threadId: string
  readonly fileUrl: UIStreamOptions['fileUrl']
  readonly signal: AbortSignal | undefined
}

interface Current {
  /** The number of the run to tell of. */
  readonly run: number | null
  /** The messages that wait. */
  readonly queued: readonly string[]
}

async function readCurrent(db: Reader, threadId: string, after: string | undefined): Promise<Current> {
  const seen = after === undefined ? Infinity : parsePosition(after).sequence
  const last = await lastSequence(db, threadId)
  if (after !== undefined && seen > last)
    throw new ConfigError([
      `Expected "after" to be the cursor of a transcript of this thread, got one that is ahead of it: load the messages again.`,
    ])
  const { rows } = await readShownMessages(db, { threadId, before: undefined, limit: 1 })
  const queued = rows.filter(({ message }) => message.position === null).map(({ message }) => message.id)
  const run = await lastRun(db, threadId)
  if (run === null) return { run: null, queued }
  const isOver = run.ended_at !== null && seen >= (await placesOf(db, threadId, run.number)).end
  return { run: isOver ? null : run.number, queued }
}

async function* followCurrent(
  following: Following,
  run: number | null,
  queued: readonly string[],
): AsyncGenerator<UIMessageChunk, void, undefined> {
  if (run !== null) yield* followRun(following, run)
  yield* answersTo(following, queued, run)
}

/** Tells of the runs that take these messages, each once. Ends where a person is asked first. */
async function* answersTo(
  following: Following,
  messageIds: readonly string[],
  told: number | null = null,
): AsyncGenerator<UIMessageChunk, void, undefined> {
  let last = told
  for (const messageId of messageIds) {
    const run = await runOfMessage(following, messageId)
    if (following.signal?.aborted === true) return
    if (run === null || run === last) continue
    yield* followRun(following, run)
    last = run
  }
}

/** Waits for the run that takes a message; null: none will, or a person has to answer before. */
async function runOfMessage(following: Following, messageId: string): Promise<number | null> {
  const { context, threadId, signal } = following
  const store = await context.store()
  const { place, found, isAsking } = await store.read(async (db) => ({
    place: await lastSequence(db, threadId),
    found: await findMessageWithEnd(db, threadId, messageId),
    isAsking: (await listOpenRequests(db, { threadId, limit: 100 })).some(isBlocking),
  }))
  if (found === null || found.run !== null) return found?.run ?? null
  if (found.message.status !== 'pending' || isAsking) return null
  for await (const event of followEvents(context, threadId, { after: place, ...withSignal(signal) })) {
    const isOfMessage = event.messageId === messageId
    if (isOfMessage && event.type === 'message.created') return runNumber(threadId, event.runId ?? '') ?? null
    if (isOfMessage && event.type === 'message.ended') return null
    if (isQuestion(event)) return null
  }
  return null
}

function withSignal(signal: AbortSignal | undefined): { readonly signal?: AbortSignal } {
  return signal === undefined ? {} : { signal }
}

/** Whether the run waits for the answer. A subagent may lack variables while its parent goes on. */
function isBlocking({ kind, detail }: { readonly kind: string; readonly detail: object | null }): boolean {
  return kind !== 'variables' || !('child' in (detail ?? {}))
}

function isQuestion(event: ThreadEvent): event is Extract<ThreadEvent, { readonly type: 'action.required' }> {
  return event.type === 'action.required' && event.childId === undefined
}

async function runOfRequest(db: Reader, threadId: string, requestId: string): Promise<number | null> {
  const request = await findRequest(db, threadId, requestId)
  const call = request?.call_id == null ? null : await findToolCall(db, threadId, request.call_id)
  return call?.run ?? (await lastRun(db, threadId))?.number ?? null
}

const LOOK = 500

/** Where a run begins in the log, and where it ends; Infinity: it has not. It reads backwards, so the newest run is found soon. */
async function placesOf(
  db: Reader,
  threadId: string,
  run: number,
): Promise<{ readonly begin: number; readonly end: number }> {
  let end = Infinity
  for (let until = await lastSequence(db, threadId); until > 0; until -= LOOK) {
    const after = Math.max(0, until - LOOK)
    const events = await readEvents(db, { threadId, after, limit: until - after })
    for (const { type, scope, sequence } of events.toReversed()) {
      if (scope.runId !== runIdOf(run)) continue
      if (isRunEnd(type)) end = sequence
      if (type === 'run.started') return { begin: sequence, end }
    }
  }
  return { begin: 0, end }
}

/** Tells of a run from its start on, or of what came behind one of its requests, until it ends or asks a person. */
async function* followRun(
  following: Following,
  run: number,
  behind?: string,
): AsyncGenerator<UIMessageChunk, void, undefined> {
  const { context, threadId, fileUrl, signal } = following
  const store = await context.store()
  const { begin } = await store.read((db) => placesOf(db, threadId, run))
  const view = uiMessageStreamView({ fileUrl })
  let state = view.begin
  let isShown = behind === undefined
  for await (const event of followEvents(context, threadId, {
    after: Math.max(0, begin - 1),
    ...withSignal(signal),
  })) {
    const [next, items] = view.take(state, await makeWhole(store, threadId, event))
    state = next
    const chunks = items.filter((item) => item.type !== 'user-message')
    if (isShown) yield* chunks
    if (isRunEnd(event.type) && event.runId === runIdOf(run)) return
    if (!isQuestion(event)) continue
    if (event.payload.requestId === behind && !isShown) {
      isShown = true
      yield { type: 'start', messageId: runIdOf(run) }
    } else if (isShown && (await isOpen(following, event.payload.requestId))) return yield* pauseChunks(state)
  }
}

async function isOpen({ context, threadId }: Following, requestId: string): Promise<boolean> {
  const store = await context.store()
  const request = await store.read((db) => findRequest(db, threadId, requestId))
  return request?.status === 'open'
}

/** The event with all of its texts: those of the log are shortened. */
export async function makeWhole(store: Store, threadId: string, event: ThreadEvent): Promise<ThreadEvent> {
  const { type, payload, messageId = '', toolCallId = '' } = event
  if (!('truncated' in payload) || !payload.truncated) return event
  if (type === 'message.created' || type === 'tool.result') {
    const message = await store.read((db) => findMessage(db, threadId, messageId))
    const whole = type === 'tool.result' ? { preview: message?.content ?? null } : { message }
    return { ...event, payload: { ...payload, ...whole } } as ThreadEvent
  }
  const call = await store.read((db) => findToolCall(db, threadId, toolCallId))
  if (call === null) return event
  return { ...event, payload: { ...payload, preview: withoutSecrets(call.arguments) } } as ThreadEvent
}
