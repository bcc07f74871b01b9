import { z } from '@hono/zod-openapi'

import { LIMITS } from '../../protocol/limits.js'
import { fields, microseconds } from './parts.js'

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

/** As Standard Agents has it: snake_case, `tool_calls` a JSON string. */
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
      description: 'Of an answer of a model: stop, tool-calls, other, or length, with which it is cut off.',
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

/** What a thread is told. */
export const givenMessage = z.strictObject({
  content: z.string().optional(),
  attachments: z.array(givenAttachment).max(LIMITS.messageAttachments).optional(),
  role: z.enum(['user', 'assistant']).optional(),
  silent: z
    .boolean()
    .optional()
    .openapi({ description: "In the model's context, hidden from the user's transcript." }),
  metadata: fields.optional(),
})
