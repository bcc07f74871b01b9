/** What ends an answer that broke off. The server under us prints what a stream throws: this has no words of anybody (T5). */
class BrokenAnswerError extends Error {
  override readonly name = 'BrokenAnswerError'
}

/**
 * The bytes of an answer, read as they are taken, and let go when nobody takes them. The status was sent before: what breaks
 * it off is heard here alone.
 */
export function answerBody(
  data: AsyncIterable<Uint8Array>,
  onFailure: (failure: unknown) => void,
): ReadableStream<Uint8Array> {
  const chunks = data[Symbol.asyncIterator]()
  return new ReadableStream<Uint8Array>(
    {
      async pull(controller) {
        const next = await chunks.next().catch((failure: unknown) => {
          onFailure(failure)
          throw new BrokenAnswerError('An answer broke off; the line before says of which request.')
        })
        if (next.done === true) controller.close()
        else controller.enqueue(next.value)
      },
      // A generator would pass it over that was never asked for its first bytes.
      async cancel() {
        await chunks.return?.()
      },
    },
    { highWaterMark: 0 },
  )
}
