import { LIMITS } from '../protocol/limits.js'

/** The bytes of a new attachment, given as bytes or base64; a text says what is wrong with them. */
export function attachmentBytes(data: unknown): Uint8Array | string {
  const bytes = typeof data === 'string' ? fromBase64(data) : data
  if (!(bytes instanceof Uint8Array)) return `Expected "data" to be bytes or base64, got ${nameOf(data)}.`
  if (bytes.length <= LIMITS.fileBytes) return bytes
  return `Expected a file of at most ${LIMITS.fileBytes} bytes, got ${bytes.length}.`
}

/** Node passes over what is not base64 and would store something else than was meant, such as of a plain text. */
function fromBase64(data: string): Uint8Array | undefined {
  const text = data.replaceAll(/[\r\n]/g, '')
  const isWhole = text.length % 4 === 0 || (!text.includes('=') && text.length % 4 !== 1)
  return isWhole && /^[\w+/-]*={0,2}$/.test(text) ? Buffer.from(text, 'base64') : undefined
}

function nameOf(data: unknown): string {
  return typeof data === 'string' ? 'a text that is no base64' : typeof data
}
