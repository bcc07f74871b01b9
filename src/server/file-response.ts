import type { FileRange, FileStream } from '../client/lists/thread-files.js'

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

/**
 * The one range of a `Range` header as a slice; undefined for none, and for what is not understood or several, which HTTP
 * lets a server answer with the whole file.
 */
export function readRange(header: string | undefined): FileRange | undefined {
  const [, first = '', last = ''] = /^bytes=(\d{0,15})-(\d{0,15})$/.exec(header?.trim() ?? '') ?? []
  if (first === '' && last === '') return undefined
  // The last N bytes; none of them can be had.
  if (first === '') return Number(last) === 0 ? { start: Number.MAX_SAFE_INTEGER } : { start: -Number(last) }
  const start = Number(first)
  if (last === '') return { start }
  return Number(last) < start ? undefined : { start, end: Number(last) + 1 }
}

/** What a header can carry of a type; anything else is bytes. */
const MIME_TYPE = /^[\w.+-]{1,100}\/[\w.+-]{1,100}(; ?[\w-]{1,40}="?[\w.+ -]{1,100}"?)*$/

/** Headers of a file's bytes that are read in ranges, and kept by whoever read them. */
export function downloadHeaders(
  { file, start, end }: FileStream,
  etag: string,
): Readonly<Record<string, string>> {
  const { mimeType, name } = file
  return { ...bytesHeaders({ mimeType, name, size: end - start }), 'Accept-Ranges': 'bytes', ETag: etag }
}

/**
 * Headers of a file's bytes. Whatever it says of itself, a browser saves it and runs nothing of it: an HTML file of a thread
 * must not act for whoever opens it.
 */
export function bytesHeaders({
  mimeType,
  name,
  size,
}: {
  readonly mimeType: string
  readonly name: string
  readonly size: number
}): Readonly<Record<string, string>> {
  return {
    'Content-Type': MIME_TYPE.test(mimeType) ? mimeType : 'application/octet-stream',
    'Content-Length': String(size),
    'Content-Disposition': `attachment; filename*=UTF-8''${encoded(name)}`,
    'Content-Security-Policy': "default-src 'none'; sandbox",
    'X-Content-Type-Options': 'nosniff',
  }
}

/** RFC 8187: all that is no plain letter, digit or sign is escaped. */
function encoded(name: string): string {
  return encodeURIComponent(name).replaceAll(
    /['()*]/g,
    (sign) => `%${sign.charCodeAt(0).toString(16).toUpperCase()}`,
  )
}
