import type { AttachmentRef } from '../../protocol/message.js'

/** What a model takes as parts of a message. */
export interface Senses {
  readonly images: boolean
  readonly documents: boolean
  readonly audio: boolean
}

export const EVERY_SENSE: Senses = { images: true, documents: true, audio: true }

export type MediaKind = 'image' | 'document' | 'audio'

/** What every provider takes; one file of another type in the history would make each later request fail. */
const KINDS: ReadonlyMap<string, MediaKind> = new Map([
  ['image/png', 'image'],
  ['image/jpeg', 'image'],
  ['image/jpg', 'image'],
  ['image/gif', 'image'],
  ['image/webp', 'image'],
  ['application/pdf', 'document'],
  ['audio/wav', 'audio'],
  ['audio/x-wav', 'audio'],
  ['audio/mpeg', 'audio'],
  ['audio/mp3', 'audio'],
])

const SIGNATURES: readonly (readonly [type: string, begins: RegExp])[] = [
  ['image/png', /^\x89PNG\r\n/],
  ['image/jpeg', /^\xff\xd8\xff/],
  ['image/gif', /^GIF8[79]a/],
  ['image/webp', /^RIFF[^]{4}WEBP/],
  ['application/pdf', /^[^]{0,1000}%PDF-/],
  ['audio/wav', /^RIFF[^]{4}WAVE/],
  ['audio/mpeg', /^(ID3|\xff[\xe2-\xff])/],
]
const LONGEST_SIGNATURE = 1024

/** How the model can be shown a file, going by its declared type; null: as a note of its path only. */
export function mediaKind({ mimeType }: AttachmentRef, senses: Senses): MediaKind | null {
  const kind = KINDS.get(mimeType.toLowerCase().split(';')[0]?.trim() ?? '')
  if (kind === undefined) return null
  return { image: senses.images, document: senses.documents, audio: senses.audio }[kind] ? kind : null
}

/** The type that the bytes themselves show: providers refuse a file that is not what it is said to be. Null: none of ours. */
export function mediaTypeOf(bytes: Uint8Array): string | null {
  const head = Buffer.from(bytes.subarray(0, LONGEST_SIGNATURE)).toString('latin1')
  return SIGNATURES.find(([, begins]) => begins.test(head))?.[0] ?? null
}
