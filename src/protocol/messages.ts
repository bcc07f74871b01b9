import type { OutboundOperation } from './operations.js'
import type { Side } from './plan.js'
import type { LastRun, PreparedChild } from './status.js'
import type { Millis } from './time.js'

/** Workflow type of a thread. The names in this file are wire format: never changed, only added. */
export const THREAD_WORKFLOW = 'agentThread'

export const SIGNALS = {
  queueMessage: 'queueMessage',
  stop: 'stop',
  continue: 'continue',
  childReport: 'childReport',
  queueTool: 'queueTool',
  setEnv: 'setEnv',
  operations: 'operations',
} as const

export const UPDATES = { respond: 'respond', removeQueued: 'removeQueued' } as const

export const QUERIES = { snapshot: 'snapshot' } as const

export const SEARCH_ATTRIBUTES = {
  agent: 'ThreadAgent',
  status: 'ThreadStatus',
  user: 'ThreadUser',
  parent: 'ThreadParent',
  root: 'ThreadRoot',
  tags: 'ThreadTags',
} as const

/** The start input of a thread; also what `temporal workflow start --input` takes. */
export interface ThreadStart {
  readonly agent: string
  readonly message?: QueueMessage
  /**
   * The id of the thread's store: only workers of that store do its work. @default the store of the worker that makes
   * the thread's row
   */
  readonly store?: string
  readonly userId?: string
  readonly tags?: readonly string[]
  /** `false`: the thread closes after its session, with its result. */
  readonly resumable?: boolean
  /** Names of registered search attributes; an unregistered one would fail the workflow task for ever. */
  readonly searchAttributes?: readonly string[]
  readonly limits?: ThreadLimits
  readonly parent?: StartParent
  /** The thread was lost, and goes on with this; ids and numbers only (T5). */
  readonly reopened?: ReopenedThread
}

/** Who started a thread. */
interface StartParent {
  readonly threadId: string
  /** Its tool call. */
  readonly callId: string
  /** The thread that the whole tree began with. @default the parent */
  readonly root?: string
}

/** The thread that a tree began with: itself, if nobody started it. */
export function rootOf(threadId: string, { parent }: Pick<ThreadStart, 'parent'>): string {
  return parent === undefined ? threadId : (parent.root ?? parent.threadId)
}

/** Timing only; carried over continue-as-new and inherited by children. */
export interface ThreadLimits {
  /** Milliseconds. @default 30 000 */
  readonly heartbeatTimeout?: number
  /** History events after which the thread continues as new wherever it can. @default the server's suggestion */
  readonly historyEvents?: number
}

/** A message staged in the store, or one with its content inline: up to 4 KiB, then in history, by the sender's choice. */
export type QueueMessage =
  | {
      readonly messageId: string
      readonly role?: 'user' | 'assistant'
      readonly from?: 'parent' | 'child' | 'tool'
      /** The parent's call that it belongs to: the child's next report answers it. */
      readonly invocation?: string
    }
  | { readonly content: string; readonly role?: 'user' | 'assistant'; readonly silent?: boolean }

/** No input: the current run. Of a run that is not the current one: nothing happens. */
export interface Stop {
  readonly runId?: string
  /** `false`: a child that a call waits for goes on; its report is an ordinary item then. @default true */
  readonly children?: boolean
}

/** A tool to run, its arguments staged in the store; waits its turn in the queue. */
export interface QueueTool {
  readonly toolCallId: string
  readonly name: string
}

/** Variables were stored: a run that lacks one looks again. */
export interface SetEnv {
  readonly names: readonly string[]
}

/**
 * The answer to a pending request. The row of the request holds who, why, values and results; `approved` alone is enough
 * from the command line.
 */
export type Respond =
  | { readonly id: string; readonly approved: boolean }
  | { readonly id: string; readonly names: readonly string[] }
  | { readonly id: string; readonly result: true }

/**
 * Takes a message, tool or effect out of the queue. A client marks its row first, and that decides; what has no row, a
 * message that was sent inline, can be taken back while no run is under way.
 */
export interface RemoveQueued {
  readonly id: string
}

/** Child to parent; its content is in the store before this is sent (T2). */
export interface ChildReport {
  readonly reference: string
  readonly report: number
  /** The parent's calls that the child's session consumed. */
  readonly invocations: readonly string[]
  /** `notice`: it says nothing by itself; a call that waits goes on all the same. */
  readonly kind: 'result' | 'failure' | 'notice'
  readonly messageId?: string
  /** The child takes nothing any more. */
  readonly closes?: boolean
}

/** What a parent or child did to this thread; its rows are in the store. */
export interface Operations {
  readonly operations: readonly OutboundOperation[]
}

/** Thread and message ids that begin so are ours. */
export const OUR_IDS = 'everthread:'

/** What a thread that was lost goes on with: ids, registered names and numbers of its rows, never content (T5). */

/** In the start input of a thread that is opened again. Times: milliseconds since 1970. */
export interface ReopenedThread {
  /** The one that has the thread now, after handoffs. */
  readonly agent: string
  /** The highest numbers in use: the next ones differ, so that no finished operation runs again (T4). */
  readonly runs: number
  readonly settles: number
  readonly reports: number
  readonly items: number
  /** Children that it ever started. */
  readonly children: number
  /** The side that acts next in an interrupted run; left out if no run was under way. */
  readonly side?: Side
  readonly stopped?: true
  /** Sides whose immediate subagents have started. */
  readonly activated: readonly Side[]
  /** Calls of the parent that it has taken and not answered. */
  readonly invocations: readonly string[]
  /** Scheduled effects, as `[id, dueAt]`. */
  readonly effects: readonly (readonly [string, number])[]
  readonly open: readonly ReopenedChild[]
  readonly deferred: readonly ReopenedDeferred[]
  readonly groups: readonly { readonly callId: string; readonly references: readonly string[] }[]
  /** The request that blocked the last run. */
  readonly request?: { readonly id: string; readonly requestedAt: Millis }
  /** The last report that is in the parent's store: it is announced once more. */
  readonly report?: Omit<ChildReport, 'reference'>
  readonly lastRun?: LastRun<Millis>
}

/** A child that is open, and the calls that it has not answered. */
export interface ReopenedChild {
  readonly reference: string
  readonly resumable: boolean
  readonly invocations: readonly string[]
  /** Number of the last report that is stored. */
  readonly reports: number
}

/** A child that waits for variables. */
export interface ReopenedDeferred {
  readonly requestId: string
  readonly callId: string
  readonly child: PreparedChild
  readonly requestedAt: Millis
  /** The request is answered: the child is to be started. */
  readonly supplied: boolean
}
