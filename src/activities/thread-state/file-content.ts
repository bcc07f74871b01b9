import { LIMITS } from '../../protocol/limits.js'
import type { BlobStore } from '../../store/files/blob-store.js'
import { HIGHEST_INT, isPixels } from '../../store/schema.js'
import type { StoredContent } from './file-changes.js'
import { jsonObjectCopy, kindOf } from './strict-json.js'

/** What a tool gives as a file; `path` or name is for the sentences. */
export interface GivenContent {
  readonly named: string
  readonly data: ArrayBuffer | Uint8Array | string
  readonly encoding: 'utf8' | 'base64'
  readonly mimeType: string
  readonly width?: number | undefined
  readonly height?: number | undefined
  readonly metadata?: Record<string, unknown> | undefined
}

const MIME_TYPE_LENGTH = 255

/** Checks it at once; what it answers puts the bytes into the blob store. @throws a sentence on what is wrong with it */
export function prepareContent(blobs: BlobStore, given: GivenContent): () => Promise<StoredContent> {
  const { named, mimeType } = given
  if (typeof mimeType !== 'string' || mimeType === '' || mimeType.length > MIME_TYPE_LENGTH)
    throw new Error(
      `Expected the MIME type of ${named} to be a text such as text/plain, got ${kindOf(mimeType)}.`,
    )
  const facts = {
    mimeType,
    width: pixels(given.width, `the width of ${named}`),
    height: pixels(given.height, `the height of ${named}`),
    metadata: given.metadata == null ? null : { ...jsonObjectCopy(given.metadata, `metadata of ${named}`) },
  }
  const bytes = bytesOf(given)
  return async () => {
    const { digest, size } = await blobs.write(bytes)
    return { blob: digest, size, ...facts }
  }
}

/** A copy of the bytes: the tool may go on using its buffer while they are written. */
function bytesOf({ named, data, encoding }: GivenContent): Uint8Array {
  if (typeof data === 'string') {
    if (encoding === 'base64' && !isBase64(data))
      throw new Error(`Expected the data of ${named} to be bytes or base64, got a text that is not base64.`)
    assertSize(named, Buffer.byteLength(data, encoding))
    return Buffer.from(data, encoding)
  }
  if (!(data instanceof ArrayBuffer) && !(data instanceof Uint8Array))
    throw new Error(
      `Expected the data of ${named} to be an ArrayBuffer, a Uint8Array or a text, got ${kindOf(data)}.`,
    )
  assertSize(named, data.byteLength)
  return data instanceof Uint8Array ? Uint8Array.from(data) : new Uint8Array(data.slice(0))
}

function assertSize(named: string, size: number): void {
  if (size <= LIMITS.fileBytes) return
  const megabytes = LIMITS.fileBytes / 1024 / 1024
  throw new Error(`Expected ${named} to have at most ${megabytes} MB, got ${size} bytes: split it.`)
}

/** Node's decoder passes over what is not base64, and would store something else than was meant. */
function isBase64(text: string): boolean {
  return text.length % 4 === 0 && /^[A-Za-z0-9+/]*={0,2}$/.test(text)
}

function pixels(value: unknown, named: string): number | null {
  if (value == null) return null
  if (isPixels(value)) return value
  const came = typeof value === 'number' ? value : kindOf(value)
  throw new Error(`Expected ${named} to be a whole number of pixels, at most ${HIGHEST_INT}, got ${came}.`)
}
