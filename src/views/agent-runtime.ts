/**
 * The view of the Agent Runtime draft: its envelope and its event classes.
 *
 * Owns: which classes an event of the log is, and what their payloads add to it. Does not own: turns (`turns.ts`), control states and what
 * is unavailable (`control-states.ts`, `capabilities.ts`).
 *
 * - An event whose name the draft has too keeps its name and payload; others stay as types of our own, which the draft allows.
 * - What the draft says in several events and our log in one, the view says in several: the choice of a model, costs, limits, items.
 * - Ids are those of the log, but run ids, which are unique in all threads, and turns: one for each submitted message.
 * - A field that does not apply, or that nothing has recorded, is absent; nothing is invented.
 */
import type { Routing } from '../protocol/event-codes.js'
import type { ThreadEventOf } from '../protocol/events.js'
import type { JsonObject, JsonValue } from '../protocol/values.js'
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
  /** Where to read what is large or of another owner: paths of the HTTP API, and the id of the event in the log. */
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
    begin: { turns: NO_TURNS, sequence: 0, policies: {}, tokens: null },
    take(state, event) {
      const [turns, changes] = applyToTurns(state.turns, event)
      const drafts = [...changes.map(turnDraft), ...draftsOf(event, state)]
      const turnId = currentTurn(turns) ?? currentTurn(state.turns)
      const isCounted = event.sequence !== undefined
      const events = drafts.map((draft, index) =>
        envelopeOf(subject, event, {
          ...{ draft, index, turnId },
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
  readonly sequence: number | undefined
}

function envelopeOf(
  subject: ViewSubject,
  event: ViewedFact,
  { draft, index, turnId: current, sequence }: Placed,
): AgentRuntimeEvent {
  const { timestamp, threadId, runId, stepId, toolCallId, childId, traceId, spanId } = event
  const { type, payload, refs } = draft
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
  if (toolCallId === undefined) return state
  if (event.type === 'permission.evaluated')
    return { ...state, policies: { ...state.policies, [toolCallId]: event.payload.decision } }
  if (event.type !== 'tool.result' || !Object.hasOwn(state.policies, toolCallId)) return state
  const { [toolCallId]: _ended, ...policies } = state.policies
  return { ...state, policies }
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
    case 'thread.closed':
      return [same(event), draft('thread.updated', { status: event.payload.outcome, ...payloadOf(event) })]
    case 'thread.reopened':
      return [
        draft('history.reconstructed', { mode: 'reopened' }),
        draft('thread.updated', { reopened: true }),
      ]
    case 'message.created':
      return [same(event, messageRefs(event)), itemDraft(event, 'completed', itemKind(event.payload.role))]
    case 'model.requested':
      return modelDrafts(event, state)
    case 'model.unavailable':
      return [draft('routing.not_possible', payloadOf(event))]
    case 'model.completed':
      return [same(event), ...costDrafts(event)]
    case 'model.failed':
      return [same(event, errorRefs(event)), ...rateDrafts(event)]
    case 'limit.changed':
      return [same(event), draft('rate_limit.hit', payloadOf(event))]
    case 'budget.warning':
      return [budgetDraft(event, 'warning'), draft('quota.low', payloadOf(event))]
    case 'budget.exceeded':
      return [budgetDraft(event, 'exceeded'), draft('quota.blocked', payloadOf(event))]
    case 'budget.raised':
      return [budgetDraft(event, 'raised')]
    case 'tool.started':
      return toolDrafts(event, state)
    case 'tool.result':
      return resultDrafts(event)
    default:
      return fileDrafts(event) ?? [same(event, errorRefs(event))]
  }
}

function draft(type: string, payload: JsonObject, refs?: JsonObject): Draft {
  return refs === undefined ? { type, payload } : { type, payload, refs }
}

/** The event under the name that it has in the log. */
function same(event: ViewedFact, refs?: JsonObject): Draft {
  return draft(event.type, payloadOf(event), refs)
}

interface RunStatus {
  readonly phase: string
  readonly title: string
  readonly metadata?: JsonObject
}

function statusDraft({ phase, title, metadata = {} }: RunStatus): Draft {
  return draft('run.status', { phase, title, detail: null, checkpoints: [], metadata })
}

/** What readers of items see: one kind for what is said, called or changed. */
type ItemKind = 'user_message' | 'agent_message' | 'system_message' | 'tool_call' | 'file_change'

function itemKind(role: string): ItemKind {
  if (role === 'assistant') return 'agent_message'
  if (role === 'tool') return 'tool_call'
  return role === 'system' ? 'system_message' : 'user_message'
}

function itemDraft(
  { messageId, toolCallId }: ViewedFact,
  state: 'started' | 'completed',
  kind: ItemKind,
): Draft {
  const itemId = toolCallId ?? messageId
  return draft(`item.${state}`, { kind, ...(itemId !== undefined && { itemId }) })
}

function pathOf(threadId: string, ...parts: readonly string[]): string {
  return `/threads/${encodeURIComponent(threadId)}/${parts.map(encodeURIComponent).join('/')}`
}

function messageRefs({ threadId, messageId }: ViewedFact): JsonObject {
  return messageId === undefined ? {} : { message: pathOf(threadId, 'messages', messageId) }
}

/** The original error, which operators may read. */
function errorRefs(event: ViewedFact): JsonObject | undefined {
  const id = textOf(payloadOf(event)['errorId'])
  return id === null ? undefined : { raw: `${pathOf(event.threadId, 'errors')}?id=${encodeURIComponent(id)}` }
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
    draft('tool.started', { toolName: payload.name, safeArgs: args, truncated: payload.truncated, policy }),
    draft('tool.args', { toolName: payload.name, args, truncated: payload.truncated }),
    itemDraft(event, 'started', 'tool_call'),
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

function resultDrafts(event: ViewedFact & { type: 'tool.result' }): readonly Draft[] {
  const { name, outcome } = event.payload
  const type = outcome === 'succeeded' ? 'tool.result' : 'tool.failed'
  const files = (event.payload.attachments ?? []).map(({ path }) => fileRef(event.threadId, path))
  const refs = { ...messageRefs(event), ...errorRefs(event), ...(files.length > 0 && { artifacts: files }) }
  return [
    draft(type, { ...payloadOf(event), toolName: name }, refs),
    itemDraft(event, 'completed', 'tool_call'),
  ]
}

function fileRef(threadId: string, path: string): string {
  return `${pathOf(threadId, 'files', 'content')}?path=${encodeURIComponent(path)}`
}

/** A change of a file is a change of an artifact; null for any other event. */
function fileDrafts(event: ViewedFact): readonly Draft[] | null {
  const path = textOf(payloadOf(event)['path'])
  if ((event.type as string) !== 'file.changed' || path === null) return null
  const refs = { artifact: fileRef(event.threadId, path) }
  return [
    draft('artifact.changed', { artifactId: path, ...payloadOf(event) }, refs),
    draft('item.completed', { kind: 'file_change', itemId: path }),
  ]
}
