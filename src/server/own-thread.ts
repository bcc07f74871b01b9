import type { MiddlewareHandler } from 'hono'
import { ThreadNotFoundError } from '../protocol/errors.js'
import type { ServerContext, ServerEnv } from './server-context.js'

/**
 * Lets through only who may see the thread in the path. One of another account answers as one that does not exist, before
 * anything else of the request is looked at; subagents have the account of their root.
 */
export function guardThreads({ client }: Pick<ServerContext, 'client'>): MiddlewareHandler<ServerEnv> {
  return async (context, next) => {
    const threadId = context.req.param('threadId') ?? ''
    const { account } = context.get('caller')
    const thread = await client.find(threadId)
    if (thread === null || (account !== null && thread.account !== account))
      throw new ThreadNotFoundError(threadId)
    await next()
  }
}
