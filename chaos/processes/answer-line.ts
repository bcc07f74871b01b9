import type { Way } from './threads.js'

/** A line of the journal of answers: one before `respond` is called for the first time, one with what came of it. */
export interface AnswerLine {
  readonly threadId: string
  readonly requestId: string
  readonly approved: boolean
  readonly way: Way
  /** `returned`: it was acknowledged; `ended`: nobody waits for it any more; `refused`: for good, and for no such reason. */
  readonly kind: 'begun' | 'returned' | 'ended' | 'refused'
  /** Of an end or a refusal: what the client was told. */
  readonly problem?: string
}
