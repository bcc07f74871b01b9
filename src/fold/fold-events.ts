/**
 * The state of a thread, made of its events: the door `everthread/fold`, which loads nothing, so that browsers can use it.
 *
 * It owns: what each event changes, and the order in which events count. It does not own: how events are read (`events()`), and the
 * texts and rows that they are about.
 * Invariants. F1: an event counts once, and behind all events with lower sequences: what comes twice is passed over, what comes
 * early is held. F2: where an event is missing, the state stays that of the events before it, and `gapAfter` says so. F3: after
 * all events of a thread the state equals its snapshot; where an event could not list all changes of the queue, `isQueueWhole` says so.
 */
import type { JoinedFact, ThreadEvent } from '../protocol/events.js'
import type { QueuedItem, ThreadStatus } from '../protocol/status.js'

/** A thread as its events tell of it. It is plain JSON: keep it where you like, and go on with `fold(state, events)`. */
export interface FoldedThread {
  /** The thread; empty before its first event. */
  readonly threadId: string
  /** The agent that has the thread now. */
  readonly agent: string
  /** The id of the thread whose subagent it is; null for a root thread. */
  readonly parent: string | null
  readonly status: ThreadStatus
  /** The last text of `sessionStatus` or `setStatus`; null before the first one. */
  readonly statusText: string | null
  /** The run under way; null between two runs. */
  readonly run: FoldedRun | null
  readonly lastRun: { readonly runId: string; readonly reason: string; readonly steps: number } | null
  /** What waits, in order. */
  readonly queue: readonly Pick<QueuedItem, 'id' | 'kind'>[]
  /**
   * False: an event had more changes of the queue than it could list, so that items of `queue` may be missing or gone. Begin with a
   * new snapshot to have them all.
   */
  readonly isQueueWhole: boolean
  /** The requests that wait for `respond`, in the order of their events. */
  readonly pending: readonly FoldedRequest[]
  /** The scheduled effects, the next one first. */
  readonly effects: readonly { readonly id: string; readonly name: string; readonly scheduledAt: number }[]
  /** All subagents that it ever started, the first one first. */
  readonly children: readonly FoldedChild[]
  /** The sequence of the last event that counts. */
  readonly lastSequence: number
  /**
   * Null: no event is known to be missing. A number: later events are here, and the one behind this sequence is not; read on with
   * `events({ after: gapAfter })`, or begin with a new snapshot.
   */
  readonly gapAfter: number | null
  /** Events behind the gap. */
  readonly held: readonly JoinedFact[]
}

export interface FoldedRun {
  readonly runId: string
  readonly side: 'a' | 'b'
  /** Steps whose model has answered. */
  readonly steps: number
  /** True while a provider or a limit of the account makes it wait. */
  readonly waits: boolean
}

export interface FoldedRequest {
  readonly id: string
  readonly kind: string
  /** Null if no call waits for it. */
  readonly toolName: string | null
  /** The subagent that starts once it is answered. */
  readonly child?: string
}

export interface FoldedChild {
  /** The child's thread id. */
  readonly reference: string
  readonly name: string
  /** The instance's own name. */
  readonly threadName?: string
  /** As the registry has it, or the text that the child has set. */
  readonly status: string
}

/** The part of a `ThreadSnapshot` with which a fold can begin. */
export interface FoldableSnapshot extends Pick<
  FoldedThread,
  'threadId' | 'agent' | 'parent' | 'status' | 'statusText' | 'lastSequence'
> {
  readonly run: Omit<FoldedRun, 'waits'> | null
  readonly lastRun: FoldedThread['lastRun']
  readonly queue: FoldedThread['queue']
  readonly pending: readonly {
    readonly id: string
    readonly kind: string
    readonly toolName?: string | null
    readonly child?: string
  }[]
  readonly effects: FoldedThread['effects']
  readonly children: readonly FoldedChild[]
}

/** Events that are held while one before them is missing; later ones are passed over, and come again behind `gapAfter`. */
const MOST_HELD = 1_000

const NOTHING: FoldedThread = {
  ...{ threadId: '', agent: '', parent: null, status: 'idle', statusText: null, run: null, lastRun: null },
  ...{ queue: [], isQueueWhole: true, pending: [], effects: [], children: [] },
  ...{ lastSequence: 0, gapAfter: null, held: [] },
}

/**
 * Folds the events of one thread from its first one on. Events may come twice, and swapped within a window of 1,000; deltas and unknown
 * types change nothing. @throws an error for events of two threads
 */
export function fold(events: Iterable<ThreadEvent | JoinedFact>): FoldedThread
/**
 * Goes on from a state, or from a snapshot: it needs the events behind its `lastSequence`. Within a run a snapshot may be a moment behind
 * its own `lastSequence`, because its workflow hears later of what an activity has stored; the next run's events correct that.
 */
export function fold(
  from: FoldedThread | FoldableSnapshot,
  events: Iterable<ThreadEvent | JoinedFact>,
): FoldedThread
export function fold(
  first: FoldedThread | FoldableSnapshot | Iterable<ThreadEvent | JoinedFact>,
  events?: Iterable<ThreadEvent | JoinedFact>,
): FoldedThread {
  if (Symbol.iterator in first) return foldFrom(NOTHING, first)
  return foldFrom('held' in first ? first : fromSnapshot(first), events ?? [])
}

function foldFrom(start: FoldedThread, events: Iterable<ThreadEvent | JoinedFact>): FoldedThread {
  let { threadId } = start
  let state = start
  const held = new Map(start.held.map((event) => [event.sequence, event]))
  for (const event of events) {
    if (threadId === '') ({ threadId } = event)
    if (event.threadId !== threadId)
      throw new Error(
        `Expected events of the thread "${threadId}", got one of "${event.threadId}": fold each by itself.`,
      )
    if (event.sequence === undefined || event.sequence <= state.lastSequence) continue
    if (held.size < MOST_HELD || event.sequence === state.lastSequence + 1) held.set(event.sequence, event)
    for (let next = take(held, state); next !== undefined; next = take(held, state))
      state = { ...apply(state, next), lastSequence: next.sequence }
  }
  const kept = [...held.values()].toSorted((one, other) => one.sequence - other.sequence)
  return { ...state, threadId, held: kept, gapAfter: kept.length === 0 ? null : state.lastSequence }
}

function take(held: Map<number, JoinedFact>, { lastSequence }: FoldedThread): JoinedFact | undefined {
  const next = held.get(lastSequence + 1)
  held.delete(lastSequence + 1)
  return next
}

function fromSnapshot(snapshot: FoldableSnapshot): FoldedThread {
  const { threadId, agent, parent, status, statusText, run, lastRun, queue, lastSequence } = snapshot
  return {
    ...{ threadId, agent, parent, status, statusText, lastSequence, gapAfter: null, held: [] },
    run:
      run === null
        ? null
        : { runId: run.runId, side: run.side, steps: run.steps, waits: status === 'waiting_resource' },
    lastRun: lastRun === null ? null : { runId: lastRun.runId, reason: lastRun.reason, steps: lastRun.steps },
    queue: queue.map(({ id, kind }) => ({ id, kind })),
    isQueueWhole: true,
    pending: snapshot.pending.map(({ id, kind, toolName, child }) => ({
      ...{ id, kind, toolName: toolName ?? null },
      ...(child !== undefined && { child }),
    })),
    effects: snapshot.effects.map(({ id, name, scheduledAt }) => ({ id, name, scheduledAt })),
    children: snapshot.children.map(({ reference, name, threadName, status: of }) => ({
      ...{ reference, name, status: of },
      ...(threadName !== undefined && { threadName }),
    })),
  }
}

/** What an event changes; the same state if it changes nothing. */
function apply(state: FoldedThread, event: JoinedFact): FoldedThread {
  switch (event.type) {
    case 'thread.started':
      return { ...state, agent: event.payload.agent, parent: event.payload.parent }
    case 'thread.updated':
      return {
        ...state,
        agent: event.payload.agent ?? state.agent,
        status: event.payload.status ?? state.status,
      }
    case 'thread.status':
      return { ...state, statusText: event.payload.status }
    case 'thread.terminating':
      return { ...state, status: 'terminated' }
    case 'thread.closed':
      return {
        ...{ ...state, status: event.payload.outcome, run: null },
        ...{ queue: [], isQueueWhole: true, pending: [], effects: [] },
        children: state.children.map(endWithParent),
      }
    case 'queue.changed':
      return applyQueue(state, event.payload)
    case 'message.created':
    case 'message.ended':
      return withoutItems(state, [event.messageId ?? '', event.toolCallId ?? ''])
    case 'action.required':
    case 'action.resolved':
      return applyRequest(state, event)
    case 'effect.scheduled':
    case 'effect.completed':
    case 'effect.failed':
    case 'effect.removed':
      return applyEffect(state, event)
    case 'subagent.spawned':
    case 'subagent.input':
    case 'subagent.status':
    case 'subagent.completed':
    case 'subagent.failed':
    case 'subagent.closed':
      return applyChild(state, event)
    default:
      return applyRun(state, event)
  }
}

type EventOf<Type extends JoinedFact['type']> = Extract<JoinedFact, { readonly type: Type }>

/** Runs, and what their thread waits for. */
function applyRun(state: FoldedThread, event: JoinedFact): FoldedThread {
  const { run } = state
  switch (event.type) {
    case 'run.started':
      return inRun(state, { runId: event.runId ?? '', side: 'a', steps: 0, waits: false })
    case 'run.completed':
    case 'run.failed':
    case 'run.cancelled': {
      const { reason, steps, status } = event.payload
      return { ...state, status, run: null, lastRun: { runId: event.runId ?? '', reason, steps } }
    }
    case 'side.started':
      return run === null ? state : inRun(state, { ...run, side: event.payload.side })
    case 'step.started':
      return run === null ? state : inRun(state, { ...run, steps: event.payload.step })
    case 'model.failed':
      return run === null ? state : inRun(state, { ...run, waits: event.payload.next === 'wait' })
    case 'limit.changed':
      return run === null ? state : inRun(state, { ...run, waits: true })
    case 'model.requested':
    case 'tool.started': {
      const left = withoutItems(state, [event.toolCallId ?? ''])
      return run?.waits === true ? inRun(left, { ...run, waits: false }) : left
    }
    default:
      return state
  }
}

function inRun(state: FoldedThread, run: FoldedRun): FoldedThread {
  return withRunStatus({ ...state, run })
}

/** While a run is under way, the status says what it waits for. */
function withRunStatus(state: FoldedThread): FoldedThread {
  const { run, pending } = state
  if (run === null || state.status === 'terminated') return state
  const request = pending.findLast(({ child }) => child === undefined)
  const asked = request?.kind === 'call' ? 'waiting_input' : 'waiting_permission'
  const status = request !== undefined ? asked : run.waits ? 'waiting_resource' : 'running'
  return { ...state, status }
}

function applyRequest(
  state: FoldedThread,
  { type, payload, childId }: EventOf<'action.required' | 'action.resolved'>,
): FoldedThread {
  const { requestId: id, kind } = payload
  const others = state.pending.filter((request) => request.id !== id)
  if (type === 'action.resolved') {
    const resolved = withRunStatus({ ...state, pending: others })
    return childId !== undefined && payload.decision === 'supplied'
      ? withChild(resolved, childId, { status: 'running' })
      : resolved
  }
  const child = childId === undefined ? {} : { child: childId }
  const pending = [...others, { id, kind, toolName: payload.toolName, ...child }]
  const asked = withRunStatus({ ...state, pending })
  return childId === undefined ? asked : withChild(asked, childId, { status: 'deferred' })
}

function applyQueue(
  state: FoldedThread,
  { added = [], taken = [], removed = [], promoted = [], unlisted = 0 }: EventOf<'queue.changed'>['payload'],
): FoldedThread {
  const known = new Set(state.queue.map(({ id }) => id))
  const queue = [...state.queue, ...added.filter(({ id }) => !known.has(id))]
  // An effect that is due waits in the queue.
  const due = new Set(added.map(({ id }) => id))
  const effects = state.effects.filter(({ id }) => !due.has(id))
  const isQueueWhole = state.isQueueWhole && unlisted === 0
  const left = withoutItems({ ...state, queue, isQueueWhole, effects }, [...taken, ...removed])
  return promoted.reduce(putFirst, left)
}

function putFirst(state: FoldedThread, promoted: string): FoldedThread {
  const first = state.queue.filter(({ id }) => id === promoted)
  return first.length === 0
    ? state
    : { ...state, queue: [...first, ...state.queue.filter(({ id }) => id !== promoted)] }
}

function withoutItems(state: FoldedThread, ids: readonly string[]): FoldedThread {
  const queue = state.queue.filter(({ id }) => !ids.includes(id))
  return queue.length === state.queue.length ? state : { ...state, queue }
}

function applyEffect(
  state: FoldedThread,
  event: EventOf<'effect.scheduled' | 'effect.completed' | 'effect.failed' | 'effect.removed'>,
): FoldedThread {
  const { effectId: id, name } = event.payload
  const others = state.effects.filter((effect) => effect.id !== id)
  if (event.type !== 'effect.scheduled')
    return restAfterEffect(withoutItems({ ...state, effects: others }, [id]))
  const effects = [...others, { id, name, scheduledAt: event.payload.time }]
  return { ...state, effects: effects.toSorted((one, other) => one.scheduledAt - other.scheduledAt) }
}

/** Outside of a run a thread works on effects only. */
function restAfterEffect(state: FoldedThread): FoldedThread {
  const rests = state.run === null && state.status === 'running' && state.queue.length === 0
  return rests ? { ...state, status: 'idle' } : state
}

type SubagentType = Extract<JoinedFact['type'], `subagent.${string}`>

function applyChild(state: FoldedThread, event: EventOf<SubagentType>): FoldedThread {
  const { reference, name, threadName } = event.payload
  switch (event.type) {
    case 'subagent.spawned': {
      const named = threadName === undefined ? {} : { threadName }
      const others = state.children.filter((child) => child.reference !== reference)
      return { ...state, children: [...others, { reference, name, ...named, status: 'running' }] }
    }
    case 'subagent.input':
      return withChild(state, reference, { status: 'running' })
    case 'subagent.status':
      return withChild(state, reference, { status: event.payload.status ?? 'running' })
    case 'subagent.completed':
      return withChild(state, reference, { status: 'completed' })
    case 'subagent.failed': {
      const { reason } = event.payload
      return withChild(state, reference, { status: reason === 'terminated' ? reason : 'failed' })
    }
    case 'subagent.closed':
      return withChild(state, reference, { status: event.payload.status })
  }
}

const ENDED: ReadonlySet<string> = new Set(['completed', 'failed', 'terminated'])

/** Nothing of a subagent runs once its parent has closed, whose log has ended by then. */
function endWithParent(child: FoldedChild): FoldedChild {
  return ENDED.has(child.status) ? child : { ...child, status: 'terminated' }
}

function withChild(
  state: FoldedThread,
  reference: string,
  change: Pick<FoldedChild, 'status'>,
): FoldedThread {
  const index = state.children.findIndex((child) => child.reference === reference)
  const child = state.children[index]
  return child === undefined
    ? state
    : { ...state, children: state.children.with(index, { ...child, ...change }) }
}
