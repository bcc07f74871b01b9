/** The OpenAPI schemas of one tool call, and of the result of a run. */
import { z } from '@hono/zod-openapi'
import { attachment, message, microseconds } from './schemas.js'
import { status } from './thread-schemas.js'

export const toolCallRead = z
  .object({
    toolCallId: z.string(),
    name: z.string(),
    status: z.string().openapi({
      description:
        'open, succeeded, failed, denied, interrupted, cancelled; unknown: it may have taken effect.',
    }),
    errorCode: z.string().nullable(),
    result: message.nullable().openapi({ description: 'Null while the call is open.' }),
    children: z.array(z.string()).readonly().openapi({ description: 'The subagents that it started.' }),
    startedAt: microseconds.nullable(),
    finishedAt: microseconds.nullable(),
  })
  .openapi('ToolCallRead')

const runResult = z
  .object({
    status,
    runId: z.string().nullable(),
    reason: z.string().nullable(),
    reply: message.nullable().openapi({ description: 'The last visible text of the run.' }),
    session: z
      .object({
        outcome: z.enum(['success', 'failure']),
        message: z.string(),
        attachments: z.array(attachment).readonly(),
      })
      .nullable(),
    output: z.any().openapi({ description: 'The answer as the `output` of the agent makes it; else null.' }),
    steps: z.int(),
    lastSequence: z.int().openapi({ description: 'Events after it are newer than this result.' }),
    usage: z.object({
      inputTokens: z.int(),
      outputTokens: z.int(),
      cachedInputTokens: z.int(),
      cost: z.number().nullable().openapi({ description: 'Millionths of a dollar; null: unknown.' }),
    }),
  })
  .openapi('RunResult')

export const waited = z
  .object({
    idle: z.boolean(),
    result: runResult.nullable(),
    reason: z.string().nullable().openapi({ description: 'Why it is not idle yet.' }),
  })
  .openapi('Waited')
