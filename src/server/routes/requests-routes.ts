import { createRoute, z } from '@hono/zod-openapi'
import type { Answer } from '../../client/answers/check-answer.js'
import { LIMITS } from '../../protocol/limits.js'
import { withoutUndefined } from '../../protocol/values.js'
import { answerConfigErrors, ProblemError } from '../error-response.js'
import {
  fields,
  problem,
  json,
  jsonBody,
  pageQuery,
  wholeNumber,
  readRefusals,
  refusals,
  security,
  threadParams,
  writeRefusals,
} from '../schemas.js'
import { grant, recordedDecision, pendingRequest, requestsPage } from '../thread-schemas.js'
import type { ServerContext, ThreadApp } from '../server-context.js'

const shared = { tags: ['requests'], security }

const list = createRoute({
  ...shared,
  method: 'get',
  path: '/requests',
  operationId: 'listRequests',
  summary: 'The requests that wait for an answer in all threads of the account, oldest first.',
  request: {
    query: pageQuery.extend({
      agent: z.string().optional(),
      userId: z.string().optional(),
      threadId: z.string().optional(),
      root: z
        .string()
        .optional()
        .openapi({ description: 'Those of all threads of its tree, its own included.' }),
      account: z.string().optional().openapi({ description: 'For operators.' }),
    }),
  },
  responses: { 200: json('A page.', requestsPage), ...refusals },
})

const params = threadParams.extend({ requestId: z.string() })

const path = '/threads/{threadId}/requests/{requestId}' as const

const read = createRoute({
  ...shared,
  method: 'get',
  path,
  operationId: 'getRequest',
  summary: 'One request that waits for its answer.',
  request: { params },
  responses: { 200: json('The pending request.', pendingRequest), ...readRefusals },
})

const answer = z
  .union([
    z.strictObject({
      approved: z.boolean(),
      reason: z.string().max(LIMITS.answerTextBytes).optional(),
      by: z.string().max(LIMITS.answerTextBytes).optional().openapi({
        description: "Who decided, where the caller's token names no user.",
      }),
      arguments: fields.optional().openapi({
        description: 'With `approved: true`: the call of a tool runs with these. `[redacted]` keeps a value.',
      }),
      remember: z
        .strictObject({
          for: z.enum(['thread', 'tree', 'user']),
          what: z.enum(['capabilities', 'arguments']).optional(),
          expiresIn: z.number().min(1).optional().openapi({ description: 'Milliseconds.' }),
        })
        .optional()
        .openapi({ description: 'With `approved: true`: what is the same later is approved, too.' }),
      raise: z
        .number()
        .optional()
        .openapi({ description: 'For a request about a budget: the new limit. Default: as much again.' }),
    }),
    z.strictObject({ env: z.record(z.string(), z.string()) }),
    z.strictObject({
      result: fields.openapi({
        description:
          "A tool's result: `status`, `result`, `error`, … For an approval of a tool it stands in the place of the call.",
      }),
      by: z.string().max(LIMITS.answerTextBytes).optional(),
    }),
  ])
  .openapi('Answer')

const respond = createRoute({
  ...shared,
  method: 'post',
  path,
  operationId: 'answerRequest',
  summary: 'Answers a request once; repeating the same answer is no error.',
  request: { params, body: jsonBody(answer) },
  responses: {
    200: json('The answer is accepted.', z.object({ child: z.string().nullable() }).openapi('Answered')),
    403: json('The approval wants somebody else; the request stays open.', problem),
    ...writeRefusals,
  },
})

const decisions = createRoute({
  ...shared,
  method: 'get',
  path: '/threads/{threadId}/decisions',
  operationId: 'listDecisions',
  summary:
    'What was decided about the calls of a thread, newest last: each call that was executed, denied or waits has one.',
  request: {
    params: threadParams,
    query: z.strictObject({
      toolCallId: z.string().optional().openapi({ description: 'Only that about this call.' }),
      limit: wholeNumber(1, LIMITS.longestPage),
    }),
  },
  responses: {
    200: json(
      'The decisions.',
      z.object({ decisions: z.array(recordedDecision).readonly() }).openapi('Decisions'),
    ),
    ...readRefusals,
  },
})

const page = {
  after: z.string().optional().openapi({ description: 'The last id of the page before.' }),
  limit: wholeNumber(1, LIMITS.longestPage),
}

const grantsPage = json('A page.', z.object({ grants: z.array(grant).readonly() }).openapi('Grants'))

const grants = createRoute({
  ...shared,
  method: 'get',
  path: '/grants',
  operationId: 'listGrants',
  summary: 'The approvals of the account that are remembered and not revoked, by id.',
  request: {
    query: z.strictObject({
      ...page,
      userId: z.string().optional(),
      account: z.string().optional().openapi({ description: 'For operators.' }),
    }),
  },
  responses: { 200: grantsPage, ...refusals },
})

const threadGrants = createRoute({
  ...shared,
  method: 'get',
  path: '/threads/{threadId}/grants',
  operationId: 'listThreadGrants',
  summary: 'The remembered approvals that hold for a thread: its own, those of its tree and of its user.',
  request: { params: threadParams, query: z.strictObject(page) },
  responses: { 200: grantsPage, ...readRefusals },
})

const revoke = createRoute({
  ...shared,
  method: 'delete',
  path: '/grants/{grantId}',
  operationId: 'revokeGrant',
  summary: 'Revokes a remembered approval; again it changes nothing.',
  request: { params: z.object({ grantId: z.string() }) },
  responses: { 204: { description: 'It is revoked.' }, ...readRefusals },
})

/** Adds the routes that list the requests of threads and answer them, and that list decisions. */
export function addRequestsRoutes(app: ThreadApp, { client }: ServerContext): void {
  app.openapi(list, async (context) => {
    const { cursor, limit, account: asked, ...rest } = context.req.valid('query')
    const account = context.get('caller').account ?? asked
    const filter = withoutUndefined({ ...rest, account })
    const page = await answerConfigErrors(client, () =>
      client.pendingPage(filter, withoutUndefined({ cursor, limit })),
    )
    return context.json(page, 200)
  })
  app.openapi(read, async (context) => {
    const { threadId, requestId } = context.req.valid('param')
    return context.json(await client.get(threadId).request(requestId), 200)
  })
  app.openapi(decisions, async (context) => {
    const { threadId } = context.req.valid('param')
    const options = withoutUndefined(context.req.valid('query'))
    return context.json({ decisions: await client.get(threadId).decisions(options) }, 200)
  })
  app.openapi(respond, async (context) => {
    const { threadId, requestId } = context.req.valid('param')
    // The client checks the whole answer.
    const given = context.req.valid('json') as Answer
    const { account, user, roles, thread } = context.get('caller')
    const scope = (given as { readonly remember?: { readonly for?: string } }).remember?.for
    if (thread !== undefined && scope !== undefined && scope !== 'thread')
      throw new ProblemError(
        403,
        'forbidden',
        'Expected an approval that is remembered for this thread alone, got a wider one.',
      )
    const caller = { account, ...withoutUndefined({ user, roles }) }
    return context.json(await client.get(threadId).respond(requestId, given, { caller }), 200)
  })
  app.openapi(grants, async (context) => {
    const { account: asked, ...rest } = context.req.valid('query')
    const account = context.get('caller').account ?? asked
    return context.json({ grants: await client.grants(withoutUndefined({ ...rest, account })) }, 200)
  })
  app.openapi(threadGrants, async (context) => {
    const { threadId } = context.req.valid('param')
    const filter = { threadId, ...withoutUndefined(context.req.valid('query')) }
    return context.json({ grants: await client.grants(filter) }, 200)
  })
  app.openapi(revoke, async (context) => {
    const { grantId } = context.req.valid('param')
    const account = context.get('caller').account ?? undefined
    const isKnown = await client.revokeGrant(grantId, withoutUndefined({ account }))
    if (!isKnown) throw new ProblemError(404, 'grant_not_found', `Expected a grant "${grantId}", found none.`)
    return context.body(null, 204)
  })
}
