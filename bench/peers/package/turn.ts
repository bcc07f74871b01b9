import { randomBytes } from 'node:crypto'

/** What the model and the tool of this process do in the turn at hand, and what they saw. */
export interface Turn {
  /** Calls of the tool, one a step, before the answer that ends the turn. */
  calls: number
  /** Characters of each tool result. */
  resultLength: number
  /** When each model call began, in milliseconds. */
  asked: number[]
  /** Tool calls that ended. */
  done: number
}

/** The page to look up, or nothing: the model answers. */
export function nextPage(turn: Turn): number | undefined {
  turn.asked.push(performance.now())
  return turn.asked.length <= turn.calls ? turn.asked.length : undefined
}

/** A text of so many bytes that does not compress to nothing, and that JSON leaves as it is. */
export function distinctText(length: number): string {
  return randomBytes(length).toString('base64url').slice(0, length)
}
