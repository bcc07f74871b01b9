import { z } from '@hono/zod-openapi'
import { LIMITS } from '../protocol/limits.js'
import { ProblemError } from './error-response.js'
import type { ServerContext, ThreadContext } from './server-context.js'

const name = z.string().min(1).max(LIMITS.threadIdLength).optional()

/** The query that names an account or a user. */
export const ownerQuery = z.strictObject({
  account: name.openapi({ description: 'Alone: all threads of the account.' }),
  userId: name.openapi({
    description: 'The threads of this user in the account; without `account`, in threads without one.',
  }),
})

type Owner = Parameters<ServerContext['client']['permissions']>[0]

/** The owner in a request of an operator. An account must not change what holds for it. @throws ProblemError */
export function ownerOf(context: ThreadContext, owner: z.infer<typeof ownerQuery>): Owner {
  if (context.get('caller').account !== null)
    throw new ProblemError(403, 'forbidden', 'Expected the token of an operator, got that of an account.')
  // The client refuses an owner without any name.
  return owner as Owner
}
