import { randomBytes } from 'node:crypto'
import { setTimeout as delay } from 'node:timers/promises'

import { Context } from '@temporalio/activity'

/** Twenty words a second. */
const PAUSE = 50

/** What the model and the tool of this process do in the turns at hand, and what they saw. */
export interface Turn {
  /** Calls of the tool, one a step, before the answer that ends a turn. */
  calls: number
  /** Characters of each tool result. */
  resultLength: number
  /** How long each answer of the model takes. */
  seconds: number
  /** When each model call began, in milliseconds, by the id of its workflow. */
  asked: Map<string, number[]>
  /** Tool calls that ended. */
  done: number
}

/** The page to look up, or nothing: the model answers. */
export function nextPage(turn: Turn): number | undefined {
  const { workflowExecution } = Context.current().info
  if (workflowExecution === undefined) throw new Error('Expected an activity of a workflow.')
  const asked = turn.asked.get(workflowExecution.workflowId) ?? []
  turn.asked.set(workflowExecution.workflowId, asked)
  asked.push(performance.now())
  return asked.length <= turn.calls ? asked.length : undefined
}

/** Resolves when the model has thought for as long as the turn says. */
export async function think({ seconds }: Turn): Promise<void> {
  if (seconds > 0) await delay(seconds * 1000)
}

/** A word at once, and more of them for as long as the turn says. */
export async function* words({ seconds }: Turn): AsyncGenerator<string> {
  const until = performance.now() + seconds * 1000
  do {
    yield 'word '
    await delay(Math.min(PAUSE, Math.max(0, until - performance.now())))
  } while (performance.now() < until)
}

/** A text of so many bytes that does not compress to nothing, and that JSON leaves as it is. */
export function distinctText(length: number): string {
  return randomBytes(length).toString('base64url').slice(0, length)
}
