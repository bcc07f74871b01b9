import { announceAnswer } from './announce-answer.js'
import { writeAnswer } from './answer-row.js'
import { answerVariables } from './answer-variables.js'
import { checkAnswer } from './check-answer.js'
import type { Answer } from './check-answer.js'
import type { ClientContext } from './client-context.js'

export interface Responding {
  readonly threadId: string
  readonly requestId: string
  readonly answer: Answer
}

export interface Answered {
  /** The thread id of the subagent that starts with the answer. */
  readonly child: string | null
}

/**
 * The one path of an answer: into the row of its request, which takes one only, then an Update that names the request
 * (T5). Any process may give it; the same answer again is safe, whatever failed before.
 */
export async function respond(
  context: ClientContext,
  { threadId, requestId, answer }: Responding,
): Promise<Answered> {
  const checked = checkAnswer(threadId, answer)
  const store = await context.store()
  const request =
    checked.kind === 'variables'
      ? await answerVariables(store, { threadId, requestId, values: checked.values })
      : await writeAnswer(store, { threadId, requestId, answer: checked })
  // Its call finds it as it asks, and nobody else waits for it.
  if (request.status !== 'early') await announceAnswer(context, request)
  const child = request.detail?.['child']
  return { child: typeof child === 'string' ? child : null }
}
