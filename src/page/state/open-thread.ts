/**
 * The thread that the person looks at: what it is made of, loaded and kept current by its events.
 *
 * Owns: loading, the stream of events, and which event makes which list read again. Does not own: what events mean for the
 * conversation and for the runs (`transcript-state.ts`, `run-state.ts`).
 *
 * The newest page of messages is read beside the events behind them, so that a thread opens in the same time however long it is.
 */
import { batch, signal } from '@preact/signals'
import type { PendingRequest } from '../../client/answers/pending-request.js'
import type { ThreadSummary } from '../../client/lists/list-threads.js'
import type { ThreadTree } from '../../client/lists/thread-tree.js'
import type { ThreadSnapshot } from '../../client/read-snapshot.js'
import type { ThreadEvent } from '../../protocol/events.js'
import type { FileRecord, Message } from '../../protocol/message.js'
import type { ThreadUsage } from '../../protocol/status.js'
import type { BudgetState } from '../../store/budgets/budget-state.js'
import {
  addressOf,
  authorization,
  mayPass,
  problemText,
  queryOf,
  request,
  threadPath,
} from '../session/api.js'
import { followEvents } from '../session/event-stream.js'
import type { StreamState } from '../session/event-stream.js'
import { forget } from '../session/outbox.js'
import { applyToRuns } from './run-state.js'
import type { Run } from './run-state.js'
import { applyToTranscript, EMPTY_TRANSCRIPT, openTranscript, takeOlder } from './transcript-state.js'

/** A request of the thread or of a subagent below it. */
export type OpenRequest = PendingRequest & { readonly threadId: string }

type QueueItem = ThreadSnapshot['queue'][number]

export interface OpenThread extends Parts {
  loadOlder(): Promise<void>
  /** Shows the newest messages again. */
  loadNewest(): Promise<void>
  /** Reads a list again. */
  refresh(list: List): void
  close(): void
}

type List = 'summary' | 'requests' | 'tree' | 'files' | 'usage' | 'queue'

/** The rows of the first page fill a screen; older ones come while the person scrolls. */
const FIRST_MESSAGES = 40
const OLDER_MESSAGES = 60
/** Events before the newest one that the timeline shows at first: some dozens of steps. */
const EVENTS_BACK = 600
/** Several events of one moment read a list once. */
const REFRESH_PAUSE = 120
const RETRY_PAUSE = 1_000

/** The lists that an event makes out of date. */
const OUTDATED: Readonly<Partial<Record<ThreadEvent['type'], readonly List[]>>> = {
  'run.started': ['summary'],
  'run.completed': ['summary', 'usage', 'requests', 'queue', 'tree'],
  'run.failed': ['summary', 'usage', 'requests', 'queue', 'tree'],
  'run.cancelled': ['summary', 'usage', 'requests', 'queue', 'tree'],
  'thread.updated': ['summary'],
  'thread.terminating': ['summary'],
  'thread.closed': ['summary', 'requests', 'queue'],
  'thread.reopened': ['summary'],
  'action.required': ['requests', 'summary'],
  'action.resolved': ['requests', 'summary'],
  'budget.raised': ['usage', 'summary'],
  'limit.changed': ['summary'],
  'model.completed': ['usage'],
  'tool.result': ['usage'],
  'file.changed': ['files'],
  'subagent.spawned': ['tree'],
  'subagent.status': ['tree', 'requests'],
  'subagent.completed': ['tree', 'requests'],
  'subagent.failed': ['tree', 'requests'],
  'subagent.closed': ['tree', 'requests'],
}

/** What the page has of a thread, each part by itself, so that only what changes is shown anew. */
function createParts(id: string) {
  return {
    ...{ id, summary: signal<ThreadSummary | null>(null), transcript: signal(EMPTY_TRANSCRIPT) },
    ...{ runs: signal<readonly Run[]>([]), requests: signal<readonly OpenRequest[]>([]) },
    queue: signal<readonly QueueItem[]>([]),
    ...{ tree: signal<ThreadTree | null>(null), files: signal<readonly FileRecord[]>([]) },
    ...{ folder: signal('/'), usage: signal<ThreadUsage | null>(null) },
    ...{ budgets: signal<readonly BudgetState[]>([]), statusText: signal<string | null>(null) },
    ...{ stream: signal<StreamState>('connecting'), problem: signal<string | null>(null) },
  }
}

type Parts = ReturnType<typeof createParts>

/** Reads from the routes of one thread. @throws RequestError */
type Read = <Answer>(rest: string) => Promise<Answer>

/** Opens a thread. It is kept current until `close`. */
export function openThread(id: string): OpenThread {
  const end = new AbortController()
  const parts = createParts(id)
  const read: Read = (rest) => request(threadPath(id, rest), { signal: end.signal })
  const timers = new Map<List, ReturnType<typeof setTimeout>>()

  function refresh(list: List): void {
    clearTimeout(timers.get(list))
    // A failure shows itself by the stream of events, which connects again and then reads the lists.
    const run = (): void => void readList(parts, read, list).catch(() => undefined)
    timers.set(list, setTimeout(run, REFRESH_PAUSE))
  }

  async function open(): Promise<void> {
    const [summary] = await Promise.all([read<ThreadSummary>(''), readNewest(parts, read)])
    parts.summary.value = summary
    for (const list of ['requests', 'queue', 'usage', 'tree', 'files'] as const)
      void readList(parts, read, list).catch(() => undefined)
    await followEvents({
      url: addressOf(threadPath(id, '/events')),
      headers: authorization,
      after: String(Math.max(0, summary.lastSequence - EVENTS_BACK)),
      onEvents: (events) => takeEvents(parts, events, { read, refresh }),
      onState: onStream,
      signal: end.signal,
    })
  }

  function onStream(state: StreamState): void {
    const isAway = parts.stream.value === 'waiting'
    // It stays `waiting` until it is live again, so that the line about it does not flicker.
    if (state === 'connecting' && isAway) return
    if (state === 'live' && isAway)
      for (const list of ['summary', 'requests', 'tree', 'usage', 'queue'] as const) refresh(list)
    parts.stream.value = state
    // The same refusal, with its sentence.
    if (state === 'refused')
      readList(parts, read, 'summary').catch((error: unknown) => (parts.problem.value = problemText(error)))
  }

  /** Until the server answers at all. */
  async function openOnceAnswered(): Promise<void> {
    try {
      await open()
    } catch (error) {
      if (end.signal.aborted) return
      if (mayPass(error)) setTimeout(() => void openOnceAnswered(), RETRY_PAUSE)
      else parts.problem.value = problemText(error)
    }
  }

  void openOnceAnswered()
  return {
    ...parts,
    refresh,
    loadOlder: createOlderLoader(parts, read),
    loadNewest: () => readNewest(parts, read),
    close: () => end.abort(),
  }
}

async function readList(parts: Parts, read: Read, list: List): Promise<void> {
  if (list === 'summary') parts.summary.value = await read('')
  if (list === 'tree') parts.tree.value = await read('/tree')
  if (list === 'requests') parts.requests.value = await readRequests(parts.id)
  if (list === 'usage') {
    const [usage, { budgets }] = await Promise.all([
      read<ThreadUsage>('/usage?tree=true'),
      read<{ readonly budgets: readonly BudgetState[] }>('/budget'),
    ])
    batch(() => {
      parts.usage.value = usage
      parts.budgets.value = budgets
    })
  }
  if (list === 'files') {
    const path = parts.folder.value
    const { entries } = await read<{ readonly entries: readonly FileRecord[] }>(`/files${queryOf({ path })}`)
    if (path === parts.folder.value) parts.files.value = entries
  }
  if (list === 'queue') {
    const snapshot = await read<Pick<ThreadSnapshot, 'queue' | 'statusText'>>('/snapshot')
    batch(() => {
      parts.queue.value = snapshot.queue
      parts.statusText.value = snapshot.statusText
    })
  }
}

interface Reading {
  readonly read: Read
  readonly refresh: (list: List) => void
}

function takeEvents(parts: Parts, events: readonly ThreadEvent[], { read, refresh }: Reading): void {
  batch(() => {
    parts.transcript.value = events.reduce(applyToTranscript, parts.transcript.value)
    parts.runs.value = events.reduce(applyToRuns, parts.runs.value)
    for (const event of events) {
      if (event.type === 'queue.changed') parts.queue.value = event.payload.queue
      if (event.type === 'thread.status') parts.statusText.value = event.payload.status
      if (event.type === 'message.created') {
        forget(({ messageId }) => messageId === event.messageId)
        // Its stored beginning is shown, if the rest cannot be read.
        if (event.payload.truncated) void readWhole(parts, read, event.payload.message).catch(() => undefined)
      }
      // Events have no row of a result, and its beginning only.
      if (event.type === 'tool.result' && event.payload.truncated && !parts.transcript.value.hasNewer)
        void readNewest(parts, read).catch(() => undefined)
      for (const list of OUTDATED[event.type] ?? []) refresh(list)
    }
  })
}

/** Events have the beginning of a long message only. */
async function readWhole({ transcript }: Parts, read: Read, message: Message | null): Promise<void> {
  if (message?.position == null) return
  const page = await read<MessagesPage>(`/messages${queryOf({ after: message.position - 1, limit: 1 })}`)
  const [whole] = page.messages
  if (whole?.id !== message.id) return
  const messages = transcript.value.messages.map((one) => (one.id === whole.id ? whole : one))
  transcript.value = { ...transcript.value, messages }
}

async function readNewest({ transcript }: Parts, read: Read): Promise<void> {
  const { messages, hasMore } = await read<MessagesPage>(`/messages${queryOf({ limit: FIRST_MESSAGES })}`)
  const { drafts } = transcript.value
  transcript.value = { ...openTranscript(messages, hasMore), drafts }
  const known = new Set(messages.map(({ id }) => id))
  forget(({ messageId }) => messageId !== undefined && known.has(messageId))
}

/** One page at a time, however often the person scrolls. */
function createOlderLoader({ transcript }: Parts, read: Read): () => Promise<void> {
  let isLoading = false
  return async () => {
    const { messages, hasOlder } = transcript.value
    const before = messages.find(({ position }) => position !== null)?.position
    if (isLoading || !hasOlder || before == null) return
    isLoading = true
    try {
      const page = await read<MessagesPage>(`/messages${queryOf({ before, limit: OLDER_MESSAGES })}`)
      transcript.value = takeOlder(transcript.value, page.messages, page.hasMore)
    } catch (error) {
      // A thread that was left, or a server that does not answer: the person scrolls again.
      if (!mayPass(error) && !(error instanceof DOMException)) throw error
    } finally {
      isLoading = false
    }
  }
}

interface MessagesPage {
  readonly messages: readonly Message[]
  readonly hasMore: boolean
}

/** Those of the thread and of all threads below it, which a person answers here. */
async function readRequests(id: string): Promise<readonly OpenRequest[]> {
  const of = (filter: Readonly<Record<string, string>>) =>
    request<{ readonly requests: readonly OpenRequest[] }>(`/requests${queryOf({ ...filter, limit: 50 })}`)
  const [own, tree] = await Promise.all([of({ threadId: id }), of({ root: id })])
  const known = new Set(own.requests.map(({ id: requestId }) => requestId))
  return [...own.requests, ...tree.requests.filter((one) => !known.has(one.id))]
}
