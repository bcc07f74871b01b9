/** The OpenAPI schemas of messages, tool calls and what a run has made. */
import { z } from '@hono/zod-openapi'
import { TOOL_ERROR_CATEGORIES } from '../protocol/payloads/tool-failure.js'
import { fields, microseconds } from './schemas.js'
import { recordedDecision } from './thread-schemas.js'

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

const providerPart = z.union([
  z.object({ type: z.literal('call'), id: z.string(), name: z.string(), input: z.any() }),
  z.object({
    ...{ type: z.literal('result'), id: z.string(), name: z.string(), output: z.any() },
    isError: z.boolean(),
  }),
  z.object({ type: z.literal('source'), id: z.string(), url: z.string(), title: z.string().nullable() }),
  z.object({
    ...{ type: z.literal('document'), id: z.string(), mediaType: z.string(), title: z.string() },
    filename: z.string().nullable(),
  }),
])

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
    provider_parts: z.array(providerPart).readonly().optional().openapi({
      description: 'What the provider of the model has run itself, and the sources of the answer.',
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
    source: z.string().openapi({
      description: 'Who sent it: client, cli, parent, child, tool, hook, effect, model or runtime.',
    }),
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
    failure: z
      .object({
        category: z.string().openapi({
          description: `${TOOL_ERROR_CATEGORIES.join(', ')}; later versions add some.`,
        }),
        isRetryable: z.boolean().openapi({ description: 'The same call may succeed later.' }),
        advice: z.string(),
        attempts: z
          .number()
          .optional()
          .openapi({ description: 'How often its code was run, if that was counted.' }),
        status: z.number().optional().openapi({ description: 'Of an HTTP answer.' }),
        recovery: z.string().optional().openapi({
          description: 'What took its place: retry, fallback or person; left out: nothing.',
        }),
      })
      .nullable()
      .openapi({ description: 'The failure that it met, also one that was overcome.' }),
    result: z.union([message, z.null()]).openapi({ description: 'Null while the call is open.' }),
    live: z
      .object({
        progress: z
          .object({
            progress: z.number().optional(),
            total: z.number().optional(),
            message: z.string().optional(),
          })
          .nullable(),
        output: z.string(),
      })
      .nullable()
      .openapi({ description: 'What it has shown while it runs; null: nothing, or it has ended.' }),
    decision: z
      .union([recordedDecision, z.null()])
      .openapi({ description: 'With arguments, flags, permission and files; null: nothing is decided yet.' }),
    children: z.array(z.string()).readonly().openapi({ description: 'The subagents that it started.' }),
    startedAt: microseconds.nullable(),
    finishedAt: microseconds.nullable(),
  })
  .openapi('ToolCallRead')

export const runResult = z
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
    output: fields.nullable().openapi({
      description:
        'The answer as the `output` of the agent makes it; null: it has none, or the run ended otherwise.',
    }),
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
