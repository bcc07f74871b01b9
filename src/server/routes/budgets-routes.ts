import { createRoute, z } from '@hono/zod-openapi'
import type { OwnerBudgets } from '../../policy/budget.js'
import { answerConfigErrors } from '../error-response.js'
import { ownerOf, ownerQuery } from '../owner.js'
import {
  bodyRefusals,
  json,
  jsonBody,
  problem,
  readRefusals,
  refusals,
  security,
  threadParams,
} from '../schemas.js'
import { budgetState, ownerBudgets } from '../budget-schemas.js'
import type { ServerContext, ThreadApp } from '../server-context.js'

const shared = {
  path: '/budgets' as const,
  tags: ['budgets'],
  security,
  request: { query: ownerQuery },
}

const owned = z
  .object({ budgets: ownerBudgets.nullable().openapi({ description: 'Null: none are set.' }) })
  .openapi('OwnedBudgets')

const answers = { ...refusals, 403: json('The token is not that of an operator.', problem) }

const read = createRoute({
  ...shared,
  method: 'get',
  operationId: 'getBudgets',
  summary: 'For operators: the budgets of an account or a user.',
  responses: { 200: json('The budgets.', owned), ...answers },
})

const put = createRoute({
  ...shared,
  method: 'put',
  operationId: 'setBudgets',
  summary: 'For operators: replaces the budgets of an account or a user, at once for all of its threads.',
  request: {
    ...shared.request,
    body: jsonBody(z.strictObject({ budgets: ownerBudgets }).openapi('NewOwnerBudgets')),
  },
  responses: { 204: { description: 'They hold for the next call.' }, ...answers, ...bodyRefusals },
})

const remove = createRoute({
  ...shared,
  method: 'delete',
  operationId: 'removeBudgets',
  summary: 'For operators: removes the budgets of an account or a user. What was used is kept.',
  responses: { 204: { description: 'There are none any more.' }, ...answers },
})

const ofThread = createRoute({
  ...{ tags: shared.tags, security, method: 'get', path: '/threads/{threadId}/budget' },
  operationId: 'getThreadBudget',
  summary: 'The budgets that hold for a thread and its newest run, with what is used of them.',
  request: { params: threadParams },
  responses: {
    200: json(
      'The budgets, from the widest subject to the narrowest.',
      z.object({ budgets: z.array(budgetState).readonly() }).openapi('ThreadBudget'),
    ),
    ...readRefusals,
  },
})

/** Adds the routes for budgets. */
export function addBudgetsRoutes(app: ThreadApp, { client }: ServerContext): void {
  app.openapi(read, async (context) => {
    const owner = ownerOf(context, context.req.valid('query'))
    const budgets = await answerConfigErrors(client, () => client.budgets(owner))
    // Checked before they were stored.
    return context.json({ budgets: budgets as z.infer<typeof ownerBudgets> | null }, 200)
  })
  app.openapi(put, async (context) => {
    const owner = ownerOf(context, context.req.valid('query'))
    const { budgets } = context.req.valid('json')
    // The client checks them.
    await answerConfigErrors(client, () => client.setBudgets(owner, budgets as OwnerBudgets))
    return context.body(null, 204)
  })
  app.openapi(remove, async (context) => {
    const owner = ownerOf(context, context.req.valid('query'))
    await answerConfigErrors(client, () => client.setBudgets(owner, null))
    return context.body(null, 204)
  })
  app.openapi(ofThread, async (context) => {
    const { threadId } = context.req.valid('param')
    return context.json({ budgets: await client.get(threadId).budget() }, 200)
  })
}
