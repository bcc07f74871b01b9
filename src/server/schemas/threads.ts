import { z } from '@hono/zod-openapi'
import type { ThreadTree } from '../../client/lists/thread-tree.js'
import { microseconds, next } from './messages.js'

/** Open: later versions add members. */
const status = z.string().openapi({
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

const reason = z.string().openapi({ description: 'Why a run ended; later versions add members.' })

const run = z.object({
  runId: z.string(),
  side: z.enum(['a', 'b']),
  steps: z.int(),
  sessionTurns: z.int(),
  doing: z.string().nullable(),
  taskQueue: z.string().optional().openapi({
    description: "Where that is done, if not on the thread's own: without a worker there it waits.",
  }),
  since: microseconds,
})

const queued = z.object({
  id: z.string(),
  kind: z.enum(['message', 'tool', 'effect', 'report', 'variables', 'continue']),
  queuedAt: microseconds,
  preview: z.string().optional(),
})

const effect = z.object({
  id: z.string(),
  name: z.string(),
  scheduledAt: microseconds,
  createdAt: microseconds,
})

/** A child as its parent knows it. */
const entry = z
  .object({
    reference: z.string().openapi({ description: 'Its thread id.' }),
    name: z.string(),
    title: z.string().optional(),
    description: z.string(),
    resumable: z.boolean(),
    blocking: z.boolean(),
    threadName: z.string().optional(),
    spawnGroupId: z.string().optional(),
    createdAt: microseconds,
    status: z.string(),
    parentCommunication: z.enum(['implicit', 'explicit']),
  })
  .openapi('Subagent')

export const snapshot = z
  .object({
    threadId: z.string(),
    agent: z.string(),
    parent: z.string().nullable(),
    root: z.string(),
    status,
    statusText: z
      .string()
      .nullable()
      .openapi({ description: 'What the thread last said of itself; null if it said nothing yet.' }),
    stale: z
      .boolean()
      .openapi({ description: 'True: what the store has, for no worker answered or it is closed.' }),
    at: microseconds,
    run: run.nullable(),
    queue: z.array(queued).readonly(),
    pending: z.array(pendingRequest).readonly(),
    effects: z.array(effect).readonly(),
    children: z.array(entry).readonly(),
    lastRun: z.object({ runId: z.string(), reason, steps: z.int(), endedAt: microseconds }).nullable(),
    lastSequence: z.int(),
    createdAt: microseconds,
    terminated: microseconds.nullable(),
  })
  .openapi('Snapshot')

/** A thread and all below it. */
export const tree: z.ZodType<ThreadTree> = z
  .object({
    threadId: z.string(),
    agent: z.string(),
    status,
    closedAt: microseconds.nullable(),
    entry: z.union([entry, z.null()]),
    get children() {
      return z.array(tree).readonly()
    },
  })
  .openapi('Tree') as z.ZodType<ThreadTree>
