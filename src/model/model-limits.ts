import { LIMITS } from '../protocol/limits.js'

/** What one model call may take: milliseconds, and bytes of UTF-8. */
export interface ModelLimits {
  /** All attempts of the call together. */
  readonly total: number
  /** From the request to the first chunk with content. */
  readonly firstChunk: number
  /** Between two chunks, once content came. */
  readonly stall: number
  /** Text, reasoning and tool arguments together. */
  readonly answerBytes: number
}

/** The limits of production; tests give shorter ones. */
export const MODEL_LIMITS: ModelLimits = {
  total: LIMITS.modelCall,
  firstChunk: LIMITS.modelFirstChunk,
  stall: LIMITS.modelStall,
  answerBytes: LIMITS.answerBytes,
}
