import { LIMITS } from '../../protocol/limits.js'
import { microseconds } from '../clock.js'

/** What happened just now may be under way. */
export function isFresh(at: number): boolean {
  return microseconds() - at < LIMITS.underWay * 1000
}
