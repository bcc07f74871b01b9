/** A stream of UI messages as the body of an HTTP answer, as `DefaultChatTransport` of `ai` reads it. */
import type { UIMessageChunk } from '../../views/ui-messages.js'
import { pulledStream } from '../events/pulled-stream.js'
import type { ThreadHandle } from '../thread-handle.js'
import type { SubmitUIMessages, UIMessagesRequest } from './submit.js'
import type { UIStreamOptions } from '../../views/ui-message-stream.js'

/** The headers of such an answer. */
export const UI_STREAM_HEADERS = {
  'content-type': 'text/event-stream',
  'cache-control': 'no-cache',
  'x-vercel-ai-ui-message-stream': 'v1',
  'x-accel-buffering': 'no',
} as const

/** The text of the body: one frame a chunk, and the mark of the end. Nothing but the text goes over the wire. */
export async function* uiStreamFrames(
  chunks: AsyncIterable<UIMessageChunk> | Iterable<UIMessageChunk>,
  signal?: AbortSignal,
): AsyncGenerator<string, void> {
  for await (const chunk of chunks) yield `data: ${JSON.stringify(chunk)}\n\n`
  // A reader that misses the mark knows that its stream was cut off.
  if (signal?.aborted !== true) yield 'data: [DONE]\n\n'
}

export interface UIStreamResponse extends SubmitUIMessages, Partial<UIStreamOptions> {
  /** Of the request: the stream ends when its reader leaves. */
  readonly signal?: AbortSignal
  /** For a GET: the cursor of `uiMessages()`. A message that has ended since is told, too. */
  readonly after?: string
  /** Milliseconds between two signs of life while nothing happens. @default 15,000 */
  readonly heartbeat?: number
  /** Gets the error that broke the stream off. @default it is dropped: the reader sees the break */
  readonly onFailure?: (failure: unknown) => void
}

/**
 * Answers a request of `useChat`: takes the new message or the answers in its body, and streams what follows. For a GET, give `null`: the
 * message under way from its start, or 204. Check before whether the caller may use the thread.
 * @throws ThreadNotFoundError, and what `send` and `respond` throw
 */
export async function toUIMessageStreamResponse(
  thread: ThreadHandle,
  request: UIMessagesRequest | null,
  { signal, heartbeat, onFailure = () => undefined, fileUrl, after, ...options }: UIStreamResponse = {},
): Promise<Response> {
  const end = new AbortController()
  const stop = signal === undefined ? end.signal : AbortSignal.any([end.signal, signal])
  const shown = { signal: stop, ...(fileUrl !== undefined && { fileUrl }) }
  const chunks =
    request === null
      ? await thread.resumeUIMessages({ ...shown, ...(after !== undefined && { after }) })
      : await thread.submitUIMessages(request, { ...options, ...shown })
  if (chunks === null) return new Response(null, { status: 204 })
  const body = pulledStream(uiStreamFrames(chunks, stop), {
    ...{
      first: undefined,
      heartbeat: heartbeat ?? 15_000,
      signal: stop,
      onEnd: () => end.abort(),
      onFailure,
    },
  })
  return new Response(body, { headers: UI_STREAM_HEADERS })
}
