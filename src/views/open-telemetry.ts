/**
 * The view of OpenTelemetry: spans and log records with the names of its conventions for generative AI.
 *
 * Owns: which events of the log are the two ends of a span, and their attributes. Does not own: the spans that a worker sends itself
 * (`telemetry`), whose names and attributes are the same; this view makes them of the log, later and anywhere, for exporters and readers
 * without a collector.
 *
 * A run is a span `invoke_agent`, a request to a model `chat`, a call `execute_tool`; everything else is a log record whose name is the
 * type of the event. There are ids, registered names and numbers, never content (T5). Times are nanoseconds since 1970, as text.
 */
import type { JsonValue } from '../protocol/values.js'
import { globalRunId, payloadOf, textOf } from './view.js'
import type { View, ViewedFact, ViewSubject } from './view.js'

type Attribute = string | number | boolean | readonly string[]

export type Attributes = Readonly<Record<string, Attribute>>

/** A piece of work that has ended. */
export interface ViewedSpan {
  readonly signal: 'span'
  readonly name: string
  /** As OpenTelemetry names it. */
  readonly kind: 'INTERNAL' | 'CLIENT'
  readonly startTimeUnixNano: string
  readonly endTimeUnixNano: string
  readonly status: 'UNSET' | 'ERROR'
  readonly attributes: Attributes
  readonly traceId?: string
  readonly spanId?: string
}

/** Something that happened. */
export interface ViewedLog {
  readonly signal: 'log'
  readonly eventName: string
  readonly timeUnixNano: string
  readonly severityNumber: 9 | 13 | 17
  readonly severityText: 'INFO' | 'WARN' | 'ERROR'
  readonly attributes: Attributes
  readonly traceId?: string
  readonly spanId?: string
}

export type OpenTelemetryRecord = ViewedSpan | ViewedLog

export interface OpenTelemetryState {
  readonly agent: string
  /** When open runs, requests and calls began, and the attributes of that, by their ids. */
  readonly open: Readonly<Record<string, Begun>>
  /** Of the newest assembled request, whose fact precedes it. */
  readonly context: Attributes
}

interface Begun {
  readonly at: string
  readonly attributes: Attributes
}

/** Makes the view of a thread as spans and log records of OpenTelemetry. */
export function openTelemetryView(subject: ViewSubject): View<OpenTelemetryState, OpenTelemetryRecord> {
  return {
    begin: { agent: subject.agent, open: {}, context: {} },
    take(state, event) {
      // Text that streams is content.
      if (event.sequence === undefined) return [state, []]
      const key = keyOf(event)
      const base = baseOf(subject, event, state)
      const next = { ...state, ...remember(state, event) }
      const begun = beginningOf(event, state)
      if (begun !== null)
        return [{ ...next, open: { ...state.open, [key]: { at: event.timestamp, attributes: begun } } }, []]
      const end = endOf(event)
      if (end === null) return [next, isSilent(event) ? [] : [logOf(event, base)]]
      const { [key]: since, ...open } = state.open
      return [{ ...next, open }, [spanOf(event, { base, end, since })]]
    },
  }
}

function remember(
  state: OpenTelemetryState,
  event: ViewedFact,
): Partial<Pick<OpenTelemetryState, 'agent' | 'context'>> {
  if (event.type === 'thread.started') return { agent: event.payload.agent }
  if (event.type === 'thread.updated') return { agent: event.payload.agent ?? state.agent }
  if (event.type !== 'context.resolved') return {}
  const { provider, modelId } = event.payload
  return {
    context: {
      ...(provider !== null && { 'gen_ai.provider.name': providerOf(provider) }),
      'gen_ai.request.model': modelId,
    },
  }
}

/** `openai` for `openai.responses`: the AI SDK appends the called service to the name of the provider. */
function providerOf(provider: string): string {
  return provider.split('.')[0] ?? provider
}

/** What a span is of: a call, a request (by the message that answers it), or a run. */
function keyOf({ type, toolCallId, messageId, stepId, runId }: ViewedFact): string {
  if (type.startsWith('tool.')) return `tool ${toolCallId}`
  if (type.startsWith('model.')) return `model ${messageId ?? toolCallId ?? stepId}`
  return `run ${runId}`
}

/** What every record says of its place. */
function baseOf({ sessionId }: ViewSubject, event: ViewedFact, { agent }: OpenTelemetryState): Attributes {
  const { threadId, runId, stepId, messageId, childId } = event
  return {
    'gen_ai.conversation.id': threadId,
    'gen_ai.agent.name': agent,
    'session.id': event.sessionId ?? sessionId,
    ...(runId !== undefined && { 'everthread.run.id': globalRunId(threadId, runId) }),
    ...(stepId !== undefined && { 'everthread.step.id': stepId }),
    ...(messageId !== undefined && { 'everthread.message.id': messageId }),
    ...(childId !== undefined && { 'everthread.subagent.id': childId }),
  }
}

/** The attributes with which a span begins; null for an event that begins none. */
function beginningOf(event: ViewedFact, { context }: OpenTelemetryState): Attributes | null {
  switch (event.type) {
    case 'run.started':
      return { 'gen_ai.operation.name': 'invoke_agent', 'everthread.trigger': event.payload.trigger }
    case 'model.requested':
      return {
        'gen_ai.operation.name': 'chat',
        'gen_ai.request.model': event.payload.model,
        ...context,
        'everthread.model': event.payload.model,
        'everthread.routing.reason': event.payload.routing.reason,
      }
    case 'tool.started':
      return callAttributes(event.payload.name, event.toolCallId)
    default:
      return null
  }
}

function callAttributes(name: string, callId: string | undefined): Attributes {
  return {
    ...{ 'gen_ai.operation.name': 'execute_tool', 'gen_ai.tool.type': 'function', 'gen_ai.tool.name': name },
    ...(callId !== undefined && { 'gen_ai.tool.call.id': callId }),
  }
}

interface End {
  readonly name: (attributes: Attributes) => string
  readonly kind: ViewedSpan['kind']
  readonly attributes: Attributes
  /** The code of a failure; null: it ended well. */
  readonly error: string | null
}

/** How a span ends; null for an event that ends none. */
function endOf(event: ViewedFact): End | null {
  switch (event.type) {
    case 'run.completed':
    case 'run.failed':
    case 'run.cancelled': {
      const { reason, steps, usage } = event.payload
      return {
        name: (attributes) => `invoke_agent ${String(attributes['gen_ai.agent.name'])}`,
        kind: 'INTERNAL',
        attributes: { 'everthread.reason': reason, 'everthread.steps': steps, ...usageOf(usage) },
        error: event.type === 'run.completed' ? null : reason,
      }
    }
    case 'model.completed': {
      const { usage, finishReason, attempt } = event.payload
      const attributes = { 'gen_ai.response.finish_reasons': [finishReason], 'everthread.attempt': attempt }
      return { ...REQUEST, attributes: { ...attributes, ...usageOf(usage) }, error: null }
    }
    case 'model.failed': {
      const { attempt, error } = event.payload
      return { ...REQUEST, attributes: { 'everthread.attempt': attempt }, error }
    }
    case 'tool.result': {
      const { name, outcome, errorCode } = event.payload
      return {
        name: () => `execute_tool ${name}`,
        kind: 'INTERNAL',
        attributes: { ...callAttributes(name, event.toolCallId), 'everthread.outcome': outcome },
        error: outcome === 'succeeded' ? null : (errorCode ?? outcome),
      }
    }
    default:
      return null
  }
}

const REQUEST = {
  name: (attributes: Attributes) => `chat ${String(attributes['gen_ai.request.model'] ?? '')}`,
  kind: 'CLIENT',
} as const

interface Used {
  readonly inputTokens: number
  readonly outputTokens: number
  readonly cachedInputTokens: number
  readonly cost: number | null
}

function usageOf({ inputTokens, outputTokens, cachedInputTokens, cost }: Used): Attributes {
  return {
    'gen_ai.usage.input_tokens': inputTokens,
    'gen_ai.usage.output_tokens': outputTokens,
    'gen_ai.usage.cache_read.input_tokens': cachedInputTokens,
    // OpenTelemetry has no name for it; an unknown cost is left out.
    ...(cost !== null && { 'everthread.cost.microdollars': cost }),
  }
}

interface Ended {
  readonly base: Attributes
  readonly end: End
  /** Undefined for a span whose beginning is not in the log, such as a call that was denied. */
  readonly since: Begun | undefined
}

function spanOf(event: ViewedFact, { base, end, since }: Ended): ViewedSpan {
  const attributes: Attributes = {
    ...base,
    ...since?.attributes,
    ...end.attributes,
    ...(end.error !== null && { 'error.type': end.error }),
  }
  return {
    ...{ signal: 'span', name: end.name(attributes), kind: end.kind },
    ...{ startTimeUnixNano: nanos(since?.at ?? event.timestamp), endTimeUnixNano: nanos(event.timestamp) },
    status: end.error === null ? 'UNSET' : 'ERROR',
    attributes,
    ...traceOf(event),
  }
}

function traceOf({ traceId, spanId }: ViewedFact): Pick<ViewedSpan, 'traceId' | 'spanId'> {
  return { ...(traceId !== undefined && { traceId }), ...(spanId !== undefined && { spanId }) }
}

/** The clock of the log has milliseconds. */
function nanos(timestamp: string): string {
  return `${Date.parse(timestamp)}000000`
}

/** Marks of phases are half of the log and say nothing that the spans do not. */
function isSilent({ type }: ViewedFact): boolean {
  return type === 'step.phase'
}

const ERRORS: ReadonlySet<string> = new Set([
  'runtime.error',
  'hook.failed',
  'effect.failed',
  'subagent.failed',
])
const WARNINGS: ReadonlySet<string> = new Set([
  'runtime.warning',
  'budget.warning',
  'budget.exceeded',
  'limit.changed',
])

function logOf(event: ViewedFact, base: Attributes): ViewedLog {
  const severity = ERRORS.has(event.type)
    ? ({ severityNumber: 17, severityText: 'ERROR' } as const)
    : WARNINGS.has(event.type)
      ? ({ severityNumber: 13, severityText: 'WARN' } as const)
      : ({ severityNumber: 9, severityText: 'INFO' } as const)
  const code = textOf(payloadOf(event)['code'])
  return {
    ...{ signal: 'log', eventName: `everthread.${event.type}`, timeUnixNano: nanos(event.timestamp) },
    ...severity,
    attributes: {
      ...base,
      ...scalarsOf(event),
      ...(code !== null && severity.severityText === 'ERROR' && { 'error.type': code }),
    },
    ...traceOf(event),
  }
}

/** Fields of a payload that are content, which delivery has joined, or that have it. */
const CONTENT: ReadonlySet<string> = new Set([
  'status',
  'message',
  'preview',
  'reason',
  'threadName',
  'data',
  'title',
])

/** The ids, names and numbers of a payload. */
function scalarsOf(event: ViewedFact): Attributes {
  const scalars = Object.entries(payloadOf(event)).flatMap(([name, value]) =>
    CONTENT.has(name) || !isScalar(value) ? [] : [[`everthread.${name}`, value] as const],
  )
  return Object.fromEntries(scalars)
}

function isScalar(value: JsonValue | undefined): value is string | number | boolean {
  return typeof value === 'string' || typeof value === 'number' || typeof value === 'boolean'
}
