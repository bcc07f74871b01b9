import { ConfigError } from '../../protocol/errors.js'
import { ownersByToken, tokenProblems } from '../secret-tokens.js'
import type { TokenOwner } from '../secret-tokens.js'

/** A worker in another language: its token, and the task queues whose calls it may have. */
export interface ToolWorker extends TokenOwner {
  readonly taskQueues: readonly string[]
}

/** Finds a worker by its token. @throws ConfigError for tokens that cannot be, and workers without a task queue */
export function toolWorkers(workers: readonly ToolWorker[]): (token: string) => ToolWorker | undefined {
  const idle = workers.flatMap(({ taskQueues }, index) =>
    taskQueues.length > 0
      ? []
      : [`Expected "toolWorkers[${index}].taskQueues" to name a task queue, got none.`],
  )
  const problems = [...tokenProblems('toolWorkers', workers), ...idle]
  if (problems.length > 0) throw new ConfigError(problems)
  return ownersByToken(workers)
}
