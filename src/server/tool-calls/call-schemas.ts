import { z } from '@hono/zod-openapi'

import { LIMITS } from '../../protocol/limits.js'

export const params = z.object({
  thread_id: z.string().openapi({ description: 'From the input of the activity.' }),
  call_id: z.string().openapi({ description: 'From the input of the activity.' }),
})

export const filePath = z.object({
  path: z.string().min(1).openapi({ description: 'Absolute in the thread.', example: '/notes/plan.md' }),
})

export const claimRequest = z
  .strictObject({
    claim_id: z.string().min(1).max(LIMITS.nameLength).openapi({
      description: 'Made anew for each attempt of the activity; the same one again is the same claim.',
    }),
  })
  .openapi('ToolCallClaimRequest')

export const claimed = z
  .object({
    token: z.string().openapi({ description: 'For the other routes of this call. Keep it nowhere.' }),
    expires_at: z.number().openapi({ description: 'Of the token; milliseconds since 1970.' }),
    deadline: z.number().openapi({ description: 'Of the tool; milliseconds since 1970.' }),
    tool: z.string(),
    attempt: z.number().int().openapi({ description: 'From 1: how often the call was claimed.' }),
    idempotency_key: z.string().openapi({ description: 'The same in every attempt.' }),
    arguments: z.record(z.string(), z.any()).openapi({ description: 'Checked by the schema of the tool.' }),
    variables: z.record(z.string(), z.string()).openapi({ description: 'Those that the tool declares.' }),
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
  .object({ path: z.string(), mime_type: z.string(), size: z.number().int() })
  .openapi('ToolCallFile')
