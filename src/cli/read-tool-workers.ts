import type { ToolWorker } from '../server/index.js'
import { tokenLines } from './token-lines.js'

/**
 * Workers in other languages as a file or EVERTHREAD_TOOL_WORKERS holds them: `TOKEN QUEUE QUEUE …`, the task queues whose
 * calls the token opens. What is wrong with one, the server says itself.
 */
export function readToolWorkers(text: string): readonly ToolWorker[] {
  return tokenLines(text).map(({ token, words }) => ({ token, taskQueues: words }))
}
