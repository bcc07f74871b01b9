/** What ends an answer that broke off. The server under us prints what a stream throws: this has no words of anybody (T5). */
class BrokenAnswerError extends Error {
  override readonly name = 'BrokenAnswerError'
}

/** The bytes of an answer. Its status was sent before: what breaks it is heard here alone. */
export async function* answerBody(
  data: AsyncIterable<Uint8Array>,
  onFailure: (failure: unknown) => void,
): AsyncGenerator<Uint8Array> {
  try {
    yield* data
  } catch (failure) {
    onFailure(failure)
    throw new BrokenAnswerError('An answer broke off; the line before says of which request.')
  }
}
