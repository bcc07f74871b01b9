import type { HttpBindings } from '@hono/node-server'
import type { MiddlewareHandler } from 'hono'
import { ConfigError } from '../../protocol/errors.js'
import { LIMITS } from '../../protocol/limits.js'
import { countRates } from '../rate-limit.js'
import type { RateLimit } from '../rate-limit.js'
import type { ServerEnv, ThreadContext } from '../server-context.js'
import { bearerToken, ownersByToken, tokenDigest, tokenProblems } from '../tokens.js'
import type { TokenOwner } from '../tokens.js'

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

interface UnknownTokens {
  /** Before a token is looked at. */
  readonly limit: MiddlewareHandler<ServerEnv>
  /** This process has given it to somebody. */
  readonly know: (token: string) => void
}

/**
 * A token of a call that nobody has seen is looked up in the store, so an address has as many of them that turn out to be none as
 * others have requests. Not counted are tokens of workers, which no store is asked for, and those of calls that were good here
 * once: who guesses, from the same machine or through the same proxy, locks no worker out that is at work.
 */
export function limitUnknownTokens(
  rateLimit: RateLimit,
  isWorker: (token: string) => boolean,
): UnknownTokens {
  const { take, giveBack } = countRates(rateLimit)
  const known = new Set<string>()

  function know(token: string): void {
    known.add(keyOf(token))
    const [oldest] = known
    if (known.size > LIMITS.knownTokens && oldest !== undefined) known.delete(oldest)
  }

  return {
    know,
    async limit(context, next) {
      const token = bearerToken(context.req.header('authorization'))
      if (token !== undefined && (isWorker(token) || known.has(keyOf(token)))) return next()
      const address = addressOf(context)
      await take(address)
      await next()
      if (context.res.status === 401) return undefined
      await giveBack(address)
      // A request may have been refused before anybody looked at its token.
      if (token !== undefined && context.res.ok) know(token)
      return undefined
    },
  }
}

function keyOf(token: string): string {
  return tokenDigest(token).toString('base64')
}

/** One address for all that come without one, as in another server than ours. */
function addressOf({ env }: ThreadContext): string {
  // What Node's adapter gives to each request.
  const { incoming } = (env ?? {}) as Partial<HttpBindings>
  return incoming?.socket.remoteAddress ?? ''
}
