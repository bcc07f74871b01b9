import { setTimeout as sleep } from 'node:timers/promises'

import type { ThreadEvent } from '../protocol/events.js'

export interface EventStreamOptions {
  /** One that was read already. */
  readonly first: IteratorResult<ThreadEvent, void> | undefined
  /** Milliseconds between two signs of life while nothing happens. */
  readonly heartbeat: number
  /** The stream ends when this aborts. */
  readonly signal: AbortSignal
  /** The reader has gone, or the stream has ended: nobody asks for more. */
  readonly onEnd: () => void
  /** What broke it off. Whoever reads it comes back behind the last event. */
  readonly onFailure: (failure: unknown) => void
}

const encoder = new TextEncoder()

/**
 * Events as an event stream of the web. It is pulled: the next event is read when the reader has taken the one before, so a
 * slow one holds nothing up and is held in no memory, and nothing is read for one that never comes. While nothing happens a
 * comment keeps proxies from cutting it.
 */
export function eventStream(
  events: AsyncIterator<ThreadEvent, void>,
  { first, heartbeat, signal, onEnd, onFailure }: EventStreamOptions,
): ReadableStream<Uint8Array> {
  let next = first === undefined ? undefined : Promise.resolve(first)
  let isOver = false

  /** Once: a reader that is stuck pulls no more, and must hold nothing all the same. */
  async function end(controller?: ReadableStreamDefaultController<Uint8Array>): Promise<void> {
    if (isOver) return
    isOver = true
    onEnd()
    controller?.close()
    await events.return?.()
  }

  async function pull(controller: ReadableStreamDefaultController<Uint8Array>): Promise<void> {
    next ??= events.next()
    const came = await within(next, heartbeat, signal)
    // A stream that its reader has left takes nothing more, not even its end.
    if (isOver) return
    if (came === 'quiet') return controller.enqueue(encoder.encode(': \n\n'))
    next = undefined
    if (came === 'ended' || came.done === true) return end(controller)
    controller.enqueue(encoder.encode(frameOf(came.value)))
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
    // Not even the first event before somebody reads.
    { highWaterMark: 0 },
  )
}

/** What comes first: the event, the end of the stream, or silence for as long as a heartbeat. */
async function within<T>(
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

/** JSON has no line breaks of its own, so an event is one line of data. */
function frameOf(event: ThreadEvent): string {
  return `id: ${event.cursor}\nevent: ${event.type}\ndata: ${JSON.stringify(event)}\n\n`
}
