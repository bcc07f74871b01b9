/**
 * The text that the end user of a thread reads when a run ends without an answer of its agent. The runtime's own sentences
 * name models and limits, which are not for every reader: `failureText` of a worker replaces them. A subagent's thread keeps
 * them, because its reader is the model of its parent.
 */
import { ConfigError } from '../protocol/errors.js'
import type { StopReason } from '../protocol/status.js'

/** A run that ends without an answer. */
export interface RunFailure {
  readonly threadId: string
  readonly agent: string
  /** `model_failed`, `repeated_tool_error`, `hard_cap`, `blocked` or `definition_missing`; later versions may add reasons. */
  readonly reason: StopReason
  /** The runtime's own text, which the user reads without `failureText`. */
  readonly text: string
}

/** One text for all failures, or a function that chooses one. */
export type FailureText = string | ((failure: RunFailure) => string)

/** @throws ConfigError */
export function checkFailureText(given: unknown): void {
  if (given === undefined || typeof given === 'function') return
  if (typeof given === 'string' && given.trim() !== '') return
  throw new ConfigError([
    `Expected failureText to be a text or a function that returns one, got ${JSON.stringify(given)}.`,
  ])
}

interface FailureOfThread extends RunFailure {
  readonly parent: string | null
}

/** The worker's text, or the runtime's. A function that throws or returns no text does not fail the run. */
export function failureTextOf(own: FailureText | undefined, { parent, ...failure }: FailureOfThread): string {
  if (own === undefined || parent !== null) return failure.text
  try {
    const text: unknown = typeof own === 'string' ? own : own(failure)
    return typeof text === 'string' && text.trim() !== '' ? text : failure.text
  } catch {
    return failure.text
  }
}
