import { createRoute, z } from '@hono/zod-openapi'
import { LIMITS } from '../../protocol/limits.js'
import { withoutUndefined } from '../../protocol/values.js'
import { ProblemError } from '../error-response.js'
import { json, microseconds, problem, readRefusals, security, threadParams, wholeNumber } from '../schemas.js'
import type { ServerContext, ThreadApp } from '../server-context.js'

const recordedError = z
  .object({
    id: z.string().openapi({ description: "The `errorId` of events and of the worker's log." }),
    at: microseconds,
    type: z.string().openapi({ description: 'The kind of a failure, for programs.' }),
    message: z
      .string()
      .openapi({ description: 'The text of the provider or of the code, without known secrets.' }),
    stack: z.string().nullable(),
  })
  .openapi('RecordedError')

const list = createRoute({
  method: 'get',
  path: '/threads/{threadId}/errors',
  operationId: 'listErrors',
  tags: ['threads'],
  security,
  summary: "For operators: the original errors of providers and tools' code, newest last.",
  request: {
    params: threadParams,
    query: z.strictObject({
      id: z.string().optional().openapi({ description: 'Only the error with this id.' }),
      limit: wholeNumber(1, LIMITS.longestPage),
    }),
  },
  responses: {
    200: json(
      'The errors.',
      z.object({ errors: z.array(recordedError).readonly() }).openapi('RecordedErrors'),
    ),
    ...readRefusals,
    403: json("The token is an account's, not an operator's.", problem),
  },
})

/** Adds the route of original errors. It is for operators only, because the texts may name what belongs to the operator. */
export function addErrorsRoutes(app: ThreadApp, { client }: ServerContext): void {
  app.openapi(list, async (context) => {
    if (context.get('caller').account !== null)
      throw new ProblemError(
        403,
        'forbidden',
        'Expected a token of an operator, got one of an account: the texts of errors are for operators only.',
      )
    const { threadId } = context.req.valid('param')
    const options = withoutUndefined(context.req.valid('query'))
    return context.json({ errors: await client.get(threadId).errors(options) }, 200)
  })
}
