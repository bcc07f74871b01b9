import type { FileRange, FileStream } from '../client/lists/thread-files.js'

/** Ends an answer that broke off. Node's server prints the error that a stream throws, so this one has no content (T5). */
class BrokenAnswerError extends Error {
  override readonly name = 'BrokenAnswerError'
}

interface Chunks {
  next(): Promise<{ readonly done?: boolean | undefined; readonly value?: Uint8Array | undefined }>
  end(reason: unknown): Promise<unknown>
}

/**
 * The bytes of an answer as a stream, which reads them as its reader takes them and releases them when the reader leaves.
 * The status is sent before, so only `onFailure` gets the error that breaks the answer off.
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
          throw new BrokenAnswerError(
            'An answer broke off; the line of the log before this one names the request.',
          )
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

/** `end` works also while a chunk is pending: a quiet stream would otherwise outlive its reader. */
function read(stream: ReadableStream<Uint8Array>): Chunks {
  const reader = stream.getReader()
  return { next: () => reader.read(), end: (reason) => reader.cancel(reason) }
}

/** Calls the iterator itself: a generator around it would not pass its end on before it has started. */
function iterate(data: AsyncIterable<Uint8Array>): Chunks {
  const chunks = data[Symbol.asyncIterator]()
  return { next: () => chunks.next(), end: async () => chunks.return?.() }
}

/**
 * Reads the single range of a `Range` header as a slice. Undefined for none, several and unknown forms: HTTP lets a server
 * answer those with the whole file.
 */
export function readRange(header: string | undefined): FileRange | undefined {
  const [, first = '', last = ''] = /^bytes=(\d{0,15})-(\d{0,15})$/.exec(header?.trim() ?? '') ?? []
  if (first === '' && last === '') return undefined
  // The last N bytes. A range of the last 0 bytes starts behind the file and is refused.
  if (first === '') return Number(last) === 0 ? { start: Number.MAX_SAFE_INTEGER } : { start: -Number(last) }
  const start = Number(first)
  if (last === '') return { start }
  return Number(last) < start ? undefined : { start, end: Number(last) + 1 }
}

/** The types that a header can carry; any other is sent as application/octet-stream. */
const MIME_TYPE = /^[\w.+-]{1,100}\/[\w.+-]{1,100}(; ?[\w-]{1,40}="?[\w.+ -]{1,100}"?)*$/

/** Headers of a file's bytes that a reader may request in ranges and cache. */
export function downloadHeaders(
  { file, start, end }: FileStream,
  etag: string,
): Readonly<Record<string, string>> {
  const { mimeType, name } = file
  return { ...bytesHeaders({ mimeType, name, size: end - start }), 'Accept-Ranges': 'bytes', ETag: etag }
}

/**
 * Headers of a file's bytes. A browser saves a file of any type and runs none of it: an HTML file of a thread must not act
 * with the rights of the person who opens it.
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
    'Content-Disposition': `attachment; filename*=UTF-8''${encodeName(name)}`,
    'Content-Security-Policy': "default-src 'none'; sandbox",
    'X-Content-Type-Options': 'nosniff',
  }
}

/** Escapes all but plain letters, digits and signs, as RFC 8187 asks. */
function encodeName(name: string): string {
  return encodeURIComponent(name).replaceAll(
    /['()*]/g,
    (sign) => `%${sign.charCodeAt(0).toString(16).toUpperCase()}`,
  )
}
