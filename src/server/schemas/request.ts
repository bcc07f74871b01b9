import { z } from '@hono/zod-openapi'

import { microseconds, next } from './parts.js'

const names = z.array(z.string()).readonly()

const asked = { id: z.string(), requestedAt: microseconds }

const call = z.object({
  ...asked,
  kind: z.enum(['approval', 'call']),
  toolName: z.string(),
  args: z.any().optional().openapi({ description: 'As the model wrote them.' }),
})

const variables = z.object({
  ...asked,
  kind: z.literal('variables'),
  agent: z.string(),
  required: names,
  missing: names,
  child: z.string().optional().openapi({ description: 'The subagent that starts with the answer.' }),
})

/** What waits for an answer. */
export const pendingRequest = z.union([call, variables]).openapi('PendingRequest')

const threadId = { threadId: z.string() }

const threadRequest = z.union([call.extend(threadId), variables.extend(threadId)]).openapi('ThreadRequest')

export const requestsPage = z
  .object({ requests: z.array(threadRequest).readonly(), next })
  .openapi('RequestsPage')
