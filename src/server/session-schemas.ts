/** The OpenAPI schemas of sessions. */
import { z } from '@hono/zod-openapi'
import { LIMITS } from '../protocol/limits.js'
import { messagesPage } from './message-schemas.js'
import { fields, microseconds } from './schemas.js'
import { threadsPage } from './thread-schemas.js'
import { threadUsage } from './usage-schemas.js'

const name = z.string().min(1).max(LIMITS.threadIdLength)

export const metadata = fields.openapi({ description: 'A JSON object of your own: at most 16 KB.' })

export const workspaceUri = z
  .string()
  .max(2048)
  .openapi({ description: 'Where its work takes place, such as a folder or an account. It is not opened.' })

export const sessionParams = z.object({
  sessionId: z.string().openapi({
    description: 'The id of its root thread. A session of another account is not found.',
    example: 'ticket-17',
  }),
})

const summary = {
  sessionId: z.string().openapi({ description: 'The id of its root thread.' }),
  state: z.string().openapi({
    description:
      'active, idle, completed, failed, abandoned, terminated, escalated, archived; later versions add some.',
    example: 'idle',
  }),
  agent: z.string(),
  title: z.string().nullable(),
  tags: z.array(z.string()).readonly(),
  workspaceUri: z.string().nullable(),
  account: z.string().nullable(),
  userId: z.string().nullable(),
  createdAt: microseconds,
  lastActivityAt: microseconds,
  closedAt: microseconds.nullable(),
  archivedAt: microseconds.nullable(),
  escalation: z
    .object({ to: z.string().nullable(), reason: z.string().nullable(), at: microseconds })
    .nullable()
    .openapi({ description: 'A person has taken over; null: nobody has.' }),
  lastSequence: z.int().openapi({ description: 'Of the newest event of its root thread.' }),
}

export const sessionSummary = z.object(summary).openapi('SessionSummary')

export const sessionsPage = z
  .object({
    sessions: z.array(sessionSummary).readonly(),
    next: z.string().nullable().openapi({
      description: '`cursor` of the next page; null on the last one. A page of a rare state may be short.',
    }),
  })
  .openapi('SessionsPage')

export const session = z
  .object({
    ...summary,
    metadata: fields.nullable(),
    activeThreads: z
      .array(z.string())
      .readonly()
      .openapi({ description: 'Threads that work or are about to, at most 100.' }),
    pinnedThreads: z.literal('unavailable'),
    threadCount: z.int(),
    threads: threadsPage.openapi({ description: 'The 50 with the newest activity.' }),
    messages: messagesPage.shape.messages.openapi({
      description: 'The newest of its root thread: at most 20, and at most 256 KB.',
    }),
    lastRun: z
      .object({
        runId: z.string(),
        trigger: z.string(),
        steps: z.int(),
        startedAt: microseconds,
        endedAt: microseconds.nullable(),
        reason: z.string().nullable(),
        output: fields.nullable().openapi({ description: 'As in `RunResult`.' }),
      })
      .nullable()
      .openapi({ description: 'The newest run of its root thread.' }),
    variables: z
      .array(z.object({ name: z.string(), type: z.string() }))
      .readonly()
      .openapi({ description: 'Of its root thread, without their values; at most 100.' }),
    values: z
      .array(z.string())
      .readonly()
      .openapi({ description: 'The keys of the values that tools of its root thread keep; at most 100.' }),
    artifacts: z
      .array(
        z.object({
          threadId: z.string(),
          path: z.string(),
          name: z.string(),
          mimeType: z.string(),
          size: z.int(),
          updatedAt: microseconds,
        }),
      )
      .readonly()
      .openapi({ description: 'The 20 newest files of its threads.' }),
    tasks: z.literal('unavailable'),
    evidence: z.literal('unavailable'),
    usage: threadUsage.nullable().openapi({ description: 'Null unless the request asks for it.' }),
    stale: z.literal(false),
    truncated: z
      .object({ threads: z.boolean(), messages: z.boolean(), artifacts: z.boolean() })
      .openapi({ description: 'True: there are more than are shown.' }),
  })
  .openapi('Session')

/** Null removes a field. */
export const sessionChanges = z
  .strictObject({
    title: z.string().max(500).nullable().optional(),
    tags: z.array(name).max(LIMITS.startNames).optional(),
    metadata: metadata.nullable().optional(),
    workspaceUri: workspaceUri.nullable().optional(),
  })
  .openapi('SessionChanges')

export const escalationRequest = z.strictObject({
  to: name.optional().openapi({ description: 'A person or a queue of yours.' }),
  reason: z.string().min(1).max(LIMITS.answerTextBytes).optional(),
})
