import { now } from '../clock.js'

/** Ends each stamp: a delta may hold several tokens. */
export const STAMP_END = ';'

/** Milliseconds since each token of a text was made. */
export function agesOf(text: string): readonly number[] {
  const at = now()
  return text.split(STAMP_END).flatMap((stamp) => (stamp === '' ? [] : [at - Number(stamp)]))
}
