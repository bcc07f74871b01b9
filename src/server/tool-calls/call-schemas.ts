import { z } from '@hono/zod-openapi'

import { LIMITS } from '../../protocol/limits.js'
import { microseconds } from '../schemas/parts.js'

export const params = z.object({
  threadId: z.string().openapi({ description: 'From the input of the activity.' }),
  callId: z.string().openapi({ description: 'From the input of the activity.' }),
})

export const filePath = z.strictObject({
  path: z.string().min(1).openapi({ description: 'Absolute in the thread.', example: '/notes/plan.md' }),
})

export const claimRequest = z
  .strictObject({
    claimId: z.string().min(1).max(LIMITS.nameLength).openapi({
      description: 'Made anew for each attempt of the activity; the same one again is the same claim.',
    }),
  })
  .openapi('ToolCallClaimRequest')

export const claimed = z
  .object({
    token: z.string().openapi({ description: 'For the other routes of this call. Keep it nowhere.' }),
    expiresAt: microseconds.openapi({ description: 'Of the token; microseconds since 1970.' }),
    deadline: microseconds.openapi({ description: 'Of the tool; microseconds since 1970.' }),
    tool: z.string(),
    attempt: z.number().int().openapi({ description: 'From 1: how often the call was claimed.' }),
    idempotencyKey: z.string().openapi({ description: 'The same in every attempt.' }),
    arguments: z.record(z.string(), z.any()).openapi({ description: 'Checked by the schema of the tool.' }),
    variables: z.record(z.string(), z.string()).openapi({ description: 'Those that the tool declares.' }),
    traceparent: z.string().nullable().openapi({
      description: "W3C trace context of the call: the parent of the worker's spans; null: nobody traces.",
    }),
  })
  .openapi('ToolCallClaim')

const file = z.strictObject({ path: z.string(), description: z.string().optional() })

/** Of JSON: files are written first, and named by their paths. */
export const toolResult = z
  .strictObject({
    status: z.enum(['success', 'error']),
    result: z.json().optional().openapi({ description: 'Any JSON; what the model reads.', type: 'object' }),
    content: z
      .array(
        z.union([
          z.strictObject({ type: z.literal('text'), text: z.string() }),
          z.strictObject({ type: z.literal('file'), file }),
        ]),
      )
      .optional(),
    error: z.string().optional().openapi({ description: 'What the model reads of an error.' }),
    error_code: z.string().optional(),
    attachments: z.array(file).optional(),
  })
  .openapi('ToolCallResult')

export const accepted = z.object({ status: z.literal('accepted') }).openapi('ToolCallAccepted')

export const stored = z
  .object({ path: z.string(), mimeType: z.string(), size: z.number().int() })
  .openapi('ToolCallFile')
