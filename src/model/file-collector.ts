import type { LanguageModelV4File } from '@ai-sdk/provider'
import { LIMITS } from '../protocol/limits.js'
import type { ModelFile } from './model-answer.js'
import { ModelError } from './model-error.js'
import { textOf } from './provider-values.js'

const MEGABYTE = 1024 * 1024
const BASE64 = /^[A-Za-z0-9+/_-]*={0,2}$/
const MEDIA_TYPE = /^[\w.+-]{1,100}\/[\w.+-]{1,100}$/
const UNKNOWN_TYPE = 'application/octet-stream'

/** A file that came whole, not as an address. */
export type FileWithBytes = LanguageModelV4File & { readonly data: { readonly type: 'data' } }

/** Gathers the files of one answer; they are in memory until the answer is whole, so that they have the limit of one file together. */
export class FileCollector {
  readonly #taken: ModelFile[] = []
  #bytes = 0

  get taken(): readonly ModelFile[] {
    return this.#taken
  }

  /** @throws ModelError `too_large` for too many or too large files, `incomplete` for one without readable bytes */
  take({ data, mediaType }: FileWithBytes): void {
    if (this.#taken.length >= LIMITS.messageAttachments)
      throw tooLarge(`at most ${LIMITS.messageAttachments} files`)
    this.#bytes += sizeOf(data.data)
    if (this.#bytes > LIMITS.fileBytes)
      throw tooLarge(`files of at most ${LIMITS.fileBytes / MEGABYTE} MB together`)
    this.#taken.push({ mimeType: mediaTypeOf(mediaType), data: bytesOf(data.data) })
  }
}

function sizeOf(data: unknown): number {
  if (data instanceof Uint8Array) return data.byteLength
  if (typeof data === 'string') return Buffer.byteLength(data, 'base64')
  throw unreadable('something else')
}

/** A copy: the provider's library may use its buffer again. */
function bytesOf(data: string | Uint8Array): Uint8Array {
  if (typeof data !== 'string') return Uint8Array.from(data)
  if (!BASE64.test(data)) throw unreadable('a text that is not base64')
  return Buffer.from(data, 'base64')
}

function mediaTypeOf(value: unknown): string {
  const text = textOf(value).trim().toLowerCase()
  return MEDIA_TYPE.test(text) ? text : UNKNOWN_TYPE
}

function unreadable(came: string): ModelError {
  const message = `Expected a file of the answer as bytes or base64, got ${came}.`
  return new ModelError({ kind: 'incomplete', message, retryable: true })
}

function tooLarge(expected: string): ModelError {
  const message = `Expected an answer with ${expected}, got more. Ask the model for fewer or smaller files.`
  return new ModelError({ kind: 'too_large', message, retryable: false })
}
