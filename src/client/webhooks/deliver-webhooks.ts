/**
 * Posts the events of webhooks.
 *
 * Owns: when a webhook is delivered, retried and paused. Does not own: its rows and its lease (`src/store/webhooks`), the order of
 * events (`readAllEvents`), and the check of addresses (`src/egress`).
 * Invariants: an event is posted after the one before it was accepted, so the order of each thread holds (W1); the position moves
 * behind an event only once it was accepted, so each is posted at least once (W2); what is posted twice has the same id (W3).
 */
import { randomUUID } from 'node:crypto'
import { setTimeout as sleep } from 'node:timers/promises'
import { EgressError, guardedRequest } from '../../egress/guarded-request.js'
import type { Resolve } from '../../egress/guarded-request.js'
import { ConfigError } from '../../protocol/errors.js'
import { toMicros, toMillisAfter } from '../../protocol/time.js'
import type { Millis } from '../../protocol/time.js'
import { ANY_THREAD, countChanges } from '../../store/changes.js'
import { findMessageWithEnd } from '../../store/messages/transcript.js'
import { StoreError } from '../../store/store-error.js'
import type { EventOfThread, ReadAllEvents, Store } from '../../store/store.js'
import { findRun } from '../../store/threads/runs.js'
import {
  deleteHeld,
  listDelivered,
  moveWebhook,
  openWebhookSecret,
  takeWebhook,
} from '../../store/webhooks/webhooks.js'
import type { WebhookLease, WebhookProgress, WebhookRecord } from '../../store/webhooks/webhooks.js'
import { requireThread } from '../client-context.js'
import type { ClientContext } from '../client-context.js'
import { joinStored } from '../events/event-page.js'
import { readMessage } from '../messages/read-message.js'
import { readRunResult } from '../reads/run-result.js'
import { messageIdOf, signedHeaders } from './signature.js'

/** How long `deliver` goes on. */
export interface DeliverWebhooks {
  /** Its abort ends the delivery, behind the requests in flight, for which it waits 5 seconds. */
  readonly signal: AbortSignal
}

const SECOND = 1_000
const MINUTE = 60 * SECOND
const HOUR = 60 * MINUTE

/** In milliseconds. */
export const TIMES = {
  /** Between two looks for webhooks, which also find a change whose notification was lost. */
  look: 5 * SECOND,
  /** Changes of this time share a look: text that streams is written a hundred times a second. */
  gather: 100,
  /** Until the next look, where the order of the newest events is not settled. */
  settle: 50,
  /** For the whole answer of a receiver. */
  answer: 15 * SECOND,
  /** How long a request in flight may take when the delivery ends. */
  grace: 5 * SECOND,
  /** Twice the time of an answer and more: a holder renews it before each request that would end later. */
  lease: 60 * SECOND,
  /** How much may be posted again after a crash. */
  keep: SECOND,
  /** The pause after the first failure; each later one is twice as long. */
  firstPause: SECOND,
  longestPause: 5 * MINUTE,
  /** The longest pause that a receiver may ask for. */
  longestRetryAfter: HOUR,
  /** A webhook that has failed for so long is paused. */
  pause: 3 * 24 * HOUR,
} as const

/** Webhooks that one process delivers at a time: a slow receiver takes one place for the time of its answer. */
const AT_A_TIME = 50
const ROWS = 100
/** Rows of others that a webhook moves over before it stores its position. */
const SKIPPED_ROWS = 1_000
/** What is read of an answer; nothing of it is kept. */
const ANSWER_BYTES = 4 * 1024

/** What a test replaces. */
export interface DeliveryWorld {
  readonly now: () => Millis
  readonly times: { readonly [Name in keyof typeof TIMES]: number }
  readonly resolve?: Resolve
}

const WORLD: DeliveryWorld = { now: () => Date.now(), times: TIMES }

/** Delivers until the signal aborts. A store that does not answer is asked again. */
export async function deliverWebhooks(
  context: ClientContext,
  { signal }: DeliverWebhooks,
  world: Partial<DeliveryWorld> = {},
): Promise<void> {
  const { look, gather } = { ...WORLD, ...world }.times
  const delivery = createDelivery(context, signal, { ...WORLD, ...world })
  while (!signal.aborted) {
    let next = look
    try {
      next = Math.min(look, await delivery.begin())
    } catch (error) {
      if (StoreError.isInstance(error) && error.code === 'closed') break
      warnOfFailure(error)
    }
    await delivery.waitForChange(next)
    // Aborts at once.
    await sleep(gather, undefined, { signal }).catch(() => undefined)
  }
  await delivery.end()
}

interface Delivery {
  /** Begins to deliver each webhook that is due and is not delivered already. Returns the milliseconds until another one is due. */
  begin(): Promise<number>
  /** Returns after a change, or when the time is over, or the signal aborts. */
  waitForChange(longest: number): Promise<void>
  /** Waits for the requests in flight. */
  end(): Promise<void>
}

/** The deliveries of one process. */
export function createDelivery(context: ClientContext, signal: AbortSignal, world: DeliveryWorld): Delivery {
  const running = new Map<string, Promise<void>>()
  /** How far webhooks have moved over events of others, from the stored position. */
  const moved = new Map<string, Moved>()
  const changes = countChanges()
  const late = new AbortController()
  const rested = createRested()
  let [seen, isCrowded] = [0, false]
  const watch = createWatch(() => {
    rested.commit()
    changes.add()
  })
  const close = (): void => {
    changes.add()
    setTimeout(() => late.abort(), world.times.grace).unref()
  }
  signal.addEventListener('abort', close, { once: true })

  // Where there are more than places, those with something to deliver get them.
  const isResting = ({ id }: WebhookRecord, all: number): boolean => all > AT_A_TIME && rested.has(id)

  function start(store: Store, webhook: WebhookRecord): void {
    const before = changes.version
    const rests = rested.begin(webhook.id)
    const delivering = deliver({ context, store, signal, late: late.signal, world }, webhook, moved).then(
      (end) => {
        if (end === 'unsettled') setTimeout(changes.add, world.times.settle).unref()
        if (end === 'failed') changes.add()
        if (end === 'settled') rests()
      },
      warnOfFailure,
    )
    const over = delivering.finally(() => {
      running.delete(webhook.id)
      // What was committed meanwhile may not have been read.
      if (changes.version !== before || isCrowded) changes.add()
    })
    running.set(webhook.id, over)
  }

  return {
    async begin() {
      seen = changes.version
      const store = await context.store()
      const webhooks = await store.read(listDelivered)
      watch(store, webhooks.length > 0)
      const waits = (webhook: WebhookRecord): number => waitOf(webhook, world)
      const due = webhooks.filter(
        (webhook) => !running.has(webhook.id) && waits(webhook) <= 0 && !isResting(webhook, webhooks.length),
      )
      const places = Math.max(0, AT_A_TIME - running.size)
      isCrowded = due.length > places
      for (const webhook of shuffled(due).slice(0, places)) start(store, webhook)
      return Math.min(...webhooks.map(waits).filter((wait) => wait > 0), Infinity)
    },
    async waitForChange(longest) {
      if (signal.aborted) return
      await changes.wait(seen, longest)
      // Nothing was told for as long: all are looked at again.
      if (changes.version === seen) rested.clear()
    },
    async end() {
      watch(null, false)
      await Promise.all(running.values())
    },
  }
}

/** Milliseconds until it is tried again. */
function waitOf({ next_attempt_at: next }: WebhookRecord, world: DeliveryWorld): number {
  return next === null ? 0 : toMillisAfter(next) - world.now()
}

/** Watches all threads while there is something to deliver. */
function createWatch(onCommit: () => void): (store: Store | null, isNeeded: boolean) => void {
  let unwatch: (() => void) | undefined
  return (store, isNeeded) => {
    if (isNeeded) unwatch ??= store?.watch(ANY_THREAD, onCommit)
    else {
      unwatch?.()
      unwatch = undefined
    }
  }
}

/** Which webhooks had nothing more to deliver, as of the newest commit. */
function createRested() {
  let commits = 0
  const rested = new Map<string, number>()
  return {
    commit: (): void => void (commits += 1),
    /** Called where a delivery begins; what it returns is called where nothing is left. */
    begin(id: string): () => void {
      const at = commits
      return () => void rested.set(id, at)
    },
    has: (id: string): boolean => rested.get(id) === commits,
    clear: (): void => rested.clear(),
  }
}

/**
 * A store that fails or cannot be opened is asked again at the next look, and the routes of a server say so; anything else is a bug, which
 * must not end a server.
 */
function warnOfFailure(error: unknown): void {
  if (!StoreError.isInstance(error) && !ConfigError.isInstance(error))
    process.emitWarning(error instanceof Error ? error : String(error))
}

/** So that with many slow receivers each has its turn. */
function shuffled<T>(list: readonly T[]): readonly T[] {
  return list
    .map((value) => ({ value, place: Math.random() }))
    .toSorted((one, other) => one.place - other.place)
    .map(({ value }) => value)
}

interface Moved {
  /** The stored position from which it has moved. */
  readonly from: string
  readonly to: string
  readonly rows: number
}

interface Delivering {
  readonly context: ClientContext
  readonly store: Store
  /** Its abort ends the delivery behind the request in flight. */
  readonly signal: AbortSignal
  /** Its abort ends that request, too. */
  readonly late: AbortSignal
  readonly world: DeliveryWorld
}

/** `unsettled`: the order of the newest events is not settled yet. */
type Ended = 'settled' | 'unsettled' | 'failed'

/** Delivers what there is for a webhook. */
async function deliver(
  delivering: Delivering,
  webhook: WebhookRecord,
  moved: Map<string, Moved>,
): Promise<Ended> {
  const { store, signal, world } = delivering
  // Without a lease first: most changes are of no interest to most webhooks, and a lease is a write.
  const known = moved.get(webhook.id)
  let place: Moved =
    known?.from === webhook.cursor ? known : { from: webhook.cursor, to: webhook.cursor, rows: 0 }
  for (;;) {
    if (signal.aborted) return 'settled'
    const page = await store.readAllEvents({ after: place.to, rows: ROWS, of: subjectOf(webhook) })
    const isWanted = page.events.some((event) => isOf(webhook, event))
    if (isWanted || place.rows + page.rows > SKIPPED_ROWS) break
    place = { ...place, to: page.next, rows: place.rows + page.rows }
    moved.set(webhook.id, place)
    if (!page.more) return page.settled ? 'settled' : 'unsettled'
  }
  moved.delete(webhook.id)
  const lease: WebhookLease = { id: webhook.id, owner: randomUUID(), lasts: world.times.lease }
  const now = toMicros(world.now())
  const held = await store.write((tx) => takeWebhook(tx, store.clock, { ...lease, now }))
  if (held === null) return 'settled'
  return deliverHeld(delivering, {
    lease,
    webhook: held,
    from: held.cursor === place.from ? place.to : held.cursor,
  })
}

/** The events that a webhook may get, by the index that finds them. */
function subjectOf({ account, thread_id: root }: WebhookRecord): ReadAllEvents['of'] {
  if (root !== null) return { root }
  return account === null ? undefined : { account }
}

/** Whether a webhook wants an event, or has to look at it. */
function isOf(webhook: WebhookRecord, event: EventOfThread): boolean {
  if (webhook.message_id !== null) return mayEnd(webhook, event)
  const { types } = webhook
  const { type } = event
  return (
    types === null ||
    types.some((wanted) => (wanted.endsWith('.*') ? type.startsWith(wanted.slice(0, -1)) : type === wanted))
  )
}

interface Held {
  readonly lease: WebhookLease
  readonly webhook: WebhookRecord
  readonly from: string
}

/** Delivers page by page until nothing is left, a post fails, another delivery holds the webhook, or the signal aborts. */
async function deliverHeld(delivering: Delivering, { lease, webhook, from }: Held): Promise<Ended> {
  const { store, signal, world } = delivering
  const { times } = world
  let cursor = from
  let succeeded = false
  let keptAt = performance.now()
  const keep = (progress: WebhookProgress): Promise<boolean> =>
    store.write((tx) => moveWebhook(tx, store.clock, { lease, progress }))
  for (;;) {
    const page = await store.readAllEvents({ after: cursor, rows: ROWS, of: subjectOf(webhook) })
    for (const event of page.events) {
      if (signal.aborted) break
      if (isOf(webhook, event)) {
        const content = await contentOf(delivering, webhook, event)
        const failure = content === null ? null : await post(delivering, webhook, content)
        if (failure !== null && signal.aborted) break
        if (failure !== null) {
          await keep(failedProgress(world, { webhook, cursor, failure, succeeded }))
          return 'failed'
        }
        if (content !== null && webhook.message_id !== null) {
          await store.write((tx) => deleteHeld(tx, lease))
          return 'settled'
        }
        succeeded ||= content !== null
      }
      cursor = event.cursor
      const isOld = performance.now() - keptAt > Math.min(times.keep, times.lease - 2 * times.answer)
      if (!isOld) continue
      if (!(await keep({ kind: 'moved', cursor, succeeded }))) return 'settled'
      keptAt = performance.now()
    }
    if (!signal.aborted) cursor = page.next
    if (page.more && !signal.aborted) continue
    await keep({ kind: 'released', cursor, succeeded })
    return page.settled ? 'settled' : 'unsettled'
  }
}

interface Failure {
  readonly error: string
  /** Milliseconds that the receiver asks to wait. */
  readonly retryAfter?: number
  /** The receiver wants nothing any more. */
  readonly isGone?: true
}

interface Content {
  /** Names what is posted. */
  readonly subject: string
  readonly body: string
}

/** What is posted at this event; null: nothing. */
async function contentOf(
  { context, store }: Delivering,
  webhook: WebhookRecord,
  event: EventOfThread,
): Promise<Content | null> {
  if (webhook.message_id !== null) {
    const body = await readCallbackBody(context, webhook)
    return body === null ? null : { subject: webhook.message_id, body }
  }
  const joined = await store.read((db) => joinStored(db, store, event))
  return { subject: joined.eventId, body: JSON.stringify({ ...joined, cursor: String(event.sequence) }) }
}

/** The events after which a message may have come to its end. */
const MAY_END: ReadonlySet<string> = new Set([
  ...['run.completed', 'run.failed', 'run.cancelled', 'thread.closed', 'message.ended', 'hook.failed'],
])

function mayEnd({ message_thread_id: threadId }: WebhookRecord, event: EventOfThread): boolean {
  return event.threadId === threadId && MAY_END.has(event.type)
}

/** What is posted: the message's one end, and the result of the run that took it, if one did. Null: it has not ended yet. */
async function readCallbackBody(
  context: ClientContext,
  { message_thread_id: threadId, message_id: messageId }: WebhookRecord,
): Promise<string | null> {
  if (threadId === null || messageId === null) return null
  const store = await context.store()
  const read = await readMessage(context, threadId, messageId)
  // A message that was deleted from the transcript has no end to tell of; its callback ends with its tree.
  if (read === null || read.end === null) return null
  const result = await store.read(async (db) => {
    const number = (await findMessageWithEnd(db, threadId, messageId))?.run ?? null
    if (number === null) return null
    const run = await findRun(db, { threadId, number })
    if (run === null || run.ended_at === null) return 'runs' as const
    return readRunResult(db, threadId, { status: (await requireThread(db, threadId)).status, number })
  })
  if (result === 'runs') return null
  return JSON.stringify({ type: 'message.ended', threadId, messageId, end: read.end, result })
}

/** Posts once. Returns null once the receiver has accepted it. */
async function post(
  { context, store, late, world }: Delivering,
  webhook: WebhookRecord,
  { subject, body }: Content,
): Promise<Failure | null> {
  const at = Math.floor(world.now() / SECOND)
  try {
    const secret = openWebhookSecret(store.secrets, webhook)
    const id = messageIdOf(webhook.id, subject)
    const answer = await guardedRequest({
      ...{ url: webhook.url, method: 'POST', body, headers: signedHeaders({ secret, id, at, body }) },
      ...{ timeout: world.times.answer, answerBytes: ANSWER_BYTES, exceptions: context.egress },
      signal: late,
      ...(world.resolve !== undefined && { resolve: world.resolve }),
    })
    if (answer.status >= 200 && answer.status < 300) return null
    const retryAfter = readRetryAfter(answer.headers['retry-after'], world.now())
    return {
      error: `Expected the receiver to answer with a status of 2xx, got ${answer.status}.`,
      ...(retryAfter !== undefined && { retryAfter }),
      ...(answer.status === 410 && { isGone: true }),
    }
  } catch (error) {
    if (error instanceof EgressError || StoreError.isInstance(error)) return { error: error.message }
    if (late.aborted) return { error: 'The process that delivers it ends.' }
    throw error
  }
}

/** Milliseconds; undefined if the receiver says nothing that can be read. */
function readRetryAfter(header: string | undefined, now: Millis): number | undefined {
  if (header === undefined) return undefined
  const wait = /^\d{1,9}$/.test(header) ? Number(header) * SECOND : Date.parse(header) - now
  return Number.isNaN(wait) ? undefined : Math.max(0, wait)
}

interface Failed {
  readonly webhook: WebhookRecord
  readonly cursor: string
  readonly failure: Failure
  /** Whether something was delivered before, so that this is the first failure. */
  readonly succeeded: boolean
}

function failedProgress(
  { now, times }: DeliveryWorld,
  { webhook, cursor, failure, succeeded }: Failed,
): WebhookProgress {
  const attempts = succeeded ? 1 : webhook.attempts + 1
  const since = (succeeded ? null : webhook.failing_since) ?? toMicros(now())
  const own = Math.min(times.firstPause * 2 ** Math.min(attempts - 1, 30), times.longestPause)
  const asked = Math.min(failure.retryAfter ?? 0, times.longestRetryAfter)
  const at = toMicros(now() + Math.max(own, asked))
  const isOver = failure.isGone === true || toMicros(now()) - since >= toMicros(times.pause)
  return {
    ...{ kind: 'failed', cursor, error: failure.error, attempts, failingSince: since },
    nextAttemptAt: isOver ? null : at,
  }
}
