import type { FileStream } from '../client/thread-files.js'

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
