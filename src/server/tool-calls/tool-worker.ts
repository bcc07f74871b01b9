import { createHash, timingSafeEqual } from 'node:crypto'

import { ConfigError } from '../../protocol/config-error.js'

/** A worker in another language: its token, and the task queues whose calls it may have. */
export interface ToolWorker {
  /** Sent as `Authorization: Bearer …`: at least 16 characters of letters, digits and `-._~+/=`. */
  readonly token: string
  readonly taskQueues: readonly string[]
}

/** Finds a worker by its token, in the same time whatever is given. @throws ConfigError for tokens that cannot be */
export function toolWorkers(workers: readonly ToolWorker[]): (token: string) => ToolWorker | undefined {
  const problems = workers.flatMap(({ token, taskQueues }, index) => {
    const given = `toolWorkers[${index}]`
    const isToken = typeof token === 'string' && /^[\w.~+/-]{16,}=*$/.test(token)
    const bad = `Expected "${given}.token" to be 16 characters or more of letters, digits and -._~+/=.`
    const none = `Expected "${given}.taskQueues" to name a task queue, got none.`
    return [...(isToken ? [] : [bad]), ...(taskQueues.length > 0 ? [] : [none])]
  })
  const known = workers.map((worker) => ({ worker, digest: digest(String(worker.token)) }))
  if (new Set(workers.map(({ token }) => token)).size < workers.length)
    problems.push('Expected each of "toolWorkers" to have a token of its own, got one twice.')
  if (problems.length > 0) throw new ConfigError(problems)
  return (token) => known.find((one) => timingSafeEqual(one.digest, digest(token)))?.worker
}

function digest(token: string): Buffer {
  return createHash('sha256').update(token).digest()
}
