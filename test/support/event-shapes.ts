/**
 * The event table as schemas: the types of `src/protocol/events.ts` are the promise, and these check at run time that what the
 * store holds, and what subscribers get, is that and nothing more.
 */
import { BUDGET_LIMITS } from '../../src/policy/budget.js'
import { z } from 'zod'
import type { EventPayloads, EventType, ThreadEvent } from '../../src/protocol/events.js'
import type { JoinedPayloads } from '../../src/protocol/event-codes.js'
import { readEvents } from '../../src/store/events.js'
import type { Store } from '../../src/store/store.js'

const text = z.string()
const names = z.array(text).exactOptional()
const count = z.number().int().nonnegative()
const budgetFact = {
  scope: z.enum(['run', 'thread', 'tree', 'user', 'account']),
  period: z.enum(['total', 'hour', 'day', 'month']),
  limit: z.enum(BUDGET_LIMITS),
  ...{ most: z.number().positive(), used: z.number().nonnegative() },
}
const nothing = z.strictObject({})
const usage = z.strictObject({
  inputTokens: count,
  outputTokens: count,
  cachedInputTokens: count,
  cost: z.number().nullable(),
})
const ended = { reason: text, steps: count, usage }
const child = { reference: text, name: text, reason: text.exactOptional() }
const effect = { effectId: text, name: text }
const side = z.enum(['a', 'b'])
const requestKind = z.enum(['approval', 'budget', 'call', 'variables'])
const effectCodes = [
  ...(['threw', 'timeout', 'definition_missing', 'interrupted', 'invalid_arguments'] as const),
  ...(['invalid_file', 'too_many_operations', 'given_up'] as const),
] as const
const hookCodes = ['threw', 'timeout', 'invalid_answer', 'missing', 'blocked'] as const
const warningCodes = [
  ...([
    'answer_refused',
    'approval_check_failed',
    'preview_failed',
    'effects_full',
    'facts_dropped',
  ] as const),
  ...(['immediate_skipped', 'message_skipped', 'operations_dropped', 'operations_skipped'] as const),
  ...([
    'policy_failed',
    'queue_full',
    'report_skipped',
    'set_env_skipped',
    'signal_unknown',
    'stop_skipped',
  ] as const),
  ...([
    'hook_denied',
    'end_refused_often',
    'output_invalid',
    'outbound_full',
    'thread_closed',
    'tool_skipped',
  ] as const),
] as const

const need = z.enum(['tools', 'images', 'documents', 'audio', 'context'])
const routing = z.strictObject({
  kind: z.enum(['reply', 'nested', 'bootstrap']),
  needs: z.array(need),
  mode: z.enum(['single', 'ordered', 'none']),
  source: z.literal('prompt'),
  requested: text,
  candidates: z.array(
    z.strictObject({
      ...{ model: text, excluded: text.exactOptional(), lacks: z.array(need).exactOptional() },
      ...{ contextWindow: count.exactOptional(), concurrency: count.exactOptional() },
      ...{ inputPrice: z.number().exactOptional(), outputPrice: z.number().exactOptional() },
      requestsPerMinute: count.exactOptional(),
    }),
  ),
  reason: z.enum(['prompt_model', 'single_candidate', 'model_excluded', 'fallback', 'retry', 'none']),
  fallbackFrom: text.exactOptional(),
})

const itemKind = z.enum(['message', 'tool', 'effect', 'report', 'variables', 'continue'])

/** What the log holds. */
const WRITTEN = {
  'session.created': nothing,
  'session.updated': z.strictObject({
    changed: z.array(z.enum(['title', 'tags', 'metadata', 'workspaceUri', 'archived', 'escalated'])),
    archived: z.boolean().exactOptional(),
    escalated: z.boolean().exactOptional(),
  }),
  'thread.started': z.strictObject({ agent: text, parent: text.nullable() }),
  'thread.updated': z.strictObject({
    status: text.exactOptional(),
    agent: text.exactOptional(),
  }),
  'thread.status': nothing,
  'thread.closed': z.strictObject({ outcome: text, reason: text, rejected: count }),
  'thread.reopened': nothing,
  'run.started': z.strictObject({ trigger: text }),
  'run.completed': z.strictObject(ended),
  'run.failed': z.strictObject({ ...ended, error: text.exactOptional() }),
  'run.cancelled': z.strictObject(ended),
  'side.started': z.strictObject({ side, label: text.nullable().exactOptional() }),
  'side.completed': z.strictObject({ side, reason: text.nullable() }),
  'step.started': z.strictObject({
    step: count,
    prompt: text.exactOptional(),
    model: text.exactOptional(),
  }),
  'step.completed': z.strictObject({ step: count, reason: text.nullable() }),
  'step.phase': z.strictObject({ phase: z.literal([1, 2, 3, 4, 5, 6, 7]), name: text }),
  'queue.changed': z.strictObject({
    waiting: count,
    added: z.array(z.strictObject({ id: text, kind: itemKind })).exactOptional(),
    ...{ taken: names, removed: names, promoted: names },
    unlisted: count.exactOptional(),
  }),
  'tool.catalog.resolved': z.strictObject({
    ...{ agent: text, prompt: text, count, tools: z.array(text), digest: text },
  }),
  'context.resolved': z.strictObject({
    ...{ agent: text, provider: text.nullable(), model: text, modelId: text },
    contextWindow: count.nullable(),
    messages: count,
    tools: count,
    dropped: count.exactOptional(),
    estimatedTokens: count.exactOptional(),
    tokens: z.strictObject({ system: count, tools: count, history: count, user: count }),
    items: z.array(
      z.strictObject({
        kind: z.enum(['system', 'subagents', 'tools', 'messages', 'results', 'user']),
        ...{ count, tokens: count },
      }),
    ),
  }),
  'model.requested': z.strictObject({ model: text, attempt: count, routing }),
  'model.unavailable': z.strictObject({ routing }),
  'model.completed': z.strictObject({
    ...{ model: text, attempt: count, usage },
    ...{ finishReason: text, milliseconds: z.number(), metadataLeftOut: count.exactOptional() },
  }),
  'model.failed': z.strictObject({
    ...{ model: text, attempt: count },
    ...{ error: text, next: z.enum(['retry', 'fallback', 'wait', 'none']) },
    errorId: text.exactOptional(),
  }),
  'message.created': z.strictObject({ role: z.enum(['system', 'user', 'assistant', 'tool']) }),
  'message.updated': nothing,
  'message.deleted': nothing,
  'permission.evaluated': z.strictObject({
    toolName: text,
    action: z.enum(['tool', 'prompt', 'hand_off', 'subagent', 'subagent_message']),
    decision: z.enum(['allowed', 'denied', 'asked']),
    source: z.enum([
      ...(['worker', 'agent', 'account', 'user', 'thread', 'run'] as const),
      ...(['tool', 'mode', 'policy', 'hook', 'grant', 'not_interactive'] as const),
    ]),
    hook: text.exactOptional(),
    rules: names,
  }),
  'permission.requested': z.strictObject({ requestId: text, expiresAt: count.exactOptional() }),
  'permission.resolved': z.strictObject({
    ...{ requestId: text, by: text.nullable(), changed: z.literal(true).exactOptional() },
    resolution: z.enum(['allowed', 'denied', 'timed_out', 'cancelled']),
  }),
  'policy.changed': z.strictObject({
    subject: z.enum(['run', 'thread', 'tree', 'user']),
    change: z.enum(['rules_added', 'grant_given', 'grant_revoked']),
    ...{ rules: count.exactOptional(), digest: text.exactOptional() },
    ...{ grantId: text.exactOptional(), by: text.nullable().exactOptional() },
  }),
  'budget.warning': z.strictObject(budgetFact),
  'budget.exceeded': z.strictObject({
    ...budgetFact,
    ...{ requestId: text.exactOptional(), unpriced: text.exactOptional() },
  }),
  'budget.raised': z.strictObject({ requestId: text, by: text.nullable() }),
  'tool.started': z.strictObject({ name: text }),
  'tool.result': z.strictObject({
    name: text,
    outcome: z.enum(['succeeded', 'failed', 'denied', 'interrupted', 'cancelled', 'unknown']),
    errorCode: text.nullable(),
    errorId: text.exactOptional(),
    erased: z.literal(true).exactOptional(),
  }),
  'action.required': z.strictObject({
    ...{ requestId: text, kind: requestKind, toolName: text.nullable() },
    missing: z.array(text).exactOptional(),
  }),
  'action.resolved': z.strictObject({
    ...{ requestId: text, kind: requestKind, by: text.nullable() },
    decision: z.enum(['approved', 'denied', 'answered', 'supplied', 'closed', 'expired']),
  }),
  'subagent.spawned': z.strictObject(child),
  'subagent.input': z.strictObject(child),
  'subagent.status': z.strictObject(child),
  'subagent.completed': z.strictObject(child),
  'subagent.failed': z.strictObject(child),
  'subagent.closed': z.strictObject({ ...child, status: text }),
  'effect.scheduled': z.strictObject({ ...effect, time: z.number() }),
  'effect.completed': z.strictObject(effect),
  'effect.failed': z.strictObject({ ...effect, code: z.enum(effectCodes), errorId: text }),
  'effect.removed': z.strictObject(effect),
  'limit.changed': z.strictObject({ limit: text, state: z.literal('exhausted'), until: count }),
  'hook.started': z.strictObject({ hook: text, point: text, timeout: count }),
  'hook.completed': z.strictObject({
    ...{ hook: text, point: text, duration: count, added: names, updated: names },
    status: z.enum(['completed', 'stopped']),
    decision: z.enum(['none', 'change', 'erase', 'allow', 'require_approval', 'deny', 'continue']),
  }),
  'hook.failed': z.strictObject({
    ...{ hook: text, point: text.nullable(), errorId: text },
    ...{ code: z.enum(hookCodes), retryable: z.boolean(), fails: z.enum(['open', 'closed']) },
  }),
  custom: z.strictObject({ name: text, data: z.json() }),
  'runtime.warning': z.strictObject({
    ...{ code: z.enum(warningCodes), message: text.exactOptional() },
    count: count.exactOptional(),
  }),
} satisfies { readonly [Type in EventType]: z.ZodType<EventPayloads[Type]> }

const preview = { preview: text.nullable(), truncated: z.boolean() }
const message = { message: z.looseObject({ id: text }).nullable(), truncated: z.boolean(), bytes: count }
const instance = { threadName: text.exactOptional() }
const queued = z.strictObject({ id: text, kind: text, queuedAt: count, preview: text.exactOptional() })

/** What delivery adds. */
const JOINED = {
  'thread.status': { status: text.nullable() },
  'run.cancelled': { cancelReason: text.nullable() },
  'message.created': message,
  'message.updated': message,
  'queue.changed': { queue: z.array(queued) },
  'tool.started': preview,
  'hook.started': preview,
  'tool.result': { ...preview, attachments: z.array(z.looseObject({ path: text })) },
  'action.required': {
    ...preview,
    toolName: text.nullable(),
    agent: text.exactOptional(),
    required: names,
    missing: names,
  },
  'action.resolved': { reason: text.nullable() },
  'subagent.spawned': instance,
  'subagent.input': instance,
  'subagent.status': { ...instance, status: text.exactOptional() },
  'subagent.completed': instance,
  'subagent.failed': instance,
  'subagent.closed': instance,
} satisfies {
  readonly [Type in keyof JoinedPayloads]: {
    readonly [Field in keyof JoinedPayloads[Type]]-?: z.ZodType
  }
}

const ADDED: Partial<Record<string, z.ZodRawShape>> = JOINED

interface AnyEvent {
  readonly type: string
  readonly payload: object
}

/** What is wrong with stored events, one sentence each. */
function storedEventProblems(events: readonly AnyEvent[]): readonly string[] {
  return events.flatMap((event) => problemOf(event, {}))
}

/** What is wrong with an event as a subscriber got it; deltas are no facts and have no shape here. */
export function deliveredEventProblems(events: readonly ThreadEvent[]): readonly string[] {
  return events
    .filter(({ sequence }) => sequence !== undefined)
    .flatMap((event) => problemOf(event, ADDED[event.type] ?? {}))
}

function problemOf({ type, payload }: AnyEvent, joined: z.ZodRawShape): readonly string[] {
  if (!isKnown(type)) return [`${type} is in no table`]
  const schema = z.strictObject({ ...WRITTEN[type].shape, ...joined })
  const { error: problem } = schema.safeParse(payload)
  if (problem === undefined) return []
  return [`${type} ${JSON.stringify(payload)}: ${z.prettifyError(problem)}`]
}

function isKnown(type: string): type is EventType {
  return Object.hasOwn(WRITTEN, type)
}

/** Checks every event of every thread of a store. */
export async function allEventProblems(store: Store): Promise<readonly string[]> {
  return store.read(async (db) => {
    const problems: string[] = []
    for (const { id, last_sequence: limit } of await db
      .selectFrom('threads')
      .select(['id', 'last_sequence'])
      // By an index: on PostgreSQL no statement of a test reads a whole table.
      .orderBy('last_activity_at')
      .execute())
      problems.push(
        ...storedEventProblems(await readEvents(db, { threadId: id, after: 0, limit: limit + 1 })),
      )
    return problems
  })
}
