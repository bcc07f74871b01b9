import type { Message } from '../../protocol/message.js'
import type { Side } from '../../protocol/plan.js'

/** A row as the model's context is made of it. */
export interface TranscriptRow extends Message {
  /** The side whose step made it; null for what somebody sent, where the role says who speaks. */
  readonly side: Side | null
  /** The run that took or made it. */
  readonly run: number | null
  /** JSON of `ReasoningDetails`. */
  readonly reasoning_details: string | null
}
