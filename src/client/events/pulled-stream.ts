/** The body of an answer of server-sent events. */
import { setTimeout as sleep } from 'node:timers/promises'

interface PulledStreamOptions {
  /** A frame that is already read. */
  readonly first: IteratorResult<string, void> | undefined
  /** Milliseconds between two signs of life while nothing happens. */
  readonly heartbeat: number
  /** The stream ends when this aborts. */
  readonly signal: AbortSignal
  /** Runs when the reader has left or the stream has ended. */
  readonly onEnd: () => void
  /** Gets the error that broke the stream off; its reader connects again. */
  readonly onFailure: (failure: unknown) => void
}

const encoder = new TextEncoder()

/**
 * Makes a stream of the web of frames. It is pulled: a frame is read only when the reader has taken the one before, so a slow
 * reader blocks nothing and fills no memory, and a reader that takes nothing causes no reads. While nothing happens, comments
 * keep proxies from closing the connection.
 */
export function pulledStream(
  events: AsyncIterator<string, void>,
  { first, heartbeat, signal, onEnd, onFailure }: PulledStreamOptions,
): ReadableStream<Uint8Array> {
  let next = first === undefined ? undefined : Promise.resolve(first)
  let isOver = false

  /** Releases the frames once. It does not wait for a pull: a stuck reader pulls no more. */
  async function end(controller?: ReadableStreamDefaultController<Uint8Array>): Promise<void> {
    if (isOver) return
    isOver = true
    onEnd()
    controller?.close()
    await events.return?.()
  }

  async function pull(controller: ReadableStreamDefaultController<Uint8Array>): Promise<void> {
    next ??= events.next()
    const came = await awaitNext(next, heartbeat, signal)
    // A stream that its reader has left accepts nothing more, not even a close.
    if (isOver) return
    if (came === 'quiet') return controller.enqueue(encoder.encode(': \n\n'))
    next = undefined
    if (came === 'ended' || came.done === true) return end(controller)
    controller.enqueue(encoder.encode(came.value))
  }

  return new ReadableStream<Uint8Array>(
    {
      start(controller) {
        const stop = (): void => void end(controller).catch(onFailure)
        if (signal.aborted) stop()
        else signal.addEventListener('abort', stop, { once: true })
      },
      pull: (controller) =>
        pull(controller).catch(async (failure: unknown) => {
          onFailure(failure)
          await end(controller)
        }),
      cancel: () => end(),
    },
    // Reads nothing before the reader does, not even the first frame.
    { highWaterMark: 0 },
  )
}

/** Waits for the event, the end of the stream, or silence for the time of a heartbeat, whichever is first. */
async function awaitNext<T>(
  next: Promise<T>,
  heartbeat: number,
  signal: AbortSignal,
): Promise<T | 'quiet' | 'ended'> {
  const over = new AbortController()
  const stop = AbortSignal.any([over.signal, signal])
  const quiet = sleep(heartbeat, 'quiet' as const, { signal: stop }).catch(() => 'ended' as const)
  try {
    return await Promise.race([next, quiet])
  } finally {
    over.abort()
  }
}
