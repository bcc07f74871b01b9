/**
 * The view of Kore.ai's agent platform: its eight types of trace events.
 *
 * Owns: which of them an event of the log is, with the fields that they capture. Does not own: the metrics of a session (`usage()`).
 *
 * An event that none of the eight is about is not shown. What was not measured is null, never zero.
 */
import { globalRunId, payloadOf, textOf, textsOf, viewedId } from './view.js'
import type { View, ViewedFact, ViewSubject } from './view.js'

/** What a trace event has beside the fields of its type. */
interface TraceEnvelope {
  readonly eventId: string
  /** ISO 8601, in UTC. */
  readonly timestamp: string
  /** From 1, without gaps. */
  readonly sequence: number
  readonly sessionId: string
  readonly threadId: string
  /** The agent that had the thread. */
  readonly agent: string
  readonly runId?: string
  readonly stepId?: string
  readonly traceId?: string
  readonly spanId?: string
}

/** The fields of each type. */
interface TraceFields {
  /** A request to a model has ended. */
  readonly llm_call: {
    readonly model: string
    /** Null: it gave no answer, or its provider has not counted. */
    readonly tokens: { readonly input: number; readonly output: number; readonly cachedInput: number } | null
    /** Milliseconds. */
    readonly latency: number | null
    /** Millionths of a dollar; null: unknown. */
    readonly cost: number | null
    readonly attempt: number
    /** Null: it has an answer. */
    readonly error: string | null
  }
  /** A call of a tool began. */
  readonly tool_call: {
    readonly toolName: string
    readonly toolCallId: string
    /** JSON as text; its beginning, if it is long. */
    readonly input: string | null
  }
  /** A call of a tool ended. */
  readonly tool_result: {
    readonly toolName: string
    readonly toolCallId: string
    readonly outcome: string
    /** Its beginning, if it is long. */
    readonly result: string | null
    readonly error: string | null
    /** Milliseconds from the beginning of the call; null: it did not begin. */
    readonly latency: number | null
  }
  /** A model was chosen, a step or side ended, or a run. */
  readonly decision: {
    readonly kind: 'routing' | 'flow'
    readonly outcome: string
    readonly reason: string | null
  }
  /** Another agent took over. */
  readonly handoff: { readonly from: string; readonly to: string }
  /** Variables of the session got values, which are never shown. */
  readonly state_change: { readonly variables: readonly string[]; readonly change: string }
  /** A rule, a hook, a person or a budget has judged. */
  readonly guardrail_eval: {
    readonly guardrail: string
    readonly decision: string
    readonly toolCallId: string | null
    readonly source: string | null
  }
  /** Something failed. */
  readonly error: { readonly source: string; readonly code: string; readonly errorId: string | null }
}

type KoreType = keyof TraceFields

type Traced = { [Type in KoreType]: { readonly type: Type } & TraceFields[Type] }[KoreType]

/** A trace event. */
export type KoreEvent = TraceEnvelope & Traced

export interface KoreState {
  readonly sequence: number
  readonly agent: string
  /** When open requests and calls began, by the id of their message or call. */
  readonly since: Readonly<Record<string, string>>
  /** The variables that open requests are about, by request. */
  readonly missing: Readonly<Record<string, readonly string[]>>
}

/** Makes the view of a thread in the words of Kore.ai's platform. */
export function koreView(subject: ViewSubject): View<KoreState, KoreEvent> {
  return {
    begin: { sequence: 0, agent: subject.agent, since: {}, missing: {} },
    take(state, event) {
      const traced = tracedBy(event, state)
      const events = traced.map((fields, index) => ({
        ...envelopeOf(subject, event, { agent: state.agent, index }),
        sequence: state.sequence + index + 1,
        ...fields,
      }))
      return [{ ...remember(state, event), sequence: state.sequence + traced.length }, events]
    },
  }
}

function envelopeOf(
  { sessionId }: ViewSubject,
  event: ViewedFact,
  { agent, index }: { readonly agent: string; readonly index: number },
): Omit<TraceEnvelope, 'sequence'> {
  const { timestamp, threadId, runId, stepId, traceId, spanId } = event
  return {
    ...{
      eventId: viewedId(event, index),
      timestamp,
      sessionId: event.sessionId ?? sessionId,
      threadId,
      agent,
    },
    ...(runId !== undefined && { runId: globalRunId(threadId, runId) }),
    ...(stepId !== undefined && { stepId }),
    ...(traceId !== undefined && { traceId }),
    ...(spanId !== undefined && { spanId }),
  }
}

/** A request of a model is known by its message, a call by its id. */
function keyOf({ toolCallId, messageId, stepId }: ViewedFact): string {
  return toolCallId ?? messageId ?? stepId ?? ''
}

function remember(state: KoreState, event: ViewedFact): KoreState {
  switch (event.type) {
    case 'thread.started':
      return { ...state, agent: event.payload.agent }
    case 'thread.updated':
      return event.payload.agent === undefined ? state : { ...state, agent: event.payload.agent }
    case 'model.requested':
    case 'tool.started':
      return { ...state, since: { ...state.since, [keyOf(event)]: event.timestamp } }
    case 'model.completed':
    case 'model.failed':
    case 'tool.result':
      return { ...state, since: without(state.since, keyOf(event)) }
    case 'action.required': {
      const { requestId, missing = [] } = event.payload
      return missing.length === 0 ? state : { ...state, missing: { ...state.missing, [requestId]: missing } }
    }
    case 'action.resolved':
      return { ...state, missing: without(state.missing, event.payload.requestId) }
    default:
      return state
  }
}

function without<Value>(
  values: Readonly<Record<string, Value>>,
  key: string,
): Readonly<Record<string, Value>> {
  if (!Object.hasOwn(values, key)) return values
  const { [key]: _gone, ...rest } = values
  return rest
}

function tracedBy(event: ViewedFact, state: KoreState): readonly Traced[] {
  switch (event.type) {
    case 'model.requested': {
      const { model, routing } = event.payload
      return [{ type: 'decision', kind: 'routing', outcome: model, reason: routing.reason }]
    }
    case 'model.unavailable':
      return [
        { type: 'decision', kind: 'routing', outcome: 'none', reason: event.payload.routing.reason },
        errorOf('model', 'unavailable', null),
      ]
    case 'model.completed':
    case 'model.failed':
      return callsOf(event, state)
    case 'tool.started': {
      const { name: toolName, preview } = event.payload
      return [{ type: 'tool_call', toolName, toolCallId: event.toolCallId ?? '', input: preview }]
    }
    case 'tool.result':
      return [resultOf(event, state)]
    case 'side.completed':
    case 'step.completed': {
      const { reason } = event.payload
      return reason === null ? [] : [{ type: 'decision', kind: 'flow', outcome: event.type, reason }]
    }
    case 'run.completed':
    case 'run.cancelled':
      return [{ type: 'decision', kind: 'flow', outcome: event.type, reason: event.payload.reason }]
    case 'run.failed':
      return [
        { type: 'decision', kind: 'flow', outcome: event.type, reason: event.payload.reason },
        errorOf('run', event.payload.reason, null),
      ]
    case 'thread.updated': {
      const { agent } = event.payload
      return agent === undefined || agent === state.agent
        ? []
        : [{ type: 'handoff', from: state.agent, to: agent }]
    }
    case 'action.resolved': {
      const { kind, decision, requestId } = event.payload
      if (kind !== 'variables' || decision !== 'supplied') return []
      return [{ type: 'state_change', variables: state.missing[requestId] ?? [], change: decision }]
    }
    case 'effect.failed':
      return [errorOf('effect', event.payload.code, event.payload.errorId)]
    case 'runtime.warning':
      return [errorOf('runtime', event.payload.code, null)]
    default:
      return judgedBy(event) ?? setBy(event)
  }
}

function errorOf(source: string, code: string, errorId: string | null): Traced {
  return { type: 'error', source, code, errorId }
}

function latencyOf(event: ViewedFact, { since }: KoreState): number | null {
  const began = since[keyOf(event)]
  return began === undefined ? null : Math.max(0, Date.parse(event.timestamp) - Date.parse(began))
}

function callsOf(
  event: ViewedFact & { readonly type: 'model.completed' | 'model.failed' },
  state: KoreState,
): readonly Traced[] {
  const { model, attempt } = event.payload
  if (event.type === 'model.failed') {
    const { error, errorId = null } = event.payload
    const latency = latencyOf(event, state)
    return [
      { type: 'llm_call', model, tokens: null, latency, cost: null, attempt, error },
      errorOf('model', error, errorId),
    ]
  }
  const { usage, milliseconds: latency } = event.payload
  const tokens = {
    ...{ input: usage.inputTokens, output: usage.outputTokens, cachedInput: usage.cachedInputTokens },
  }
  return [{ type: 'llm_call', model, tokens, latency, cost: usage.cost, attempt, error: null }]
}

function resultOf(event: ViewedFact & { readonly type: 'tool.result' }, state: KoreState): Traced {
  const { name: toolName, outcome, errorCode, preview } = event.payload
  return {
    ...{ type: 'tool_result', toolName, toolCallId: event.toolCallId ?? '', outcome, result: preview },
    error: outcome === 'succeeded' ? null : (errorCode ?? outcome),
    latency: latencyOf(event, state),
  }
}

/** What has judged a call, a message or the cost of a run; null for any other event. */
function judgedBy(event: ViewedFact): readonly Traced[] | null {
  const toolCallId = event.toolCallId ?? null
  const evaluation = { type: 'guardrail_eval', toolCallId } as const
  switch (event.type) {
    case 'permission.evaluated': {
      const { decision, source, action } = event.payload
      return [{ ...evaluation, guardrail: `permission:${action}`, decision, source }]
    }
    case 'permission.resolved': {
      const { resolution, by } = event.payload
      return [{ ...evaluation, guardrail: 'approval', decision: resolution, source: by }]
    }
    case 'budget.warning':
    case 'budget.exceeded': {
      const { limit, scope } = event.payload
      const decision = event.type === 'budget.warning' ? 'warning' : 'exceeded'
      return [{ ...evaluation, guardrail: `budget:${limit}`, decision, source: scope }]
    }
    case 'hook.completed': {
      const { hook, decision, point } = event.payload
      return [{ ...evaluation, guardrail: `hook:${hook}`, decision, source: point }]
    }
    case 'hook.failed': {
      const { hook, code, fails, errorId } = event.payload
      return [
        {
          ...evaluation,
          guardrail: `hook:${hook}`,
          decision: `failed_${fails}`,
          source: event.payload.point,
        },
        errorOf('hook', code, errorId),
      ]
    }
    default:
      return null
  }
}

/** Variables that were set, by their names, and errors of the runtime, where the log says so. */
function setBy(event: ViewedFact): readonly Traced[] {
  const type: string = event.type
  const { names, code, errorId } = payloadOf(event)
  if (type === 'variables.changed')
    return [{ type: 'state_change', variables: textsOf(names), change: 'set' }]
  if (type === 'runtime.error') return [errorOf('runtime', textOf(code) ?? type, textOf(errorId))]
  return []
}
