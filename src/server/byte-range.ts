import type { FileRange } from '../client/thread-files.js'

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
