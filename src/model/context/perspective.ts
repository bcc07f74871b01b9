import type { Side } from '../../protocol/plan.js'
import type { TranscriptRow } from './transcript-row.js'

/** Who is asked: the side that acts sees its own rows as `assistant` and all others as `user`. */
export interface Perspective {
  readonly type: 'ai_human' | 'dual_ai'
  readonly side: Side
}

/** Whether the side that is asked wrote it, or made the call that it answers. */
export function isOwn(row: TranscriptRow, { type, side }: Perspective): boolean {
  const sideOfRole = row.role === 'user' ? 'b' : 'a'
  return (type === 'ai_human' ? sideOfRole : (row.side ?? sideOfRole)) === side
}
