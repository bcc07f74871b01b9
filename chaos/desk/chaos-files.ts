import { createHash } from 'node:crypto'

import { hashedNumber } from './hashed-number.js'

const LARGEST = 64 * 1024

/** The name of a file that a person attaches; it decides the bytes, so that anybody can check them. */
export function attachedName(thread: number, file: number): string {
  return `f-${thread}-${file}.bin`
}

/** The name of what a stamp makes of a file. */
export function stampedName(name: string): string {
  return `s-${name}`
}

/** What a file of that name holds; null for a name that is none of chaos, such as a note's. */
export function expectedBytes(name: string): Uint8Array | null {
  // A second file of one name has a number put to it.
  const known = /^(s-)?(f-\d+-\d+)/.exec(name)
  if (known === null) return null
  const [, stamped, base = ''] = known
  const bytes = bytesOf(base)
  return stamped === undefined ? bytes : bytes.toReversed()
}

export function digestOf(bytes: Uint8Array): string {
  return createHash('sha256').update(bytes).digest('hex')
}

function bytesOf(name: string): Uint8Array {
  const size = 1 + hashedNumber(`size ${name}`, LARGEST)
  const block = createHash('sha512').update(name).digest()
  return Uint8Array.from({ length: size }, (_, index) => ((block[index % 64] ?? 0) + (index >> 6)) & 255)
}
