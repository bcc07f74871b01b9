import { createRoute, z } from '@hono/zod-openapi'
import { json, refusals, security } from '../schemas/parts.js'
import { agentSummary } from '../schemas/thread.js'
import type { ServerContext, ThreadApp } from '../server-context.js'

const list = createRoute({
  method: 'get',
  path: '/agents',
  operationId: 'listAgents',
  tags: ['agents'],
  security,
  summary: 'The agents that workers run, by name; the same for all accounts.',
  responses: {
    200: json('All of them.', z.object({ agents: z.array(agentSummary) }).openapi('Agents')),
    ...refusals,
  },
})

/** What threads can be made of. */
export function addAgentsRoutes(app: ThreadApp, { client }: ServerContext): void {
  app.openapi(list, async (context) => {
    const agents = []
    for await (const agent of client.agents()) agents.push(agent)
    return context.json({ agents }, 200)
  })
}
