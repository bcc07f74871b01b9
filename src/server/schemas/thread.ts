import { z } from '@hono/zod-openapi'

import { microseconds, next } from './parts.js'

/** Open: later versions add members. */
export const status = z.string().openapi({
  description:
    'idle, running, waiting_permission, waiting_input, waiting_resource, blocked, stopped, completed, failed, terminated, ' +
    'lost; later versions add some.',
  example: 'idle',
})

export const threadSummary = z
  .object({
    threadId: z.string(),
    agent: z.string(),
    status,
    userId: z.string().nullable(),
    account: z.string().nullable(),
    parent: z.string().nullable().openapi({ description: 'Null for a root thread.' }),
    root: z.string(),
    title: z.string().nullable(),
    tags: z.array(z.string()).readonly(),
    createdAt: microseconds,
    lastActivityAt: microseconds,
    closedAt: microseconds.nullable(),
  })
  .openapi('Thread')

export const threadsPage = z
  .object({ threads: z.array(threadSummary).readonly(), next })
  .openapi('ThreadsPage')

export const agentSummary = z
  .object({
    name: z.string(),
    type: z.string(),
    title: z.string().nullable(),
    description: z.string().nullable(),
    icon: z.string().nullable(),
    exposeAsTool: z.boolean(),
  })
  .openapi('Agent')
