/** What ends an answer that broke off. The server under us prints what a stream throws: this has no words of anybody (T5). */
class BrokenAnswerError extends Error {
  override readonly name = 'BrokenAnswerError'
}

interface Chunks {
  next(): Promise<{ readonly done?: boolean | undefined; readonly value?: Uint8Array | undefined }>
  end(reason: unknown): Promise<unknown>
}

/**
 * The bytes of an answer, read as they are taken, and let go when nobody takes them. The status was sent before: what breaks
 * it off is heard here alone.
 */
export function answerBody(
  data: AsyncIterable<Uint8Array>,
  onFailure: (failure: unknown) => void,
): ReadableStream<Uint8Array> {
  const chunks = data instanceof ReadableStream ? read(data) : iterate(data)
  return new ReadableStream<Uint8Array>(
    {
      async pull(controller) {
        const { value } = await chunks.next().catch((failure: unknown) => {
          onFailure(failure)
          throw new BrokenAnswerError('An answer broke off; the line before says of which request.')
        })
        if (value === undefined) controller.close()
        else controller.enqueue(value)
      },
      async cancel(reason) {
        await chunks.end(reason)
      },
    },
    { highWaterMark: 0 },
  )
}

/** Ends at once, also while a chunk is waited for: a quiet stream would else outlive its reader. */
function read(stream: ReadableStream<Uint8Array>): Chunks {
  const reader = stream.getReader()
  return { next: () => reader.read(), end: (reason) => reader.cancel(reason) }
}

/** A generator would pass its end over that was never asked for its first bytes. */
function iterate(data: AsyncIterable<Uint8Array>): Chunks {
  const chunks = data[Symbol.asyncIterator]()
  return { next: () => chunks.next(), end: async () => chunks.return?.() }
}
