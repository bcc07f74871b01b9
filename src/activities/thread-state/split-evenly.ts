/** The same bytes in pieces of one size, the last one with the rest; of no bytes one empty piece. */
export async function* splitEvenly(
  chunks: AsyncIterable<Uint8Array>,
  size: number,
): AsyncIterable<Uint8Array> {
  let piece = new Uint8Array(size)
  let filled = 0
  for await (const chunk of chunks) {
    for (let from = 0; from < chunk.byteLength;) {
      // A full piece waits for the next byte: the last one must not be followed by an empty one.
      if (filled === size) {
        yield piece
        piece = new Uint8Array(size)
        filled = 0
      }
      const part = chunk.subarray(from, from + size - filled)
      piece.set(part, filled)
      filled += part.byteLength
      from += part.byteLength
    }
  }
  yield piece.slice(0, filled)
}
