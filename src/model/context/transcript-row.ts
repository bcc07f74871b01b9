import type { Message } from '../../protocol/message.js'
import type { Side } from '../../protocol/plan.js'

/** A row as the model's context is made of it. */
export interface TranscriptRow extends Message {
  /** The side whose step made it; null for what somebody sent, where the role says who speaks. */
  readonly side: Side | null
}
