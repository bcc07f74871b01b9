import { createRoute, z } from '@hono/zod-openapi'
import { ThreadNotFoundError } from '../../protocol/errors.js'
import { LIMITS } from '../../protocol/limits.js'
import { withoutUndefined } from '../../protocol/values.js'
import { answerConfigErrors, ProblemError } from '../error-response.js'
import {
  bodyRefusals,
  json,
  jsonBody,
  microseconds,
  problem,
  refusals,
  security,
  wholeNumber,
} from '../schemas.js'
import type { Caller, ServerContext, ThreadApp } from '../server-context.js'

const shared = { tags: ['webhooks'], security }
const name = z.string().min(1).max(LIMITS.threadIdLength)

const url = z
  .string()
  .min(1)
  .max(2000)
  .openapi({ description: 'https, on the public internet.', example: 'https://example.org/hook' })
const types = z
  .array(z.string().min(1).max(100))
  .min(1)
  .max(50)
  .openapi({ description: 'Only events of these types; `run.*` stands for all that begin so.' })

const webhook = z
  .object({
    id: z.string(),
    url: z.string(),
    account: z.string().nullable().openapi({ description: 'Null: it gets events of all accounts.' }),
    threadId: z
      .string()
      .nullable()
      .openapi({ description: 'The root of the only tree whose events it gets.' }),
    types: z.array(z.string()).readonly().nullable().openapi({ description: 'Null: all.' }),
    state: z.string().openapi({ description: 'active, failing (it is tried again), paused.' }),
    error: z.string().nullable().openapi({ description: 'Why the last attempt failed.' }),
    attempts: z.int().openapi({ description: 'Failed attempts since the last success.' }),
    failingSince: microseconds.nullable(),
    nextAttemptAt: microseconds.nullable(),
    createdAt: microseconds,
  })
  .openapi('Webhook')

const missing = { 404: json('There is no such webhook.', problem) } as const
const forbidden = { 403: json("The token's account may not set this field.", problem) } as const

const create = createRoute({
  ...shared,
  method: 'post',
  path: '/webhooks',
  operationId: 'createWebhook',
  summary: 'Posts the events that are written from now on to a URL, signed as Standard Webhooks 1.0 does.',
  request: {
    body: jsonBody(
      z
        .strictObject({
          url,
          account: name
            .optional()
            .openapi({ description: 'For operators. An account gets its own events only.' }),
          threadId: name.optional().openapi({ description: 'The root of a tree: only its events.' }),
          types: types.optional(),
        })
        .openapi('NewWebhook'),
    ),
  },
  responses: {
    201: json(
      'It is made.',
      webhook
        .extend({ secret: z.string().openapi({ description: 'For the signatures. It is shown this once.' }) })
        .openapi('CreatedWebhook'),
    ),
    ...refusals,
    ...bodyRefusals,
    ...forbidden,
    404: json('There is no such thread.', problem),
  },
})

const list = createRoute({
  ...shared,
  method: 'get',
  path: '/webhooks',
  operationId: 'listWebhooks',
  summary: 'The webhooks of the account, by id.',
  request: {
    query: z.strictObject({
      after: z
        .string()
        .max(LIMITS.nameLength)
        .optional()
        .openapi({ description: 'Only those with a later id.' }),
      limit: wholeNumber(1, LIMITS.longestPage),
    }),
  },
  responses: {
    200: json('A page.', z.object({ webhooks: z.array(webhook).readonly() }).openapi('Webhooks')),
    ...refusals,
  },
})

const one = {
  ...shared,
  path: '/webhooks/{webhookId}' as const,
  request: { params: z.object({ webhookId: z.string() }) },
}

const read = createRoute({
  ...one,
  method: 'get',
  operationId: 'getWebhook',
  summary: 'A webhook, and whether its receiver accepts what is posted.',
  responses: { 200: json('The webhook.', webhook), ...refusals, ...missing },
})

const change = createRoute({
  ...one,
  method: 'patch',
  operationId: 'updateWebhook',
  summary: 'Changes a webhook. One that was paused goes on behind the last event that was accepted.',
  request: {
    ...one.request,
    body: jsonBody(
      z
        .strictObject({
          url: url.optional(),
          types: types.nullable().optional(),
          state: z.enum(['active', 'paused']).optional(),
        })
        .openapi('WebhookChange'),
    ),
  },
  responses: { 200: json('The webhook.', webhook), ...refusals, ...bodyRefusals, ...missing },
})

const again = createRoute({
  ...shared,
  path: '/webhooks/{webhookId}/redeliver',
  method: 'post',
  operationId: 'redeliverWebhook',
  summary: 'Posts the events from one of them on again, in their order and under their ids.',
  request: {
    ...one.request,
    body: jsonBody(
      z
        .strictObject({
          eventId: z
            .string()
            .min(1)
            .max(2 * LIMITS.threadIdLength)
            .openapi({ description: 'As it was posted.', example: 'ticket-17:42' }),
        })
        .openapi('Redelivery'),
    ),
  },
  responses: { 200: json('The webhook.', webhook), ...refusals, ...bodyRefusals, ...missing },
})

const remove = createRoute({
  ...one,
  method: 'delete',
  operationId: 'deleteWebhook',
  summary: 'Deletes a webhook: nothing more is posted.',
  responses: { 204: { description: 'It is deleted.' }, ...refusals, ...missing },
})

/** Adds the routes of webhooks. An account has its own, which get the events of its own threads. */
export function addWebhooksRoutes(app: ThreadApp, { client }: ServerContext): void {
  const { webhooks } = client
  app.openapi(create, async (context) => {
    const { account: given, ...rest } = context.req.valid('json')
    const { account: own } = context.get('caller')
    if (own !== null && given !== undefined && given !== own)
      throw new ProblemError(
        403,
        'forbidden',
        'Expected no "account", or that of the token, got another one.',
      )
    if (own !== null && rest.threadId !== undefined) await requireOwnThread(rest.threadId, own)
    const made = { ...withoutUndefined(rest), ...withoutUndefined({ account: own ?? given }) }
    return context.json(await answerConfigErrors(client, () => webhooks.create(made)), 201)
  })
  app.openapi(list, async (context) => {
    const filter = { ...withoutUndefined(context.req.valid('query')), ...ownerOf(context.get('caller')) }
    return context.json({ webhooks: await answerConfigErrors(client, () => webhooks.list(filter)) }, 200)
  })
  app.openapi(read, async (context) => {
    const { webhookId } = context.req.valid('param')
    return context.json(requireFound(await webhooks.get(webhookId, ownerOf(context.get('caller')))), 200)
  })
  app.openapi(change, async (context) => {
    const { webhookId } = context.req.valid('param')
    const given = withoutUndefined(context.req.valid('json'))
    const owner = ownerOf(context.get('caller'))
    const changed = await answerConfigErrors(client, () => webhooks.update(webhookId, given, owner))
    return context.json(requireFound(changed), 200)
  })
  app.openapi(again, async (context) => {
    const { webhookId } = context.req.valid('param')
    const { eventId } = context.req.valid('json')
    const owner = ownerOf(context.get('caller'))
    const moved = await answerConfigErrors(client, () => webhooks.redeliver(webhookId, eventId, owner))
    return context.json(requireFound(moved), 200)
  })
  app.openapi(remove, async (context) => {
    const { webhookId } = context.req.valid('param')
    if (!(await webhooks.delete(webhookId, ownerOf(context.get('caller'))))) requireFound(null)
    return context.body(null, 204)
  })

  /** A thread of another account answers like one that does not exist. */
  async function requireOwnThread(threadId: string, account: string): Promise<void> {
    const thread = await client.find(threadId)
    if (thread?.account !== account) throw new ThreadNotFoundError(threadId)
  }
}

function ownerOf({ account }: Caller): { readonly account?: string } {
  return account === null ? {} : { account }
}

function requireFound<Found>(found: Found | null): Found {
  if (found === null) throw new ProblemError(404, 'not_found', 'Expected the id of a webhook, got another.')
  return found
}
