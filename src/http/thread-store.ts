/**
 * The state of a thread, kept current by its events, for what is shown: `getState` and `subscribe` are those of `useSyncExternalStore`, of a
 * store of Svelte, and of a `shallowRef` of Vue.
 *
 * It owns: loading, following while somebody looks, and the requests that wait. It does not own: what events mean (`everthread/fold`), and
 * messages on their way (`outbox.ts`).
 * Invariants. P1: the newest page of messages is read beside the events behind them, so that a thread opens in the same time however long it
 * is; what comes while a page is read is applied to it again. P2: it follows from the first subscriber on until the last one has gone. P3: an
 * event is applied once.
 */
import { applyEvents, applySnapshot, openLiveThread } from '../fold/live-thread.js'
import type { LiveThread } from '../fold/live-thread.js'
import { applyToTranscript, EMPTY_TRANSCRIPT, openTranscript, takeOlder } from '../fold/transcript.js'
import type { Transcript } from '../fold/transcript.js'
import type { Run } from '../fold/runs.js'
import type { ThreadEvent } from '../protocol/events.js'
import type { ThreadStatus } from '../protocol/status.js'
import type { StreamState } from './event-stream.js'
import type { Answer, NewMessage, PendingRequest } from './generated/api-types.js'
import type { HttpClient } from './http-client.js'
import type { HttpThread } from './http-thread.js'
import { HttpError } from './http-error.js'
import { outboxOf } from './outbox.js'
import { wait } from './requests.js'
import { showMessages } from './shown-messages.js'
import type { ShownMessage } from './shown-messages.js'

export interface ThreadState {
  readonly threadId: string
  /** The newest messages are not there yet. */
  readonly isLoading: boolean
  /** `waiting`: it lost the server, and connects again. */
  readonly connection: StreamState
  /** The refusal that ended it, such as of a thread that does not exist; what may pass is tried again and is none. */
  readonly error: Error | null
  /** As of a snapshot; null while it is unknown. */
  readonly status: string | null
  /** What the agent last said that it does; null: nothing. */
  readonly statusText: string | null
  readonly agent: string | null
  /** In order: stored messages with their calls, text that streams, then what was sent here and has no row yet. */
  readonly messages: readonly ShownMessage[]
  /** There are older messages: `loadOlder`. */
  readonly hasOlder: boolean
  /** What waits for `respond`. */
  readonly requests: readonly PendingRequest[]
  /** What waits in the thread, in order: `takeBack`, `promote`. */
  readonly queue: LiveThread['queue']
  readonly subagents: NonNullable<LiveThread['thread']>['children']
  /** The newest runs with their steps, models and calls. */
  readonly runs: readonly Run[]
  readonly transcript: Transcript
}

export interface ThreadStore {
  readonly getState: () => ThreadState
  /** @returns what ends it */
  readonly subscribe: (listener: () => void) => () => void
  /** Shows the message at once, and sends it as soon as that is possible, once. @returns the key by which `sendAgain` and `discard` name it */
  send(message: string | NewMessage): string
  /** Sends a refused message again. */
  sendAgain(key: string): void
  /** Forgets a refused message. */
  discard(key: string): void
  /** @throws HttpError, as all below */
  respond(requestId: string, answer: Answer): Promise<void>
  stop(): Promise<void>
  continue(): Promise<void>
  takeBack(id: string): Promise<void>
  promote(id: string): Promise<void>
  /** Reads the queue: what others have sent while a step is under way is in the events of its end. */
  loadQueue(): Promise<void>
  loadOlder(): Promise<void>
  /** Shows the newest messages again. */
  loadNewest(): Promise<void>
}

export interface ThreadStoreOptions {
  readonly client: HttpClient
  readonly threadId: string
  /** Gets each event once, after it was applied. */
  readonly onEvents?: (events: readonly ThreadEvent[]) => void
}

/** The rows of the first page fill a screen; older ones come while the person scrolls. */
const FIRST_MESSAGES = 40
const OLDER_MESSAGES = 60
/** Events before the newest one that are read at first: some dozens of steps. */
const EVENTS_BACK = 600
const RETRY_PAUSE = 1_000

/** What the functions of a store share; `live`, `requests`, `base` and `state` change with `publish`. */
interface Core {
  readonly threadId: string
  readonly remote: HttpThread
  readonly outbox: ReturnType<typeof outboxOf>
  readonly onEvents: NonNullable<ThreadStoreOptions['onEvents']>
  readonly publish: (change?: Partial<Base>) => void
  live: LiveThread
  requests: readonly PendingRequest[]
  base: Base
  state: ThreadState
  /** The sequence from which on the state is that of now; Infinity before it is known. */
  present: number
  following: AbortController | undefined
  /** Events that came while a page of messages is read (P1). */
  readonly readings: Set<ThreadEvent[]>
  /** Requests that are being read, or that were answered meanwhile. */
  readonly unread: Set<string>
}

type Base = Pick<ThreadState, 'isLoading' | 'connection' | 'error' | 'status' | 'agent'>

export function createThreadStore({
  client,
  threadId,
  onEvents = () => undefined,
}: ThreadStoreOptions): ThreadStore {
  const listeners = new Set<() => void>()
  const core: Core = {
    ...{ threadId, remote: client.threads.get(threadId), outbox: outboxOf(client), onEvents },
    publish: (change = {}) => {
      core.base = { ...core.base, ...change }
      core.state = deriveState(core)
      for (const listener of listeners) listener()
    },
    ...{ live: openLiveThread({ fromStart: true }), requests: [], present: Infinity, following: undefined },
    ...{ base: NOTHING, state: { ...NOTHING, ...EMPTY, threadId }, readings: new Set(), unread: new Set() },
  }
  let leaveOutbox = (): void => undefined
  const end = (): void => {
    core.following?.abort()
    core.following = undefined
    leaveOutbox()
  }
  return {
    getState: () => core.state,
    subscribe: (listener) => {
      // The same function may listen twice.
      const mine = (): void => listener()
      listeners.add(mine)
      if (core.following === undefined) leaveOutbox = start(core)
      return () => {
        listeners.delete(mine)
        // React takes a component away and puts it back: that is no new beginning.
        setTimeout(() => {
          if (listeners.size === 0) end()
        })
      }
    },
    ...commandsOf(core),
  }
}

const NOTHING: Base = { isLoading: true, connection: 'connecting', error: null, status: null, agent: null }

const EMPTY = {
  ...{ statusText: null, messages: [], hasOlder: false, requests: [], queue: [], subagents: [], runs: [] },
  transcript: EMPTY_TRANSCRIPT,
}

/** @returns what ends listening to the outbox */
function start(core: Core): () => void {
  core.following = new AbortController()
  core.outbox.open()
  const known = new Set<string>()
  const leave = core.outbox.subscribe(() => {
    core.publish()
    const accepted = core.outbox
      .messages()
      .filter(({ threadId, state }) => threadId === core.threadId && state === 'accepted')
    if (accepted.every(({ key }) => known.has(key))) return
    for (const { key } of accepted) known.add(key)
    void readQueue(core).catch(() => undefined)
  })
  core.publish({ connection: 'connecting', error: null })
  void followOnceAnswered(core, core.following.signal)
  return leave
}

function deriveState({ threadId, live, requests, base, present, outbox }: Core): ThreadState {
  const { thread, transcript, runs, queue } = live
  const isPresent = thread !== null && thread.lastSequence >= present
  const outgoing = outbox.messages().filter((one) => one.threadId === threadId)
  return {
    ...base,
    ...(isPresent && { status: thread.status, agent: thread.agent }),
    statusText: thread?.statusText ?? null,
    messages: showMessages({ transcript, runs, outgoing }),
    hasOlder: transcript.hasOlder,
    requests: isPresent ? requests : [],
    subagents: thread?.children ?? [],
    ...{ threadId, queue, runs, transcript },
  }
}

/** Until the server answers at all. */
async function followOnceAnswered(core: Core, signal: AbortSignal): Promise<void> {
  while (!signal.aborted) {
    try {
      return await follow(core, signal)
    } catch (error) {
      if (signal.aborted) return
      if (!HttpError.mayPass(error)) return core.publish({ error: error as Error, isLoading: false })
      core.publish({ connection: 'waiting' })
      await wait(RETRY_PAUSE, signal).catch(() => undefined)
    }
  }
}

async function follow(core: Core, signal: AbortSignal): Promise<void> {
  const { remote, publish } = core
  const [row] = await Promise.all([remote.read(), readNewest(core)])
  if (signal.aborted) return
  const after = Math.max(0, row.lastSequence - EVENTS_BACK)
  core.live = { ...openLiveThread({ fromStart: after === 0 }), transcript: core.live.transcript }
  core.present = row.lastSequence
  core.requests = []
  core.unread.clear()
  publish({ status: row.status, agent: row.agent })
  if (after > 0) void readState(core, signal)
  const onState = (connection: StreamState): void => {
    // It stays `waiting` until it is live again, so that a line about it does not flicker.
    const isAway = connection === 'connecting' && core.base.connection === 'waiting'
    if (!signal.aborted && !isAway) publish({ connection })
  }
  const batches = remote.eventBatches({ after, signal, onState })
  // Without a snapshot there is no event of the other kind.
  for await (const events of batches) take(core, events as readonly ThreadEvent[])
}

/** Of a thread whose first events are not read. */
async function readState(core: Core, signal: AbortSignal): Promise<void> {
  try {
    const snapshot = await core.remote.snapshot()
    if (signal.aborted) return
    // Its list of statuses is open.
    core.live = applySnapshot(core.live, { ...snapshot, status: snapshot.status as ThreadStatus })
    core.publish()
    await readRequests(core)
  } catch (error) {
    if (signal.aborted || !HttpError.mayPass(error)) return
    await wait(RETRY_PAUSE, signal).catch(() => undefined)
    if (!signal.aborted) await readState(core, signal)
  }
}

function take(core: Core, events: readonly ThreadEvent[]): void {
  core.live = applyEvents(core.live, events)
  for (const came of core.readings) came.push(...events)
  for (const event of events) {
    const { messageId = '' } = event
    if (event.type === 'message.created') forgetStored(core, [messageId])
    // Its stored beginning is shown, if the rest cannot be read.
    if ((event.type === 'message.created' || event.type === 'message.updated') && event.payload.truncated)
      void readWhole(core, messageId).catch(() => undefined)
    if (event.type === 'message.ended' && event.payload.end === 'removed') forgetStored(core, [messageId])
    if (event.type === 'message.ended' && event.payload.end === 'rejected')
      core.outbox.refuse(messageId, 'Expected an open thread, got one that has closed.')
    // Events have no row of a result, and its beginning only.
    if (event.type === 'tool.result' && event.payload.truncated && !core.live.transcript.hasNewer)
      void readNewest(core).catch(() => undefined)
  }
  core.publish()
  void readRequests(core)
  core.onEvents(events)
}

async function readQueue(core: Core): Promise<void> {
  const before = core.live.queue
  const { items } = await core.remote.queue()
  // An event that came meanwhile knows more.
  if (core.live.queue !== before) return
  core.live = { ...core.live, queue: items }
  core.publish()
}

function forgetStored({ outbox }: Core, ids: readonly string[]): void {
  outbox.forget(({ messageId }) => messageId !== undefined && ids.includes(messageId))
}

async function readNewest(core: Core): Promise<void> {
  const came: ThreadEvent[] = []
  core.readings.add(came)
  try {
    const { messages, hasMore } = await core.remote.messages({ limit: FIRST_MESSAGES })
    const read = { ...openTranscript(messages, hasMore), drafts: core.live.transcript.drafts }
    core.live = { ...core.live, transcript: came.reduce(applyToTranscript, read) }
    const ids = messages.map(({ id }) => id)
    forgetStored(core, ids)
    core.publish({ isLoading: false })
  } finally {
    core.readings.delete(came)
  }
}

async function readWhole(core: Core, messageId: string): Promise<void> {
  const { message } = await core.remote.message(messageId)
  const { transcript } = core.live
  const messages = transcript.messages.map((one) => (one.id === messageId ? message : one))
  core.live = { ...core.live, transcript: { ...transcript, messages } }
  core.publish()
}

/** What an answer needs is in no event. */
async function readRequests(core: Core): Promise<void> {
  const { thread } = core.live
  if (thread === null || thread.lastSequence < core.present) return
  const asked = new Set(thread.pending.map(({ id }) => id))
  const left = core.requests.filter(({ id }) => asked.has(id))
  if (left.length !== core.requests.length) {
    core.requests = left
    core.publish()
  }
  const missing = [...asked].filter((id) => !core.unread.has(id) && !left.some((one) => one.id === id))
  await Promise.all(missing.map((id) => readRequest(core, id)))
}

async function readRequest(core: Core, id: string): Promise<void> {
  const { unread, remote } = core
  unread.add(id)
  try {
    const request = await remote.request(id)
    unread.delete(id)
    if (core.live.thread?.pending.some((one) => one.id === id) !== true) return
    core.requests = [...core.requests.filter((one) => one.id !== id), request]
    core.publish()
  } catch (error) {
    // Answered meanwhile: its event comes.
    if (!HttpError.mayPass(error) || core.following === undefined) return
    await wait(RETRY_PAUSE)
    unread.delete(id)
    await readRequests(core)
  }
}

function commandsOf(core: Core): Omit<ThreadStore, 'getState' | 'subscribe'> {
  const { threadId, remote, outbox } = core
  const newest = (): number =>
    core.live.transcript.messages.findLast(({ position }) => position !== null)?.position ?? -1
  return {
    send: (message) => {
      const body = typeof message === 'string' ? { content: message } : message
      return outbox.post({ threadId, message: body, behind: newest() })
    },
    sendAgain: (key) => outbox.postAgain(key),
    discard: (key) => outbox.forget((one) => one.key === key),
    respond: async (requestId, answer) => void (await remote.respond(requestId, answer)),
    stop: async () => void (await remote.stop()),
    continue: () => remote.continue(),
    takeBack: async (id) => {
      await remote.removeQueued(id)
      forgetStored(core, [id])
      await readQueue(core)
    },
    promote: async (id) => {
      await remote.promote(id)
      await readQueue(core)
    },
    loadQueue: () => readQueue(core),
    loadOlder: once(async () => {
      const { messages, hasOlder } = core.live.transcript
      const before = messages.find(({ position }) => position !== null)?.position
      if (!hasOlder || before == null) return
      const page = await remote.messages({ before, limit: OLDER_MESSAGES })
      core.live = { ...core.live, transcript: takeOlder(core.live.transcript, page.messages, page.hasMore) }
      core.publish()
    }),
    loadNewest: () => readNewest(core),
  }
}

/** One at a time, however often it is asked for. */
function once(work: () => Promise<void>): () => Promise<void> {
  let running: Promise<void> | undefined
  return () => {
    running ??= work().finally(() => (running = undefined))
    return running
  }
}
