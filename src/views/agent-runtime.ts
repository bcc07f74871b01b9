/**
 * The view of the Agent Runtime draft: its envelope and its event classes.
 *
 * Owns: which classes an event of the log is, and what their payloads add to it. Does not own: turns (`turns.ts`), items and references
 * (`agent-runtime-items.ts`), control states and what is unavailable (`control-states.ts`, `capabilities.ts`).
 *
 * - An event whose name the draft has too keeps its name and payload; others stay as types of our own, which the draft allows.
 * - What the draft says in several events and our log in one, the view says in several: the choice of a model, costs, limits, items.
 * - Ids are those of the log, but run ids, which are unique in all threads, and turns: one for each submitted message.
 * - A field that does not apply, or that nothing has recorded, is absent; nothing is invented. A request or call without a trace says so.
 */
import type { Routing } from '../protocol/event-codes.js'
import type { ThreadEventOf } from '../protocol/events.js'
import { resultPathOf } from '../protocol/ids.js'
import type { JsonObject, JsonValue } from '../protocol/values.js'
import { itemsOf, refsOf } from './agent-runtime-items.js'
import { applyToTurns, currentTurn, NO_TURNS } from './turns.js'
import type { TurnChange, TurnState } from './turns.js'
import { globalRunId, payloadOf, textOf, viewedId } from './view.js'
import type { View, ViewedFact, ViewSubject } from './view.js'

/** The version of the draft whose classes these are. */
export const AGENT_RUNTIME_VERSION = '0.1.0'

/** An event in the envelope of the draft. */
export interface AgentRuntimeEvent {
  /** A class of the draft, or a type of our own. */
  readonly type: string
  readonly eventId: string
  /** ISO 8601, in UTC. */
  readonly timestamp: string
  readonly schemaVersion: typeof AGENT_RUNTIME_VERSION
  /** From 1, without gaps. Deltas have none. */
  readonly sequence?: number
  readonly runtimeId?: string
  readonly sessionId: string
  readonly threadId: string
  readonly turnId?: string
  /**
   * The work that a run is an attempt at: the turn that asked for it. A run that goes on with what another one has left, after a failure, a
   * stop or a loss, has the task of that.
   */
  readonly taskId?: string
  readonly runId?: string
  readonly stepId?: string
  readonly toolCallId?: string
  /** The request that a person answers. */
  readonly actionId?: string
  /** The thread of the subagent. */
  readonly subagentId?: string
  readonly traceId?: string
  readonly spanId?: string
  readonly payload: JsonObject
  /**
   * Where to read what is large or of another owner: paths of the HTTP API, and ids of the provider. `trace: 'missing_correlation'`: the
   * request or call belongs to no trace, since no telemetry is collected.
   */
  readonly refs?: JsonObject
}

export interface AgentRuntimeState {
  readonly turns: TurnState
  /** Of the newest event. */
  readonly sequence: number
  /** What was decided about calls that have not begun. */
  readonly policies: Readonly<Record<string, string>>
  /** An estimate of the tokens of the newest request. */
  readonly tokens: number | null
  /** The message of the newest answer, if its model has thought before. */
  readonly reasoned: { readonly messageId: string; readonly characters: number } | null
  /** The file with the whole result of a call that has not ended, if that was too long for a message. */
  readonly results: Readonly<Record<string, string>>
}

interface Draft {
  readonly type: string
  readonly payload: JsonObject
  readonly refs?: JsonObject
  readonly turnId?: string
}

/** Makes the view of a thread in the words of the Agent Runtime draft. */
export function agentRuntimeView(subject: ViewSubject): View<AgentRuntimeState, AgentRuntimeEvent> {
  return {
    begin: {
      ...{ turns: NO_TURNS, sequence: 0 },
      ...{ policies: {}, tokens: null, reasoned: null, results: {} },
    },
    take(state, event) {
      const [turns, changes] = applyToTurns(state.turns, event)
      const reasoned = state.reasoned?.messageId === event.messageId && state.reasoned !== null
      const drafts = [...changes.map(turnDraft), ...draftsOf(event, state), ...itemsOf(event, { reasoned })]
      // The end of a run belongs to the turns that end with it.
      const at = currentTurn(turns) === undefined ? state.turns : turns
      const turnId = currentTurn(at)
      const taskId = at.resumed ?? turnId
      const isCounted = event.sequence !== undefined
      const events = drafts.map((draft, index) =>
        envelopeOf(subject, event, {
          ...{ draft, index, turnId, taskId },
          sequence: isCounted ? state.sequence + index + 1 : undefined,
        }),
      )
      const sequence = state.sequence + (isCounted ? drafts.length : 0)
      return [{ ...remember(state, event), turns, sequence }, events]
    },
  }
}

interface Placed {
  readonly draft: Draft
  readonly index: number
  readonly turnId: string | undefined
  readonly taskId: string | undefined
  readonly sequence: number | undefined
}

function envelopeOf(
  subject: ViewSubject,
  event: ViewedFact,
  { draft, index, turnId: current, taskId, sequence }: Placed,
): AgentRuntimeEvent {
  const { timestamp, threadId, runId, stepId, toolCallId, childId, traceId, spanId } = event
  const { type, payload } = draft
  const refs = withGap(event, draft)
  // What belongs to no run belongs to no turn, but for the turn that it is about.
  const turnId = draft.turnId ?? (runId === undefined ? undefined : current)
  const actionId = textOf(payloadOf(event)['requestId'])
  const { sessionId } = subject
  const runtimeId = event.runtimeId ?? subject.runtimeId
  return {
    ...{ type, eventId: viewedId(event, index), timestamp, schemaVersion: AGENT_RUNTIME_VERSION },
    ...(sequence !== undefined && { sequence }),
    ...(runtimeId !== undefined && { runtimeId }),
    ...{ sessionId: event.sessionId ?? sessionId, threadId },
    ...(turnId !== undefined && { turnId }),
    ...(runId !== undefined && taskId !== undefined && { taskId }),
    ...(runId !== undefined && { runId: globalRunId(threadId, runId) }),
    ...(stepId !== undefined && { stepId }),
    ...(toolCallId !== undefined && { toolCallId }),
    ...(actionId !== null && { actionId }),
    ...(childId !== undefined && { subagentId: childId }),
    ...(traceId !== undefined && { traceId }),
    ...(spanId !== undefined && { spanId }),
    payload,
    ...(refs !== undefined && { refs }),
  }
}

/** What telemetry would follow: a gap is said, and never filled with a guess. */
const TRACED = /^(model|tool)\.(?!catalog|delta)/

function withGap({ traceId, sequence }: ViewedFact, { type, refs }: Draft): JsonObject | undefined {
  // What is seen while it happens is in no trace.
  return traceId === undefined && sequence !== undefined && TRACED.test(type)
    ? { ...refs, trace: 'missing_correlation' }
    : refs
}

function turnDraft(change: TurnChange): Draft {
  const { turnId } = change
  switch (change.kind) {
    case 'submitted':
      return { type: 'turn.submitted', turnId, payload: { source: change.source } }
    case 'started':
      return { type: 'turn.started', turnId, payload: {} }
    case 'ended': {
      const { outcome, reason } = change
      // The draft has no class of its own for the third end.
      const type = outcome === 'completed' ? 'turn.completed' : 'turn.failed'
      return { type, turnId, payload: { status: turnStatus(outcome), outcome, reason } }
    }
  }
}

function turnStatus(outcome: string): 'completed' | 'failed' | 'cancelled' {
  if (outcome === 'completed' || outcome === 'failed') return outcome
  return outcome === 'refused' ? 'failed' : 'cancelled'
}

function remember(state: AgentRuntimeState, event: ViewedFact): AgentRuntimeState {
  const { toolCallId } = event
  if (event.type === 'context.resolved') return { ...state, tokens: event.payload.estimatedTokens ?? null }
  if (event.type === 'model.completed') return { ...state, reasoned: reasonedOf(event) }
  if (toolCallId === undefined) return state
  if (event.type === 'permission.evaluated')
    return { ...state, policies: { ...state.policies, [toolCallId]: event.payload.decision } }
  if (event.type === 'file.changed' && event.payload.path === resultPathOf(toolCallId))
    return { ...state, results: { ...state.results, [toolCallId]: event.payload.path } }
  if (event.type !== 'tool.result') return state
  return {
    ...state,
    policies: without(state.policies, toolCallId),
    results: without(state.results, toolCallId),
  }
}

function without(record: Readonly<Record<string, string>>, key: string): Readonly<Record<string, string>> {
  if (!Object.hasOwn(record, key)) return record
  const { [key]: _left, ...rest } = record
  return rest
}

function reasonedOf({
  messageId = '',
  payload,
}: ViewedFact & { readonly type: 'model.completed' }): AgentRuntimeState['reasoned'] {
  const { reasoningCharacters: characters } = payload
  return characters === undefined ? null : { messageId, characters }
}

/** What an event of the log is in the classes of the draft. */
function draftsOf(event: ViewedFact, state: AgentRuntimeState): readonly Draft[] {
  switch (event.type) {
    case 'thread.status':
      return [statusDraft({ phase: 'status', title: event.payload.status ?? '' })]
    case 'step.phase': {
      const { phase, name } = event.payload
      return [statusDraft({ phase: name, title: name.replaceAll('_', ' '), metadata: { phase } })]
    }
    case 'thread.started':
      return [same(event), ...rollbackDrafts(event)]
    case 'thread.closed':
      return [same(event), draft('thread.updated', { status: event.payload.outcome, ...payloadOf(event) })]
    case 'thread.reopened':
      return [
        draft('history.reconstructed', { mode: 'reopened' }),
        // It said that the thread is lost.
        draft('snapshot.repaired', { mode: 'reopened' }),
        draft('thread.updated', { reopened: true }),
      ]
    case 'message.created':
      return [...reasoningDrafts(event, state), same(event)]
    case 'context.resolved':
      return [...windowDrafts(event), same(event)]
    case 'hook.failed':
      return [same(event), ...warningDrafts(event)]
    case 'model.requested':
      return modelDrafts(event, state)
    case 'model.unavailable':
      return [draft('routing.not_possible', payloadOf(event))]
    case 'model.completed':
      return [same(event), ...costDrafts(event)]
    case 'model.failed':
      return [same(event), ...rateDrafts(event)]
    case 'limit.changed':
      return [same(event), draft('rate_limit.hit', payloadOf(event))]
    case 'budget.warning':
      return [budgetDraft(event, 'warning'), draft('quota.low', payloadOf(event))]
    case 'budget.exceeded':
      return [budgetDraft(event, 'exceeded'), draft('quota.blocked', payloadOf(event))]
    case 'budget.raised':
      return [budgetDraft(event, 'raised')]
    case 'tool.args': {
      // While the model writes them; the whole of them comes when the call begins.
      const { name: toolName, ...piece } = event.payload
      return [draft('tool.args', { toolName, ...piece })]
    }
    case 'tool.started':
      return toolDrafts(event, state)
    case 'tool.result':
      return resultDrafts(event, state)
    default:
      return fileDrafts(event) ?? [same(event)]
  }
}

function draft(type: string, payload: JsonObject, refs?: JsonObject): Draft {
  return refs === undefined ? { type, payload } : { type, payload, refs }
}

/** The event under the name that it has in the log. */
function same(event: ViewedFact): Draft {
  return draft(event.type, payloadOf(event), refsOf(event))
}

interface RunStatus {
  readonly phase: string
  readonly title: string
  readonly metadata?: JsonObject
}

function statusDraft({ phase, title, metadata = {} }: RunStatus): Draft {
  return draft('run.status', { phase, title, detail: null, checkpoints: [], metadata })
}

/** The beginning of what a model thought: all of it is in its message. */
const SUMMARY_CHARACTERS = 1_000

function reasoningDrafts(
  event: ViewedFact & { readonly type: 'message.created' },
  { reasoned }: AgentRuntimeState,
): readonly Draft[] {
  if (reasoned === null || reasoned.messageId !== event.messageId) return []
  const text = event.payload.message?.reasoning_content ?? null
  const summary = text === null ? null : Array.from(text).slice(0, SUMMARY_CHARACTERS).join('')
  const payload = { summary, characters: reasoned.characters }
  return [draft('reasoning.summary', payload, refsOf(event))]
}

/** A fork goes on from an earlier place of another transcript, which stays as it is. */
function rollbackDrafts({ payload }: ViewedFact & { readonly type: 'thread.started' }): readonly Draft[] {
  const { forkedFrom } = payload
  if (forkedFrom === undefined) return []
  const { threadId: originThreadId, messageId } = forkedFrom
  const about = { mode: 'fork', originThreadId, messageId }
  return [draft('history.rollback.started', about), draft('history.rollback.completed', about)]
}

/** A request with a part of the history only. */
function windowDrafts({ payload }: ViewedFact & { readonly type: 'context.resolved' }): readonly Draft[] {
  const { messages, dropped = 0 } = payload
  return dropped === 0 ? [] : [draft('history.window.loaded', { messages, dropped })]
}

/** A hook whose failure stops nothing is a warning. */
function warningDrafts({ payload }: ViewedFact & { readonly type: 'hook.failed' }): readonly Draft[] {
  const { hook, point, code, fails } = payload
  return fails === 'open' ? [draft('runtime.warning', { code: 'hook_failed', hook, point, cause: code })] : []
}

/** Our fact about a request says in one what the draft says in several. */
function modelDrafts(
  event: ViewedFact & { type: 'model.requested' },
  { tokens }: AgentRuntimeState,
): readonly Draft[] {
  const { model, routing } = event.payload
  const about = payloadOf(event)
  const chosen = {
    model,
    mode: routing.mode,
    source: routing.source,
    reason: routing.reason,
    requested: routing.requested,
  }
  return [
    draft('task.profile.resolved', {
      kind: routing.kind,
      needs: routing.needs,
      source: routing.source,
      tokens,
    }),
    draft('routing.candidates.resolved', { candidates: (about['routing'] as JsonObject)['candidates'] }),
    ...(routing.mode === 'single'
      ? [draft('routing.single_candidate', { model, ...gapOf(routing, model) })]
      : []),
    draft('routing.decided', chosen),
    ...(routing.reason === 'fallback'
      ? [draft('routing.fallback.applied', { from: routing.fallbackFrom ?? null, to: model })]
      : []),
    ...estimateDrafts(routing, model, tokens),
    same(event),
  ]
}

function gapOf({ candidates }: Routing, model: string): JsonObject {
  return { lacks: candidates.find((one) => one.model === model)?.lacks ?? [] }
}

/** Only with a known price and a known size: an unknown cost is not zero. */
function estimateDrafts({ candidates }: Routing, model: string, tokens: number | null): readonly Draft[] {
  const price = candidates.find((one) => one.model === model)?.inputPrice
  if (price === undefined || tokens === null) return []
  // Dollars per million tokens are millionths of a dollar per token.
  return [
    draft('cost.estimated', {
      model,
      inputTokens: tokens,
      cost: Math.round(price * tokens),
      unit: 'microdollars',
    }),
  ]
}

function costDrafts({
  payload,
}: ThreadEventOf<'model.completed'> | (ViewedFact & { type: 'model.completed' })): readonly Draft[] {
  const { cost } = payload.usage
  return cost === null ? [] : [draft('cost.recorded', { model: payload.model, cost, unit: 'microdollars' })]
}

/** Failures of a provider that are its limits. */
const LIMITED: ReadonlySet<string> = new Set(['rate_limited', 'throttled'])

function rateDrafts({ payload }: ViewedFact & { type: 'model.failed' }): readonly Draft[] {
  const { model, error } = payload
  return LIMITED.has(error) ? [draft('rate_limit.hit', { scope: 'provider', model, error })] : []
}

function budgetDraft(event: ViewedFact, state: 'warning' | 'exceeded' | 'raised'): Draft {
  return draft('limit.changed', { ...payloadOf(event), kind: 'budget', state })
}

function toolDrafts(
  event: ViewedFact & { type: 'tool.started' },
  { policies }: AgentRuntimeState,
): readonly Draft[] {
  const { toolCallId = '', payload } = event
  const args = readArguments(payload.preview)
  // A call about which nothing was decided is allowed by default.
  const policy = policies[toolCallId] ?? 'allowed'
  return [
    draft(
      'tool.started',
      { toolName: payload.name, safeArgs: args, truncated: payload.truncated, policy },
      refsOf(event),
    ),
    draft('tool.args', { toolName: payload.name, args, truncated: payload.truncated }),
  ]
}

/** Arguments with hidden secrets, as the log delivers them: JSON, unless they are truncated or broken. */
function readArguments(preview: string | null | undefined): JsonValue {
  if (preview === null || preview === undefined) return null
  try {
    return JSON.parse(preview) as JsonValue
  } catch {
    return preview
  }
}

function resultDrafts(
  event: ViewedFact & { type: 'tool.result' },
  { results }: AgentRuntimeState,
): readonly Draft[] {
  const { name, outcome } = event.payload
  const type = outcome === 'succeeded' ? 'tool.result' : 'tool.failed'
  const refs = refsOf(event, results[event.toolCallId ?? ''])
  return [draft(type, { ...payloadOf(event), toolName: name }, refs)]
}

/** A change of a file is a change of an artifact; null for any other event. */
function fileDrafts(event: ViewedFact): readonly Draft[] | null {
  if (event.type !== 'file.changed') return null
  const payload = { artifactId: event.payload.path, ...payloadOf(event) }
  return [draft('artifact.changed', payload, refsOf(event))]
}
