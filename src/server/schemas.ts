import { z } from '@hono/zod-openapi'

import { LIMITS } from '../protocol/limits.js'
import type { ThreadTree } from '../client/lists/thread-tree.js'

/** The one shape of an error. */
export const problem = z
  .object({
    error: z.object({
      code: z.string().openapi({ description: 'For programs: later versions add codes.' }),
      message: z.string().openapi({ description: 'For people: what was expected and what came.' }),
      requestId: z
        .string()
        .openapi({ description: 'As in the header X-Request-Id, and in the log of the server.' }),
    }),
  })
  .openapi('Problem')

export const microseconds = z.int().openapi({ description: 'Microseconds since 1970.' })

export const threadParams = z.object({
  threadId: z
    .string()
    .openapi({ description: 'A thread of another account is not found.', example: 'ticket-17' }),
})

/** A number in a query: digits only, because `Number('')` and `Number(' ')` are 0. */
export function wholeNumber(minimum: number, maximum: number) {
  return z
    .string()
    .regex(/^\d{1,16}$/)
    .transform(Number)
    .pipe(z.int().min(minimum).max(maximum))
    .optional()
    .openapi({ type: 'integer', minimum, maximum })
}

/** Strict: an unknown filter must be refused, because without it the page would list everything. */
export const pageQuery = z.strictObject({
  cursor: z.string().optional().openapi({ description: '`next` of the page before.' }),
  limit: wholeNumber(1, LIMITS.longestPage),
})

const next = z
  .string()
  .nullable()
  .openapi({ description: '`cursor` of the next page; null on the last one.' })

/** A flag in a query. */
export const flag = z
  .enum(['true', 'false'])
  .transform((value) => value === 'true')
  .optional()

export const fields = z.record(z.string(), z.unknown())

/** A key that makes a repeated request the same one. */
export const key = z.string().min(1).max(LIMITS.nameLength).openapi({
  description: 'Idempotency key: a request that is repeated with the same key is carried out once.',
})

export function json<Schema extends z.ZodType>(description: string, schema: Schema) {
  return { description, content: { 'application/json': { schema } } }
}

export function jsonBody<Schema extends z.ZodType>(schema: Schema) {
  return { required: true, content: { 'application/json': { schema } } } as const
}

/** A body that may be left out. */
export function optionalBody<Schema extends z.ZodType>(schema: Schema) {
  return { required: false, content: { 'application/json': { schema } } } as const
}

/** Answers that every route may give. */
const ALWAYS = {
  401: json('The token is missing or wrong.', problem),
  429: json('Too many requests: `Retry-After` says how many seconds to wait.', problem),
  431: { description: 'URL and headers are longer than 16 KB.' },
  503: json(
    'The store, Temporal or a worker did not answer; what was accepted is kept. With `Retry-After` a retry is safe. ' +
      'Without it, the request creates something and has no `key`, or ran an endpoint: check before you repeat it.',
    problem,
  ),
} as const

const BAD = { 400: json('The request is not as described.', problem) } as const

const THREAD = { 404: json('There is no such thread, or nothing of that name in it.', problem) } as const

const BODY = {
  413: json('The body is too large.', problem),
  415: json('The body is of another type.', problem),
} as const

const CLOSED = { 409: json('The thread is closed, or has something else under that name.', problem) } as const

export const refusals = { ...ALWAYS, ...BAD }

/** Refusals of a route that reads from a thread. */
export const readRefusals = { ...refusals, ...THREAD }

/** Further refusals of a route with a body. */
export const bodyRefusals = BODY

/** Refusals of a route that changes a thread. */
export const writeRefusals = { ...readRefusals, ...BODY, ...CLOSED }

export const security = [{ token: [] }]

const attachment = z
  .object({
    id: z.string(),
    type: z.literal('file'),
    path: z.string(),
    name: z.string(),
    mimeType: z.string(),
    size: z.int(),
    width: z.int().optional(),
    height: z.int().optional(),
    description: z.string().optional(),
  })
  .openapi('Attachment')

/** In the format of Standard Agents: names in snake_case, `tool_calls` as a JSON string. */
const message = z
  .object({
    id: z.string(),
    role: z.enum(['system', 'user', 'assistant', 'tool']),
    content: z.string().nullable(),
    name: z.string().nullable(),
    tool_calls: z.string().nullable(),
    tool_call_id: z.string().nullable(),
    created_at: microseconds,
    parent_id: z.string().nullable(),
    depth: z.int(),
    silent: z.boolean(),
    metadata: fields.nullable(),
    status: z.enum(['pending', 'completed', 'failed', 'interrupted', 'rejected', 'refused', 'removed']),
    tool_status: z.enum(['success', 'error']).nullable(),
    attachments: z.array(attachment).readonly(),
    reasoning_content: z.string().nullable(),
    finish_reason: z.string().nullable().openapi({
      description:
        'Why the model ended its answer: stop, tool-calls, other, or length for one that is cut off.',
    }),
    prompt: z.string().nullable(),
    subagent_id: z.string().nullable(),
    position: z
      .int()
      .nullable()
      .openapi({ description: 'Place in the transcript, from 1; null while queued.' }),
  })
  .openapi('Message')

export const messagesPage = z
  .object({ messages: z.array(message).readonly(), hasMore: z.boolean() })
  .openapi('MessagesPage')

/** A file of the thread by its path, or a new one with its bytes. */
const givenAttachment = z.union([
  z.string().openapi({ description: 'The path of a file of the thread.' }),
  z.strictObject({ path: z.string(), description: z.string().optional() }),
  z.strictObject({
    name: z.string().min(1),
    mimeType: z.string().min(1),
    data: z.string().openapi({ description: 'Base64.' }),
    width: z.int().min(0).optional(),
    height: z.int().min(0).optional(),
  }),
])

/** A message for a thread. */
/** Rules by capability, which the client checks. */
export const rules = z.record(
  z.string(),
  z.union([z.enum(['allow', 'require_approval', 'deny']), z.boolean(), fields]),
)

export const givenMessage = z.strictObject({
  content: z.string().optional(),
  attachments: z.array(givenAttachment).max(LIMITS.messageAttachments).optional(),
  role: z.enum(['user', 'assistant']).optional(),
  silent: z
    .boolean()
    .optional()
    .openapi({ description: "In the model's context, hidden from the user's transcript." }),
  metadata: fields.optional(),
  runPermissions: rules.optional().openapi({
    description:
      'Rules for the run that it begins or joins. They can only make those of the thread stricter; the next run does not have them.',
  }),
})

/** A file or folder of a thread. */
export const fileRecord = z
  .object({
    path: z.string(),
    name: z.string(),
    mimeType: z.string(),
    storage: z.literal('local'),
    size: z.int(),
    isDirectory: z.boolean(),
    metadata: fields.nullable(),
    width: z.int().nullable(),
    height: z.int().nullable(),
    createdAt: microseconds,
    updatedAt: microseconds,
  })
  .openapi('File')

/** An open list: later versions add members. */
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

const capabilities = z
  .array(z.string())
  .readonly()
  .openapi({ description: 'The authority that the call needs.' })

/** Why something was decided about a call, for people and for the record. */
const decided = {
  source: z.string().openapi({ description: 'What decided; later versions add members.' }),
  reason: z.string().optional(),
  hook: z.string().optional().openapi({ description: 'The id of the hook, where a hook decided.' }),
  rules: z.array(z.string()).readonly().optional().openapi({ description: 'Each as `source:rule`.' }),
  mode: z.string().optional().openapi({ description: 'The mode of the thread, unless it is `default`.' }),
  capabilities: capabilities.optional(),
  destructive: z
    .union([z.literal(true), z.object({ impact: z.string(), undo: z.string().optional() })])
    .optional()
    .openapi({ description: 'What the call destroys, if its definition says that it does.' }),
}

/** What was decided about a call. */
export const recordedDecision = z
  .object({
    toolCallId: z.string(),
    toolName: z.string(),
    runId: z.string(),
    stepId: z.string(),
    startedAt: microseconds.nullable().openapi({ description: 'Null: the call did not begin.' }),
    decision: z.enum(['allowed', 'denied', 'asked']),
    ...decided,
    requestId: z.string().optional().openapi({ description: 'The request that asked a person.' }),
    grantId: z.string().optional().openapi({ description: 'The remembered approval that allowed it.' }),
    by: z.string().optional().openapi({ description: 'The person that answered.' }),
    changed: z.literal(true).optional().openapi({ description: 'The person gave other arguments.' }),
    answered: z
      .literal(true)
      .optional()
      .openapi({ description: 'The person gave a result in the place of the call.' }),
  })
  .openapi('RecordedDecision')

const approval = z.object({
  ...asked,
  kind: z.literal('approval'),
  toolCallId: z.string(),
  action: z.enum(['tool', 'prompt', 'hand_off', 'subagent', 'subagent_message']),
  toolName: z.string(),
  description: z.string().optional(),
  args: z.any().optional().openapi({ description: 'Secret fields are `[redacted]`.' }),
  schema: z.any().optional().openapi({ description: 'The JSON schema of the arguments, for a form.' }),
  preview: z
    .array(
      z.union([
        z.object({ type: z.literal('text'), text: z.string(), title: z.string().optional() }),
        z.object({ type: z.literal('json'), value: z.any(), title: z.string().optional() }),
        z.object({
          type: z.literal('diff'),
          before: z.string(),
          after: z.string(),
          title: z.string().optional(),
        }),
        z.object({ type: z.literal('file'), path: z.string(), title: z.string().optional() }),
      ]),
    )
    .readonly()
    .optional()
    .openapi({ description: 'What the tool shows of the call.' }),
  decision: z.object(decided).optional().openapi({ description: 'Why a person is asked.' }),
  answers: z
    .array(z.enum(['approve', 'deny', 'arguments', 'result', 'remember']))
    .readonly()
    .openapi({ description: 'What an answer may do.' }),
  approvers: z
    .object({
      roles: z.array(names).readonly().optional().openapi({ description: 'A role of each list.' }),
      fourEyes: z.literal(true).optional(),
    })
    .optional()
    .openapi({ description: 'Who may answer.' }),
  expiresAt: microseconds.optional().openapi({ description: 'When it is denied if nobody has answered.' }),
})

const call = z.object({
  ...asked,
  kind: z.literal('call'),
  toolName: z.string(),
  args: z.any().optional().openapi({ description: 'As the model wrote them.' }),
})

/** An approval that a person wanted remembered. */
export const grant = z
  .object({
    id: z.string(),
    for: z.enum(['thread', 'tree', 'user']),
    threadId: z.string().nullable(),
    account: z.string().nullable(),
    userId: z.string().nullable(),
    toolName: z.string(),
    capabilities: names.nullable().openapi({
      description: 'It holds for calls that need no others; null: for the same arguments of the tool.',
    }),
    givenIn: z.object({ threadId: z.string(), requestId: z.string() }),
    by: z.string().nullable(),
    createdAt: microseconds,
    expiresAt: microseconds.nullable(),
  })
  .openapi('Grant')

const variables = z.object({
  ...asked,
  kind: z.literal('variables'),
  agent: z.string(),
  required: names,
  missing: names,
  child: z.string().optional().openapi({ description: 'The subagent that starts with the answer.' }),
})

/** A request that waits for an answer. */
export const pendingRequest = z.union([approval, call, variables]).openapi('PendingRequest')

const threadId = { threadId: z.string() }

const threadRequest = z
  .union([approval.extend(threadId), call.extend(threadId), variables.extend(threadId)])
  .openapi('ThreadRequest')

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
    description: "The task queue of this work, if not the thread's own: it waits for a worker there.",
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

/** A child, as its parent lists it. */
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
      .openapi({ description: 'The status text that the thread last set; null if it has set none.' }),
    stale: z
      .boolean()
      .openapi({ description: 'True: read from the store, because no worker answered or it is closed.' }),
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
