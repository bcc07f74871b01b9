import { FileError } from './file-error.js'

/** A type is a line of a header. */
const MIME_TYPE_LENGTH = 255

/** Callers write JavaScript too. @throws FileError `invalid_content` for what is no bytes, and for a type that is none */
export function checkFileContent(path: string, data: unknown, mimeType: unknown): void {
  const isBytes = typeof data === 'string' || data instanceof Uint8Array || isStream(data)
  if (!isBytes)
    throw new FileError(
      'invalid_content',
      `Expected the data of ${path} to be bytes, a text or a stream of bytes, got ${nameOf(data)}`,
    )
  if (typeof mimeType === 'string' && mimeType !== '' && mimeType.length <= MIME_TYPE_LENGTH) return
  throw new FileError(
    'invalid_content',
    `Expected the MIME type of ${path} to be a text such as text/plain, got ${nameOf(mimeType)}`,
  )
}

function isStream(data: unknown): boolean {
  return typeof data === 'object' && data !== null && Symbol.asyncIterator in data
}

function nameOf(value: unknown): string {
  if (value === null) return 'null'
  return typeof value === 'string' ? `a text of ${value.length} characters` : typeof value
}
