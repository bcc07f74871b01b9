/** An event of a simulated log. The rules look at types and scopes, so most payloads are left out. */
export interface LoggedFact {
  readonly type: EventType
  readonly scope?: EventScope
  readonly payload?: object
}

/** The rows of a fake store: what the real one keeps of a thread, without its content. */
import type { CallOutcome } from '../../src/protocol/activities.js'
import type { EventScope, EventType } from '../../src/protocol/events.js'
import type { QueuedDelivery } from '../../src/protocol/messages.js'
import type { ToolPlan } from '../../src/protocol/plan.js'

export interface MessageRow {
  readonly id: string
  status: 'pending' | 'delivered' | 'rejected' | 'removed' | 'refused' | 'dropped'
  position: number | null
  readonly role: 'user' | 'assistant' | 'tool'
  readonly by: 'client' | 'parent' | 'child' | 'tool' | 'runtime' | 'model'
  /** Of a report: whose, and the calls that it answers. */
  readonly child?: string
  readonly invocations?: readonly string[]
  /** An item without a row of its own. */
  readonly item?: string
  readonly deliver?: QueuedDelivery
  /** The run whose step has delivered it. */
  run?: number
}

export interface CallRow {
  readonly id: string
  readonly name: string
  readonly parentCall: string | null
  readonly run: number
  /** In the transcript; a tool of the inbox gets its place when it begins. */
  placed: boolean
  status: 'open' | CallOutcome
  results: number
}

export interface Operation {
  readonly id: string
  state: 'drained' | 'started' | 'waiting' | 'finished'
  attempt: number
  answer: unknown
  /** The digest of the plan with which a model call began. */
  plan?: string
  /** Phases 2 and 3 are marked. */
  requested: boolean
  /** The activity that finished it. */
  by: number | null
  /** The order of the attempt that goes on after it. */
  order?: number
  readonly detail?: { readonly invocations: readonly string[]; readonly closes: boolean }
}

export interface RequestRow {
  readonly id: string
  readonly kind: 'approval' | 'call' | 'variables'
  readonly callId: string | null
  /** Of a child that waits for variables. */
  readonly child?: string
  state: 'open' | 'answered' | 'closed'
  approved?: boolean
  /** Of an approval that is denied if nobody has answered by then. */
  readonly expiresAt?: number
}

export interface ChildRow {
  readonly reference: string
  readonly callId: string
  readonly group: boolean
  readonly resumable: boolean
  readonly explicit: boolean
  readonly blocking: boolean
  deferred: boolean
  closed: boolean
  /** The message of its last report. */
  report: string | null
}

export interface RemoteRow {
  state: 'open' | 'started' | 'answered' | 'unanswered'
}

export interface ThreadRow {
  readonly id: string
  readonly parent: string | null
  readonly depth: number
  readonly resumable: boolean
  agent: string
  terminateRequested: boolean
  /** By its parent, which closed. */
  endedAbove: boolean
  closed: string | null
  status: string
  positions: number
  made: number
  variables: boolean
  readonly messages: Map<string, MessageRow>
  readonly calls: Map<string, CallRow>
  readonly operations: Map<string, Operation>
  readonly requests: Map<string, RequestRow>
  readonly effects: Map<string, { status: 'scheduled' | 'done' | 'failed' | 'removed'; runs: number }>
  readonly children: Map<string, ChildRow>
  readonly remotes: Map<string, RemoteRow>
  readonly runs: Map<number, { ended: boolean }>
  readonly kinds: Map<string, ToolPlan>
  readonly events: LoggedFact[]
  /** The times of the inputs whose facts are among them. */
  readonly factTimes: Set<number>
}

export function newThread(of: Pick<ThreadRow, 'id' | 'parent' | 'depth' | 'resumable' | 'agent'>): ThreadRow {
  return {
    ...of,
    terminateRequested: false,
    endedAbove: false,
    closed: null,
    status: 'idle',
    positions: 0,
    made: 0,
    variables: true,
    messages: new Map(),
    calls: new Map(),
    operations: new Map(),
    requests: new Map(),
    effects: new Map(),
    children: new Map(),
    remotes: new Map(),
    runs: new Map(),
    kinds: new Map(),
    events: [],
    factTimes: new Set(),
  }
}
