/**
 * The thread that the person looks at: what it is made of, loaded and kept current by its events.
 *
 * Owns: the lists beside the conversation, and which event makes which list read again. Does not own: the conversation, the runs, the queue
 * and the thread's own requests (`createThreadStore` of `everthread/http`).
 */
import { batch, signal } from '@preact/signals'
import { createThreadStore, HttpError } from '../../http/index.js'
import type {
  BudgetState,
  HttpThread,
  PendingRequest,
  ThreadState,
  Thread,
  ThreadStore,
  ThreadUsage,
  Tree,
} from '../../http/index.js'
import type { ThreadEvent } from '../../protocol/events.js'
import type { FileRecord } from '../../protocol/message.js'
import { client, problemText } from '../session/api.js'

/** A request of the thread or of a subagent below it. */
export type OpenRequest = PendingRequest & { readonly threadId: string }

export interface OpenThread extends Parts {
  readonly store: ThreadStore
  loadOlder(): Promise<void>
  /** Reads a list again. */
  refresh(list: List): void
  close(): void
}

type List = 'summary' | 'requests' | 'tree' | 'files' | 'usage'

/** Several events of one moment read a list once. */
const REFRESH_PAUSE = 120

/** The lists that an event makes out of date. */
const OUTDATED: Readonly<Partial<Record<ThreadEvent['type'], readonly List[]>>> = {
  'run.started': ['summary'],
  'run.completed': ['summary', 'usage', 'requests', 'tree'],
  'run.failed': ['summary', 'usage', 'requests', 'tree'],
  'run.cancelled': ['summary', 'usage', 'requests', 'tree'],
  'thread.updated': ['summary'],
  'thread.terminating': ['summary'],
  'thread.closed': ['summary', 'requests'],
  'thread.reopened': ['summary'],
  'action.required': ['summary'],
  'action.resolved': ['summary'],
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
function createParts(id: string, state: ThreadState) {
  return {
    ...{ id, summary: signal<Thread | null>(null), transcript: signal(state.transcript) },
    ...{ runs: signal(state.runs), queue: signal(state.queue), requests: signal<readonly OpenRequest[]>([]) },
    ...{ tree: signal<Tree | null>(null), files: signal<readonly FileRecord[]>([]) },
    ...{ folder: signal('/'), usage: signal<ThreadUsage | null>(null) },
    ...{ budgets: signal<readonly BudgetState[]>([]), statusText: signal<string | null>(null) },
    ...{ stream: signal(state.connection), problem: signal<string | null>(null) },
  }
}

type Parts = ReturnType<typeof createParts>

/** Opens a thread. It is kept current until `close`. */
export function openThread(id: string): OpenThread {
  const remote = client.threads.get(id)
  const timers = new Map<List, ReturnType<typeof setTimeout>>()
  let below: readonly OpenRequest[] = []

  const onEvents = (events: readonly ThreadEvent[]): void => {
    for (const { type } of events) for (const list of OUTDATED[type] ?? []) refresh(list)
  }
  const store = createThreadStore({ client, threadId: id, onEvents })
  const parts = createParts(id, store.getState())

  function refresh(list: List): void {
    clearTimeout(timers.get(list))
    // A failure shows itself by the stream of events, which connects again and then reads the lists.
    const run = (): void => void readList(list).catch(() => undefined)
    timers.set(list, setTimeout(run, REFRESH_PAUSE))
  }

  async function readList(list: List): Promise<void> {
    if (list !== 'requests') return readPart(parts, remote, list)
    below = await readRequestsBelow(id)
    showRequests()
  }

  function showRequests(): void {
    const own = store.getState().requests.map((one): OpenRequest => ({ ...one, threadId: id }))
    parts.requests.value = [...own, ...below]
  }

  function show(): void {
    const isAway = parts.stream.value === 'waiting'
    const { transcript, runs, queue, statusText, connection, error } = store.getState()
    batch(() => {
      parts.transcript.value = transcript
      parts.runs.value = runs
      parts.queue.value = queue
      parts.statusText.value = statusText
      parts.stream.value = connection
      if (error !== null) parts.problem.value = problemText(error)
      showRequests()
    })
    if (isAway && connection === 'live')
      for (const list of ['summary', 'requests', 'tree', 'usage'] as const) refresh(list)
  }

  const leave = store.subscribe(show)
  for (const list of ['summary', 'requests', 'usage', 'tree', 'files'] as const)
    void readList(list).catch(() => undefined)
  return {
    ...{ ...parts, store, refresh },
    loadOlder: async () => {
      try {
        await store.loadOlder()
      } catch (error) {
        // A server that does not answer: the person scrolls again.
        if (!HttpError.mayPass(error)) throw error
      }
    },
    close: leave,
  }
}

async function readPart(parts: Parts, remote: HttpThread, list: Exclude<List, 'requests'>): Promise<void> {
  if (list === 'summary') parts.summary.value = await remote.read()
  if (list === 'tree') parts.tree.value = await remote.tree()
  if (list === 'usage') {
    const [usage, { budgets }] = await Promise.all([
      remote.usage({ tree: true }),
      client.api.get('/threads/{threadId}/budget', { path: { threadId: parts.id } }),
    ])
    batch(() => {
      parts.usage.value = usage
      parts.budgets.value = budgets
    })
  }
  if (list === 'files') {
    const path = parts.folder.value
    const entries = await remote.files(path)
    if (path === parts.folder.value) parts.files.value = entries
  }
}

/** Those of the threads below it, which a person answers here. */
async function readRequestsBelow(id: string): Promise<readonly OpenRequest[]> {
  const { requests } = await client.api.get('/requests', { query: { root: id, limit: 50 } })
  return requests.filter(({ threadId }) => threadId !== id)
}
