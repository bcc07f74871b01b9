/** The OpenAPI schemas of messages, tool calls and what a run has made. */
import { z } from '@hono/zod-openapi'
import { fields, microseconds } from './schemas.js'

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

export const messageRead = z
  .object({
    message,
    end: z
      .union([
        z.object({ kind: z.literal('delivered'), runId: z.string().nullable() }),
        z.object({ kind: z.literal('rejected'), threadStatus: z.string() }),
        z.object({ kind: z.literal('refused'), hook: z.string().nullable() }),
        z.object({ kind: z.literal('removed') }),
      ])
      .nullable()
      .openapi({ description: 'Null while it waits in the queue.' }),
  })
  .openapi('MessageRead')

export const messagesPage = z
  .object({ messages: z.array(message).readonly(), hasMore: z.boolean() })
  .openapi('MessagesPage')

export const toolCallRead = z
  .object({
    toolCallId: z.string(),
    name: z.string(),
    status: z.string().openapi({
      description:
        'open, succeeded, failed, denied, interrupted, cancelled; unknown: it may have taken effect.',
    }),
    errorCode: z.string().nullable(),
    result: z.union([message, z.null()]).openapi({ description: 'Null while the call is open.' }),
    children: z.array(z.string()).readonly().openapi({ description: 'The subagents that it started.' }),
    startedAt: microseconds.nullable(),
    finishedAt: microseconds.nullable(),
  })
  .openapi('ToolCallRead')

const runResult = z
  .object({
    status: z.string().openapi({ description: 'As in `Thread`.' }),
    runId: z.string().nullable(),
    reason: z.string().nullable(),
    reply: z.union([message, z.null()]).openapi({ description: 'The last visible text of the run.' }),
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
    result: z.union([runResult, z.null()]),
    reason: z.string().nullable().openapi({ description: 'Why it is not idle yet.' }),
  })
  .openapi('Waited')
