/**
 * One thread over HTTP, with the words of `ThreadHandle`.
 *
 * Commands have an idempotency key each, so that repeating them where nobody answered carries them out once.
 */
import type { Api, Input } from './api.js'
import { followEvents } from './event-stream.js'
import type { FollowEvents, FollowWithSnapshot, OpenStream, StreamedEvent } from './event-stream.js'
import type { ThreadEvent } from '../protocol/events.js'
import type {
  Answer,
  Answered,
  Cancelled,
  CompactionRequested,
  Folder,
  File as FileRecord,
  MessageRead,
  MessagesPage,
  NewFork,
  NewMessage,
  PendingRequest,
  Queue,
  QueuedToolCall,
  RunResult,
  SentMessage,
  Snapshot,
  Stopped,
  Thread,
  ThreadUsage,
  ToolCallRead,
  Tree,
} from './generated/api-types.js'
import { HttpError } from './http-error.js'
import { newKey } from './requests.js'

type MessagesQuery = NonNullable<Input<'/threads/{threadId}/messages', 'get'>['query']>

type StopBody = NonNullable<Input<'/threads/{threadId}/stop', 'post'>['body']>
type CompactBody = NonNullable<Input<'/threads/{threadId}/compact', 'post'>['body']>

/** Files as they are: what a browser's form gives, or bytes. */
export type FileContent = Blob | ArrayBuffer | Uint8Array<ArrayBuffer> | string

/** Making one makes no call: a thread that does not exist is found out by the first call that needs it. */
export interface HttpThread {
  readonly threadId: string
  /** The same thread, whose next command is carried out once under this key, also by another process. @default a new key a command */
  once(key: string): HttpThread
  /** The message is accepted when this returns: it is kept and delivered once. @throws HttpError, as all calls */
  send(message: string | NewMessage): Promise<SentMessage>
  stop(options?: StopBody): Promise<Stopped>
  continue(): Promise<void>
  /** Makes the context shorter, with a summary of what leaves it: now if the thread is idle, else in its next step. */
  compact(options?: CompactBody): Promise<CompactionRequested>
  /** Ends what was sent: removes a queued message, stops the run of a delivered one. */
  cancel(messageId: string, options?: { readonly reason?: string }): Promise<Cancelled>
  terminate(options?: { readonly reason?: string }): Promise<void>
  /** Answers a request once; the same answer again is safe. */
  respond(requestId: string, answer: Answer): Promise<Answered>
  removeQueued(id: string): Promise<void>
  promote(id: string): Promise<void>
  queueTool(name: string, args: Readonly<Record<string, unknown>>): Promise<QueuedToolCall>
  setEnv(values: Readonly<Record<string, string>>): Promise<void>
  /** A new thread with the transcript up to a message, from which on it goes another way. This thread does not change. */
  fork(options?: NewFork): Promise<HttpThread>
  /** The row of the thread. */
  read(): Promise<Thread>
  snapshot(): Promise<Snapshot>
  messages(options?: MessagesQuery): Promise<MessagesPage>
  message(messageId: string): Promise<MessageRead>
  toolCall(toolCallId: string): Promise<ToolCallRead>
  request(requestId: string): Promise<PendingRequest>
  queue(): Promise<Queue>
  tree(): Promise<Tree>
  usage(options?: { readonly tree?: boolean }): Promise<ThreadUsage>
  /** Waits until nothing is queued and nothing runs. Only the signal bounds it. */
  waitUntilIdle(options?: { readonly children?: boolean; readonly signal?: AbortSignal }): Promise<RunResult>
  /** All events from a cursor on, and the text that streams, each once, over any number of connections; ends after `thread.closed`. */
  events(options: FollowWithSnapshot): AsyncIterable<StreamedEvent>
  events(options?: FollowEvents): AsyncIterable<ThreadEvent>
  /** As `events`: what came in one moment is one array, for state that is shown. */
  eventBatches(
    options?: FollowEvents & { readonly snapshot?: boolean },
  ): AsyncIterable<readonly StreamedEvent[]>
  files(path?: string): Promise<readonly FileRecord[]>
  /** Its body is the file; `range` as in HTTP, such as `bytes=0-99`. */
  readFile(
    path: string,
    options?: { readonly range?: string; readonly signal?: AbortSignal },
  ): Promise<Response>
  writeFile(
    path: string,
    content: FileContent,
    options?: { readonly type?: string; readonly signal?: AbortSignal },
  ): Promise<FileRecord>
  deleteFile(path: string): Promise<void>
}

/** What a thread needs of its client. */
interface ThreadRoutes {
  readonly api: Api
  readonly fetch: (path: string, init?: RequestInit) => Promise<Response>
  /** Connects once: a stream has repetitions of its own. */
  readonly open: (threadId: string) => OpenStream
}

/** Seconds for which a server keeps a request for a result. */
const WAIT_SECONDS = 25

export function createHttpThread(routes: ThreadRoutes, threadId: string, key?: string): HttpThread {
  const path = { threadId }
  const headers = (): { 'idempotency-key': string } => ({ 'idempotency-key': key ?? newKey() })
  return {
    threadId,
    once: (given) => createHttpThread(routes, threadId, given),
    ...commandsOf(routes.api, path, headers),
    fork: async (body = {}) => {
      const fork = await routes.api.post('/threads/{threadId}/fork', { path, headers: headers(), body })
      return createHttpThread(routes, fork.threadId)
    },
    ...readsOf(routes.api, path),
    // Without `snapshot` there is no event of the other kind.
    events: (options?: FollowEvents) =>
      flatten(followEvents(routes.open(threadId), options ?? {})) as AsyncIterable<ThreadEvent>,
    eventBatches: (options = {}) => followEvents(routes.open(threadId), options),
    ...filesOf(routes, path, headers),
  }
}

async function* flatten(
  batches: AsyncIterable<readonly StreamedEvent[]>,
): AsyncGenerator<StreamedEvent, void> {
  for await (const batch of batches) yield* batch
}

interface PathOfThread {
  readonly threadId: string
}

type KeyHeaders = () => { 'idempotency-key': string }

function commandsOf(api: Api, path: PathOfThread, headers: KeyHeaders) {
  return {
    send: (message: string | NewMessage): Promise<SentMessage> =>
      api.post('/threads/{threadId}/messages', {
        ...{ path, headers: headers() },
        body: typeof message === 'string' ? { content: message } : message,
      }),
    stop: (body: StopBody = {}): Promise<Stopped> =>
      api.post('/threads/{threadId}/stop', { path, headers: headers(), body }),
    continue: async (): Promise<void> => {
      await api.post('/threads/{threadId}/continue', { path, headers: headers() })
    },
    compact: (body: CompactBody = {}): Promise<CompactionRequested> =>
      api.post('/threads/{threadId}/compact', { path, headers: headers(), body }),
    cancel: (messageId: string, body: { readonly reason?: string } = {}): Promise<Cancelled> =>
      api.post('/threads/{threadId}/messages/{messageId}/cancel', {
        ...{ path: { ...path, messageId }, headers: headers(), body },
      }),
    terminate: async (body: { readonly reason?: string } = {}): Promise<void> => {
      await api.post('/threads/{threadId}/terminate', { path, headers: headers(), body })
    },
    respond: (requestId: string, body: Answer): Promise<Answered> =>
      // The same answer again is no second one.
      api.post('/threads/{threadId}/requests/{requestId}', {
        ...{ path: { ...path, requestId }, body, isSafe: true },
      }),
    removeQueued: async (itemId: string): Promise<void> => {
      await api.delete('/threads/{threadId}/queue/{itemId}', {
        ...{ path: { ...path, itemId }, headers: headers() },
      })
    },
    promote: async (itemId: string): Promise<void> => {
      await api.post('/threads/{threadId}/queue/{itemId}/promote', {
        ...{ path: { ...path, itemId }, headers: headers() },
      })
    },
    queueTool: (name: string, args: Readonly<Record<string, unknown>>): Promise<QueuedToolCall> =>
      api.post('/threads/{threadId}/calls', { path, headers: headers(), body: { name, arguments: args } }),
    setEnv: async (values: Readonly<Record<string, string>>): Promise<void> => {
      await api.put('/threads/{threadId}/variables', { path, headers: headers(), body: { env: values } })
    },
  }
}

function readsOf(api: Api, path: PathOfThread) {
  return {
    read: (): Promise<Thread> => api.get('/threads/{threadId}', { path }),
    snapshot: (): Promise<Snapshot> => api.get('/threads/{threadId}/snapshot', { path }),
    messages: (query: MessagesQuery = {}): Promise<MessagesPage> =>
      api.get('/threads/{threadId}/messages', { path, query }),
    message: (messageId: string): Promise<MessageRead> =>
      api.get('/threads/{threadId}/messages/{messageId}', { path: { ...path, messageId } }),
    toolCall: (toolCallId: string): Promise<ToolCallRead> =>
      api.get('/threads/{threadId}/calls/{toolCallId}', { path: { ...path, toolCallId } }),
    request: (requestId: string): Promise<PendingRequest> =>
      api.get('/threads/{threadId}/requests/{requestId}', { path: { ...path, requestId } }),
    queue: (): Promise<Queue> => api.get('/threads/{threadId}/queue', { path }),
    tree: (): Promise<Tree> => api.get('/threads/{threadId}/tree', { path }),
    usage: ({ tree = false }: { readonly tree?: boolean } = {}): Promise<ThreadUsage> =>
      api.get('/threads/{threadId}/usage', { path, query: { tree: tree ? 'true' : 'false' } }),
    async waitUntilIdle({
      children = false,
      signal,
    }: { readonly children?: boolean; readonly signal?: AbortSignal } = {}): Promise<RunResult> {
      for (;;) {
        const { idle, result, reason } = await api.get('/threads/{threadId}/result', {
          ...{ path, query: { seconds: WAIT_SECONDS, children: children ? 'true' : 'false' } },
          ...(signal !== undefined && { signal }),
        })
        if (result !== null) return result
        if (idle)
          throw new HttpError({
            status: 200,
            code: 'no_result',
            message: reason ?? 'Expected a run, got none.',
          })
      }
    },
  }
}

function filesOf({ api, fetch }: ThreadRoutes, path: PathOfThread, headers: KeyHeaders) {
  const address = (of: string): string =>
    `/threads/${encodeURIComponent(path.threadId)}/files/content?path=${encodeURIComponent(of)}`
  const signalOf = (signal: AbortSignal | undefined) => (signal === undefined ? {} : { signal })
  return {
    async files(of = '/'): Promise<readonly FileRecord[]> {
      const { entries }: Folder = await api.get('/threads/{threadId}/files', { path, query: { path: of } })
      return entries
    },
    readFile: (
      of: string,
      { range, signal }: { readonly range?: string; readonly signal?: AbortSignal } = {},
    ): Promise<Response> =>
      fetch(address(of), { ...(range !== undefined && { headers: { Range: range } }), ...signalOf(signal) }),
    async writeFile(
      of: string,
      content: FileContent,
      { type, signal }: { readonly type?: string; readonly signal?: AbortSignal } = {},
    ): Promise<FileRecord> {
      const own = content instanceof Blob && content.type !== '' ? content.type : 'application/octet-stream'
      const response = await fetch(address(of), {
        ...{ method: 'PUT', body: content, headers: { ...headers(), 'Content-Type': type ?? own } },
        ...signalOf(signal),
      })
      // As the OpenAPI document has it.
      return (await response.json()) as FileRecord
    },
    async deleteFile(of: string): Promise<void> {
      await api.delete('/threads/{threadId}/files/content', { path, query: { path: of }, headers: headers() })
    },
  }
}
