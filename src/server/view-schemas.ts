/**
 * The schemas of the events of views: what a reader of `?view=` may rely on, and what the tests hold each event to.
 *
 * Owns: the core of the Agent Runtime envelope as its draft has it, our profile of it, and the envelopes of the other views. A profile
 * only adds: it is made of the core by demanding more, so what it accepts the core accepts.
 */
import { z } from '@hono/zod-openapi'
import { ITEM_KINDS } from '../views/agent-runtime-items.js'

const text = z.string().min(1)
const time = z.iso.datetime()
const fields = z.record(z.string(), z.unknown())
const count = z.int().nonnegative()

/** Hexadecimal ids of a trace and of a span, as W3C has them. */
const trace = {
  traceId: z
    .string()
    .regex(/^[0-9a-f]{32}$/)
    .optional(),
  spanId: z
    .string()
    .regex(/^[0-9a-f]{16}$/)
    .optional(),
}

/** The envelope of the Agent Runtime draft, whoever has made the event. */
export const agentRuntimeCore = z.strictObject({
  ...{ type: text, eventId: text, timestamp: time, schemaVersion: z.literal('0.1.0') },
  sequence: z.int().positive().optional(),
  runtimeId: text.optional(),
  ...{ sessionId: text.optional(), threadId: text.optional(), turnId: text.optional() },
  ...{ taskId: text.optional(), runId: text.optional(), attemptId: text.optional(), stepId: text.optional() },
  ...{ toolCallId: text.optional(), actionId: text.optional(), subagentId: text.optional() },
  ...trace,
  payload: fields,
  refs: fields.optional(),
})

/** Types about one thing, and the id that they must have. */
const SCOPED: readonly (readonly [pattern: RegExp, id: keyof z.infer<typeof agentRuntimeCore>])[] = [
  [/^turn\./, 'turnId'],
  [/^run\.(started|completed|failed|cancelled)$/, 'runId'],
  [/^step\./, 'stepId'],
  [/^tool\.(started|args|result|failed)$/, 'toolCallId'],
  [/^(action|permission)\.(required|requested|resolved)$/, 'actionId'],
  [/^subagent\./, 'subagentId'],
]

const itemKind = z.enum(ITEM_KINDS)

/** What is seen while it happens. */
const LIVE = /\.delta$|^tool\.(?:output|progress)$/

/**
 * Our profile: the core, with the ids of runtime and session, a sequence for all that is in the log, the ids of what a type is about, and the kinds
 * of items.
 */
export const agentRuntimeProfile = agentRuntimeCore
  .required({ runtimeId: true, sessionId: true, threadId: true })
  .refine(({ type, sequence }) => sequence !== undefined || LIVE.test(type), {
    message: 'Expected a sequence of an event that is in the log.',
  })
  .refine((event) => SCOPED.every(([pattern, id]) => !pattern.test(event.type) || event[id] !== undefined), {
    message: 'Expected the id of what the event is about.',
  })
  .refine(({ type, payload }) => !type.startsWith('item.') || itemKind.safeParse(payload['kind']).success, {
    message: `Expected the kind of an item to be one of ${ITEM_KINDS.join(', ')}.`,
  })

const traced = {
  ...{
    eventId: text,
    timestamp: time,
    sequence: z.int().positive(),
    sessionId: text,
    threadId: text,
    agent: text,
  },
  ...{ runId: text.optional(), stepId: text.optional() },
  ...trace,
}
const milliseconds = z.number().nonnegative().nullable()
const name = z.string().nullable()

export const koreEvent = z.discriminatedUnion('type', [
  z.strictObject({
    ...traced,
    ...{ type: z.literal('llm_call'), model: text, latency: milliseconds, cost: z.number().nullable() },
    tokens: z.strictObject({ input: count, output: count, cachedInput: count }).nullable(),
    ...{ attempt: z.int().positive(), error: name },
  }),
  z.strictObject({ ...traced, type: z.literal('tool_call'), toolName: text, toolCallId: text, input: name }),
  z.strictObject({
    ...traced,
    ...{ type: z.literal('tool_result'), toolName: text, toolCallId: text, outcome: text },
    ...{ result: name, error: name, latency: milliseconds },
  }),
  z.strictObject({
    ...{ ...traced, type: z.literal('decision'), kind: z.enum(['routing', 'flow']) },
    ...{ outcome: text, reason: name },
  }),
  z.strictObject({ ...traced, type: z.literal('handoff'), from: text, to: text }),
  z.strictObject({
    ...{ ...traced, type: z.literal('state_change'), change: text },
    variables: z.array(text).readonly(),
  }),
  z.strictObject({
    ...{ ...traced, type: z.literal('guardrail_eval'), guardrail: text, decision: text },
    ...{ toolCallId: name, source: name },
  }),
  z.strictObject({ ...traced, type: z.literal('error'), source: text, code: text, errorId: name }),
])

export const runEvent = z.strictObject({
  ...{ version: z.literal(1), type: text, run_id: name, task_id: name, agent_name: text },
  sequence: z.int().positive(),
  step: count.optional(),
  ...{ span_id: text.optional(), parent_span_id: text.optional() },
  ...{ action_id: text.optional(), parent_action_id: text.optional(), delegation_id: text.optional() },
  severity: z.enum(['info', 'warning', 'error']),
  ...{ summary: text, payload: fields, final: z.boolean() },
})

const runContext = z.strictObject({ run_id: name, session_id: text, agent_name: text, trace_id: name })
const taskState = z.enum(['submitted', 'working', 'input-required', 'completed', 'failed', 'canceled'])
const ofTask = { task_id: name, timestamp: time, context: runContext.optional(), metadata: fields }

export const taskEvent = z.discriminatedUnion('kind', [
  z.strictObject({
    ...{ ...ofTask, kind: z.literal('status-update'), state: taskState, final: z.boolean() },
    task: z
      .strictObject({
        ...{ id: text, state: taskState },
        metadata: z.strictObject({ run_context: runContext, cancel_reason: text.optional() }),
      })
      .optional(),
  }),
  z.strictObject({
    ...{ ...ofTask, kind: z.literal('artifact-update') },
    artifact: z.strictObject({ name: text, uri: text, media_type: name }),
  }),
  z.strictObject({ ...ofTask, kind: z.literal('llm-stream'), type: text }),
])

const nanoseconds = z.string().regex(/^\d{16,20}$/)
const attributes = z.record(
  z.string(),
  z.union([z.string(), z.number(), z.boolean(), z.array(z.string()).readonly()]),
)

export const openTelemetryRecord = z.discriminatedUnion('signal', [
  z.strictObject({
    ...{ signal: z.literal('span'), name: text, kind: z.enum(['INTERNAL', 'CLIENT']), attributes },
    ...{ startTimeUnixNano: nanoseconds, endTimeUnixNano: nanoseconds, status: z.enum(['UNSET', 'ERROR']) },
    ...trace,
  }),
  z.strictObject({
    ...{ signal: z.literal('log'), eventName: text, timeUnixNano: nanoseconds, attributes },
    severityNumber: z.union([z.literal(9), z.literal(13), z.literal(17)]),
    severityText: z.enum(['INFO', 'WARN', 'ERROR']),
    ...trace,
  }),
])

/** The schemas by the names that the OpenAPI document gives them. */
export const VIEW_SCHEMAS = {
  AgentRuntimeEvent: agentRuntimeProfile,
  KoreEvent: koreEvent,
  RunEvent: runEvent,
  TaskEvent: taskEvent,
  OpenTelemetryRecord: openTelemetryRecord,
} as const
