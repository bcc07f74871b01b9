/**
 * The view of Protolink's runtime layer: the events of tasks that its transports carry, and `RunEvent`s made of them.
 *
 * Owns: which event of a task an event of the log is, and how a `RunEvent` is made of it. Does not own: tasks, which are turns (`turns.ts`).
 *
 * A task is one submitted message, under the id of that message; a run is a run of ours. What happens in a run is told of its newest
 * task, and each task has exactly one final `task.status`. Keys are in snake_case, as there.
 */
import type { JsonObject } from '../protocol/values.js'
import { applyToTurns, currentTurn, NO_TURNS } from './turns.js'
import type { TurnChange, TurnState } from './turns.js'
import { globalRunId, payloadOf, textOf } from './view.js'
import type { View, ViewedFact, ViewSubject } from './view.js'

/** The run that an event belongs to, as it travels with a task. */
export interface RunContext {
  readonly run_id: string | null
  readonly session_id: string
  readonly agent_name: string
  readonly trace_id: string | null
}

/** What every event of a task has. */
interface TaskEventBase {
  readonly task_id: string | null
  readonly timestamp: string
  /** Left out of an event with a serialized task, whose metadata has it. */
  readonly context?: RunContext
  /** The fact of the log: its type, its ids and its payload. */
  readonly metadata: JsonObject
}

/** The state of a task has changed. */
export interface TaskStatusUpdateEvent extends TaskEventBase {
  readonly kind: 'status-update'
  readonly state: TaskState
  readonly final: boolean
  /** The task as it ended; only with the final event. */
  readonly task?: {
    readonly id: string
    readonly state: TaskState
    readonly metadata: { readonly run_context: RunContext; readonly cancel_reason?: string }
  }
}

/** A file that belongs to a task. */
export interface TaskArtifactUpdateEvent extends TaskEventBase {
  readonly kind: 'artifact-update'
  readonly artifact: { readonly name: string; readonly uri: string; readonly media_type: string | null }
}

/** What the model, the tools and the policy of a task do, by type. */
export interface TaskLLMStreamEvent extends TaskEventBase {
  readonly kind: 'llm-stream'
  /** The type of the run event that it is promoted to. */
  readonly type: string
}

export type TaskEvent = TaskStatusUpdateEvent | TaskArtifactUpdateEvent | TaskLLMStreamEvent

type TaskState = 'submitted' | 'working' | 'input-required' | 'completed' | 'failed' | 'canceled'

/** An event in the normalized envelope of Protolink. */
export interface RunEvent {
  readonly version: 1
  readonly type: string
  readonly run_id: string | null
  readonly task_id: string | null
  readonly agent_name: string
  /** From 1, without gaps. */
  readonly sequence: number
  readonly step?: number
  readonly span_id?: string
  readonly parent_span_id?: string
  readonly action_id?: string
  readonly parent_action_id?: string
  readonly delegation_id?: string
  readonly severity: 'info' | 'warning' | 'error'
  readonly summary: string
  /** The whole event of the task, with the values that are promoted out of it. */
  readonly payload: JsonObject
  readonly final: boolean
}

export interface ProtolinkState {
  readonly turns: TurnState
  readonly agent: string
  readonly sequence: number
  /** Calls that were judged and have not begun. */
  readonly judged: readonly string[]
}

/** Makes the view of a thread as the events of tasks that Protolink's transports carry. */
export function protolinkTaskView(subject: ViewSubject): View<ProtolinkState, TaskEvent> {
  return {
    begin: { turns: NO_TURNS, agent: subject.agent, sequence: 0, judged: [] },
    take(state, event) {
      const [turns, changes] = applyToTurns(state.turns, event)
      const task = currentTurn(turns) ?? currentTurn(state.turns) ?? null
      const place = { subject, event, agent: state.agent }
      const events = [
        ...changes.map((change) => statusOf(change, place)),
        ...taskEventsOf(event, { task, context: contextOf(place), judged: state.judged }),
      ]
      const agent = agentAfter(event, state.agent)
      const sequence = state.sequence + events.length
      return [{ turns, agent, sequence, judged: applyToJudged(state.judged, event) }, events]
    },
  }
}

/** Makes the view of a thread as Protolink's `RunEvent`s. */
export function protolinkView(subject: ViewSubject): View<ProtolinkState, RunEvent> {
  const tasks = protolinkTaskView(subject)
  return {
    begin: tasks.begin,
    take(state, event) {
      const [next, events] = tasks.take(state, event)
      return [next, events.map((one, index) => fromTaskEvent(one, state.sequence + index + 1))]
    },
  }
}

function agentAfter(event: ViewedFact, agent: string): string {
  if (event.type === 'thread.started') return event.payload.agent
  return event.type === 'thread.updated' ? (event.payload.agent ?? agent) : agent
}

function applyToJudged(judged: readonly string[], { type, toolCallId }: ViewedFact): readonly string[] {
  if (toolCallId === undefined) return judged
  if (type === 'permission.evaluated') return [...judged.filter((id) => id !== toolCallId), toolCallId]
  return type === 'tool.started' || type === 'tool.result' ? judged.filter((id) => id !== toolCallId) : judged
}

interface Place {
  readonly subject: ViewSubject
  readonly event: ViewedFact
  readonly agent: string
}

function contextOf({ subject, event, agent }: Place): RunContext {
  const { runId, threadId, traceId = null } = event
  return {
    run_id: runId === undefined ? null : globalRunId(threadId, runId),
    session_id: event.sessionId ?? subject.sessionId,
    agent_name: agent,
    trace_id: traceId,
  }
}

/** The fact of the log that an event of a task is made of. */
function metadataOf(event: ViewedFact): JsonObject {
  const { type, sequence, eventId, threadId, stepId, messageId, toolCallId, childId, spanId } = event
  const ids = { sequence, event_id: eventId, thread_id: threadId, step_id: stepId, message_id: messageId }
  const more = { tool_call_id: toolCallId, subagent_id: childId, span_id: spanId }
  const all: JsonObject = { event: type, ...ids, ...more, payload: payloadOf(event) }
  return Object.fromEntries(Object.entries(all).filter(([, value]) => value !== undefined))
}

function statusOf(change: TurnChange, place: Place): TaskStatusUpdateEvent {
  const { turnId: id } = change
  const context = contextOf(place)
  const base = { kind: 'status-update', task_id: id, timestamp: place.event.timestamp } as const
  const metadata = metadataOf(place.event)
  if (change.kind !== 'ended')
    return {
      ...base,
      state: change.kind === 'started' ? 'working' : 'submitted',
      final: false,
      context,
      metadata,
    }
  const { outcome, reason } = change
  const state = outcome === 'completed' ? 'completed' : isFailure(outcome) ? 'failed' : 'canceled'
  const cancelled = state === 'canceled' ? { cancel_reason: reason } : {}
  const task = { id, state, metadata: { run_context: context, ...cancelled } } as const
  return { ...base, state, final: true, task, metadata }
}

function isFailure(outcome: string): boolean {
  return outcome === 'failed' || outcome === 'refused'
}

/** The types of run events that events of the log are promoted to. */
const PROMOTED: Readonly<Record<string, string>> = {
  'context.resolved': 'context.prepared',
  'model.requested': 'llm.call.started',
  'model.completed': 'llm.call.completed',
  'model.delta': 'llm.stream',
  'reasoning.delta': 'llm.stream',
  'model.failed': 'task.progress',
  'model.unavailable': 'task.error',
  'budget.warning': 'budget.warning',
  'budget.exceeded': 'budget.exceeded',
  'permission.requested': 'approval.required',
  'permission.resolved': 'approval.decided',
  'thread.status': 'task.progress',
  'subagent.spawned': 'task.progress',
  'subagent.status': 'task.progress',
  'subagent.completed': 'task.progress',
  'subagent.failed': 'task.progress',
  'runtime.warning': 'task.progress',
  'runtime.error': 'task.error',
}

interface TaskPlace extends Pick<ProtolinkState, 'judged'> {
  readonly task: string | null
  readonly context: RunContext
}

function taskEventsOf(event: ViewedFact, { task, context, judged }: TaskPlace): readonly TaskEvent[] {
  const base = { task_id: task, timestamp: event.timestamp, context, metadata: metadataOf(event) }
  const stream = (type: string): TaskLLMStreamEvent => ({ ...base, kind: 'llm-stream', type })
  switch (event.type) {
    case 'action.required':
    case 'action.resolved': {
      const state = event.type === 'action.required' ? 'input-required' : 'working'
      // A run that lacked variables has ended, with its tasks.
      return task === null ? [] : [{ ...base, kind: 'status-update', state, final: false }]
    }
    case 'permission.evaluated':
      return [stream('action.requested'), stream('action.policy')]
    case 'tool.started': {
      // A call about which nothing was said is allowed by default, and that is judged when it begins.
      const asked = judged.includes(event.toolCallId ?? '') ? [] : ['action.requested', 'action.policy']
      return [...asked, 'action.started'].map(stream)
    }
    case 'tool.result':
      return [stream(actionEnd(event.payload.outcome))]
    // The status of the task says that it ended; why is an error of its own only where it failed.
    case 'run.failed':
      return [stream('task.error')]
    default: {
      const artifact = artifactOf(event)
      if (artifact !== null) return [{ ...base, kind: 'artifact-update', artifact }]
      const type = PROMOTED[event.type]
      return type === undefined ? [] : [stream(type)]
    }
  }
}

function actionEnd(outcome: string): string {
  if (outcome === 'succeeded') return 'action.completed'
  return outcome === 'denied' ? 'action.denied' : 'action.failed'
}

/** A file that changed; null for any other event. */
function artifactOf(event: ViewedFact): TaskArtifactUpdateEvent['artifact'] | null {
  const { path, mimeType } = payloadOf(event)
  if ((event.type as string) !== 'file.changed' || typeof path !== 'string') return null
  const uri = `/threads/${encodeURIComponent(event.threadId)}/files/content?path=${encodeURIComponent(path)}`
  return { name: path.slice(path.lastIndexOf('/') + 1), uri, media_type: textOf(mimeType) }
}

/** Makes the run event of an event of a task. An event with a serialized task gets its context from that. */
export function fromTaskEvent(event: TaskEvent, sequence: number): RunEvent {
  const { metadata } = event
  const context =
    event.kind === 'status-update' ? (event.task?.metadata.run_context ?? event.context) : event.context
  const step = stepNumber(metadata)
  const ids = idsOf(metadata)
  const type = typeOf(event)
  return {
    version: 1,
    type,
    run_id: context?.run_id ?? null,
    task_id: event.task_id,
    agent_name: context?.agent_name ?? '',
    sequence,
    ...(step !== null && { step }),
    ...ids,
    severity: severityOf(event, type),
    summary: summaryOf(event, type),
    payload: { ...(event as unknown as JsonObject), ...promotedOf(type, metadata), ...ids },
    final: event.kind === 'status-update' && event.final,
  }
}

/** The number with which the id of a step ends; null for an event of no step. */
function stepNumber({ step_id: id }: JsonObject): number | null {
  const number = Number(textOf(id)?.split('_').at(-1))
  return Number.isInteger(number) ? number : null
}

function typeOf(event: TaskEvent): string {
  if (event.kind === 'status-update') return 'task.status'
  return event.kind === 'artifact-update' ? 'task.artifact' : event.type
}

type RunEventIds = Pick<RunEvent, 'span_id' | 'action_id' | 'delegation_id'>

/** An action is a call; an event about a request that no call made has the id of the request. */
function idsOf({ span_id, tool_call_id, subagent_id, payload }: JsonObject): RunEventIds {
  const span = textOf(span_id)
  const action = textOf(tool_call_id) ?? textOf((payload as JsonObject)['requestId'])
  const delegation = textOf(subagent_id)
  return {
    ...(span !== null && { span_id: span }),
    ...(action !== null && { action_id: action }),
    ...(delegation !== null && { delegation_id: delegation }),
  }
}

/** The values that readers find without knowing how a transport carries them. */
function promotedOf(type: string, { payload }: JsonObject): JsonObject {
  if (type === 'context.prepared') return { manifest: payload }
  if (type === 'action.policy' || type === 'approval.decided') return { decision: payload }
  if (type === 'approval.required') return { request: payload }
  return type.startsWith('action.') ? { action: payload } : {}
}

const ERRORS: ReadonlySet<string> = new Set(['task.error', 'action.failed', 'budget.exceeded'])
const WARNINGS: ReadonlySet<string> = new Set(['budget.warning', 'action.denied'])
const WARNING_FACTS: ReadonlySet<string> = new Set(['model.failed', 'runtime.warning', 'subagent.failed'])

function severityOf(event: TaskEvent, type: string): RunEvent['severity'] {
  if (ERRORS.has(type)) return 'error'
  if (event.kind === 'status-update' && event.state === 'failed') return 'error'
  return WARNINGS.has(type) || WARNING_FACTS.has(textOf(event.metadata['event']) ?? '') ? 'warning' : 'info'
}

/** Short words for a terminal, of ids and registered names only. */
function summaryOf(event: TaskEvent, type: string): string {
  if (event.kind === 'status-update') return `Task ${event.state}`
  if (event.kind === 'artifact-update') return `Artifact ${event.artifact.name}`
  const { payload, event: fact } = event.metadata
  const { name, toolName, model, limit, code, reason, status } = payload as JsonObject
  const subject = [name, toolName, model, limit, code, reason, status]
    .map(textOf)
    .find((text) => text !== null)
  const words = type === 'task.progress' ? (textOf(fact) ?? type) : type
  const said = words.replaceAll('.', ' ')
  return `${said.charAt(0).toUpperCase()}${said.slice(1)}${subject === undefined ? '' : `: ${subject}`}`
}
