import { z } from '@hono/zod-openapi'

import { LIMITS } from '../protocol/limits.js'

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
  429: json(
    'Too many requests, messages or sessions at once: `Retry-After` says how many seconds to wait.',
    problem,
  ),
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

const CLOSED = {
  409: json('The thread is closed or busy, or has something else under that name.', problem),
} as const

export const refusals = { ...ALWAYS, ...BAD }

/** Refusals of a route that reads from a thread. */
export const readRefusals = { ...refusals, ...THREAD }

/** Further refusals of a route with a body. */
export const bodyRefusals = BODY

/** Refusals of a route that changes a thread. */
export const writeRefusals = { ...readRefusals, ...BODY, ...CLOSED }

export const security = [{ token: [] }]

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
  deliver: z.enum(['next_step', 'next_turn', 'preempt', 'reject']).optional().openapi({
    description:
      'Into a thread that works: it joins the run (the default), begins a run of its own, ends the run and begins a new one, or is refused with 409.',
  }),
  metadata: fields.optional(),
  callback: z
    .strictObject({
      url: z.string().min(1).max(2000),
      secret: z.string().openapi({ description: 'Yours: `whsec_` with 24 to 64 random bytes in base64.' }),
    })
    .optional()
    .openapi({
      description:
        'Once the message and the run that took it have ended, the result is posted to this URL, signed as Standard Webhooks 1.0 does.',
    }),
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

const keptHistory = z.object({ threadId: z.string(), problem: z.string() })

export const deletedThreads = z
  .object({
    threads: z.int().openapi({ description: 'The number of deleted threads, subagents included.' }),
    kept: z
      .array(keptHistory)
      .readonly()
      .openapi({ description: 'The threads whose histories Temporal keeps until its retention ends.' }),
  })
  .openapi('Deleted')

/** An open list: later versions add members. */
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
