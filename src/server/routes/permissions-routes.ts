import { createRoute, z } from '@hono/zod-openapi'
import type { Permissions } from '../../policy/permissions.js'
import { answerConfigErrors } from '../error-response.js'
import { ownerOf, ownerQuery } from '../owner.js'
import { bodyRefusals, json, jsonBody, problem, refusals, rules, security } from '../schemas.js'
import type { ServerContext, ThreadApp } from '../server-context.js'

const shared = {
  path: '/permissions' as const,
  tags: ['permissions'],
  security,
  request: {
    query: ownerQuery,
  },
}

const owned = z
  .object({ permissions: rules.nullable().openapi({ description: 'Null: none are set.' }) })
  .openapi('OwnerPermissions')

const answers = { ...refusals, 403: json('The token is not that of an operator.', problem) }

const read = createRoute({
  ...shared,
  method: 'get',
  operationId: 'getPermissions',
  summary: 'For operators: the rules of an account or a user.',
  responses: { 200: json('The rules.', owned), ...answers },
})

const put = createRoute({
  ...shared,
  method: 'put',
  operationId: 'setPermissions',
  summary: 'For operators: replaces the rules of an account or a user, at once for all of its threads.',
  request: {
    ...shared.request,
    body: jsonBody(z.strictObject({ permissions: rules }).openapi('NewOwnerPermissions')),
  },
  responses: { 204: { description: 'They hold for the next call.' }, ...answers, ...bodyRefusals },
})

const remove = createRoute({
  ...shared,
  method: 'delete',
  operationId: 'removePermissions',
  summary: 'For operators: removes the rules of an account or a user.',
  responses: { 204: { description: 'There are none any more.' }, ...answers },
})

/** Adds the routes for rules of accounts and users, which an account must not change. */
export function addPermissionsRoutes(app: ThreadApp, { client }: ServerContext): void {
  app.openapi(read, async (context) => {
    const owner = ownerOf(context, context.req.valid('query'))
    const permissions = await answerConfigErrors(client, () => client.permissions(owner))
    // Checked before they were stored.
    return context.json({ permissions: permissions as z.infer<typeof rules> | null }, 200)
  })
  app.openapi(put, async (context) => {
    const owner = ownerOf(context, context.req.valid('query'))
    const { permissions } = context.req.valid('json')
    // The schema has checked the shape, and the client checks the rules.
    await answerConfigErrors(client, () => client.setPermissions(owner, permissions as Permissions))
    return context.body(null, 204)
  })
  app.openapi(remove, async (context) => {
    const owner = ownerOf(context, context.req.valid('query'))
    await answerConfigErrors(client, () => client.setPermissions(owner, null))
    return context.body(null, 204)
  })
}
