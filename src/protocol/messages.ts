import type { OutboundOperation } from './operations.js'
import type { Side } from './plan.js'
import type { LastRun, PreparedChild } from './status.js'
import type { Millis } from './time.js'
import { utf8Length } from './values.js'

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

export const UPDATES = {
  respond: 'respond',
  removeQueued: 'removeQueued',
  promoteQueued: 'promoteQueued',
} as const

/**
 * How a message enters a thread that works. `next_step`: it joins the run before its next model call. `next_turn`: it begins a run of
 * its own; what is behind it waits, too. `preempt`: it goes before everything that waits, the run ends, and a new one begins with it.
 */
export const DELIVERIES = ['next_step', 'next_turn', 'preempt'] as const

export type Delivery = (typeof DELIVERIES)[number]

/** The one that an item of the queue does not name is the usual one. */
export type QueuedDelivery = Exclude<Delivery, 'next_step'>

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
  /** `ThreadStatus` also says that the thread works, which costs two more actions a turn. Children inherit it. */
  readonly showsWork?: true
  /** The address of the page for people: the Temporal UI leads there. Children inherit it. */
  readonly page?: string
  readonly limits?: ThreadLimits
  readonly parent?: StartParent
  /** The number of runs that the messages of a new fork come from: its own are numbered behind them. @default 0 */
  readonly runs?: number
  /** The state with which a lost thread continues; ids and numbers only (T5). */
  readonly reopened?: ReopenedThread
}

/** The thread that started this one. */
interface StartParent {
  readonly threadId: string
  /** The parent's tool call. */
  readonly callId: string
  /** The root of the whole tree. @default the parent */
  readonly root?: string
}

/** True for an http address under which the page for people can be: without `#`, and one that a link of Markdown can hold. */
export function isPageAddress(page: unknown): page is string {
  return typeof page === 'string' && page.length <= PAGE_LENGTH && /^https?:\/\/[^\s<>()#]+$/.test(page)
}

const PAGE_LENGTH = 500

/** Where the page shows a thread. */
export function pageOfThread(page: string, threadId: string): string {
  const id = encodeURIComponent(threadId).replaceAll('(', '%28').replaceAll(')', '%29')
  return `${page.replace(/\/+$/, '')}/#/threads/${id}`
}

/** The root of a thread's tree; a thread without a parent is its own root. */
export function rootOf(threadId: string, { parent }: Pick<ThreadStart, 'parent'>): string {
  return parent === undefined ? threadId : (parent.root ?? parent.threadId)
}

/** The server terminates a workflow with a larger value. */
const SEARCH_ATTRIBUTE_BYTES = 2000

/** Only the attributes that the start input names. A status of null is left out, and an empty one removes it. */
export function searchAttributesOf(
  threadId: string,
  start: Omit<ThreadStart, 'message'>,
  { agent, status }: { readonly agent: string; readonly status: readonly string[] | null },
): Readonly<Record<string, readonly string[]>> {
  const values: Readonly<Record<string, readonly string[] | null | undefined>> = {
    [SEARCH_ATTRIBUTES.agent]: [agent],
    [SEARCH_ATTRIBUTES.status]: status,
    [SEARCH_ATTRIBUTES.user]: start.userId === undefined ? null : [start.userId],
    [SEARCH_ATTRIBUTES.parent]: start.parent === undefined ? null : [start.parent.threadId],
    // A root has its own id: one query lists a whole tree.
    [SEARCH_ATTRIBUTES.root]: [rootOf(threadId, start)],
    [SEARCH_ATTRIBUTES.tags]: start.tags === undefined ? null : fittingValues(start.tags),
  }
  const named = start.searchAttributes ?? []
  return Object.fromEntries(
    Object.entries(values).flatMap(([name, value]) =>
      value == null || !named.includes(name) ? [] : [[name, value]],
    ),
  )
}

/** The search attributes with which a thread starts: it works, so it has no status. */
export function startAttributes(
  threadId: string,
  start: ThreadStart,
): Readonly<Record<string, readonly string[]>> {
  return searchAttributesOf(threadId, start, { agent: start.agent, status: null })
}

/** As many values as the server takes: with more it would terminate the workflow. The store has all of them. */
function fittingValues(values: readonly string[]): readonly string[] {
  const taken: string[] = []
  for (const value of values) {
    if (utf8Length(JSON.stringify([...taken, value])) > SEARCH_ATTRIBUTE_BYTES) break
    taken.push(value)
  }
  return taken
}

/** Timing only; carried over continue-as-new and inherited by children. */
export interface ThreadLimits {
  /** Milliseconds. @default 30 000 */
  readonly heartbeatTimeout?: number
  /** History events after which the thread continues as new wherever it can. @default the server's suggestion */
  readonly historyEvents?: number
}

/**
 * A message that is staged in the store, or one with inline content of at most 4 KiB, which is then in the history by
 * the sender's choice.
 */
export type QueueMessage =
  | {
      readonly messageId: string
      readonly role?: 'user' | 'assistant'
      readonly from?: 'parent' | 'child' | 'tool'
      /** The parent's call to which the message belongs; the child's next report answers it. */
      readonly invocation?: string
      /** @default 'next_step' */
      readonly deliver?: Delivery
    }
  | {
      readonly content: string
      readonly role?: 'user' | 'assistant'
      readonly silent?: boolean
      readonly deliver?: Delivery
    }

/** Without input it stops the current run; with the id of another run it does nothing. */
export interface Stop {
  /** A command of this id that came before, because its sender repeats it, has no further effect; of `continue`, too. */
  readonly commandId?: string
  readonly runId?: string
  /** `false`: a child for which a call waits continues, and its report becomes an item of the queue. @default true */
  readonly children?: boolean
  /** `false`: the thread goes on with what waits. @default true */
  readonly parks?: boolean
  /** Items whose rows are removed: they leave the queue before the stop counts. @default none */
  readonly removed?: readonly string[]
}

/** A signal that may be left without an input. */
export interface Continue {
  readonly commandId?: string
}

/** A tool to run, with its arguments staged in the store; it becomes an item of the queue. */
export interface QueueTool {
  readonly toolCallId: string
  readonly name: string
}

/** Variables were stored; a run that lacks one checks again. */
export interface SetEnv {
  readonly names: readonly string[]
}

/**
 * The answer to a pending request. The row of the request holds author, reason, values and results; from Temporal's
 * command line `approved` alone is enough.
 */
export type Respond =
  | { readonly id: string; readonly approved: boolean }
  | { readonly id: string; readonly names: readonly string[] }
  | { readonly id: string; readonly result: true }

/**
 * Removes a message, tool or effect from the queue. A client marks its row first, and the row decides. An inline
 * message has no row, and can be removed while no run is in progress.
 */
export interface RemoveQueued {
  readonly id: string
  /** As of a stop. */
  readonly commandId?: string
}

/** Moves a message or tool before everything that waits, unless a step is taking it. */
export interface PromoteQueued {
  readonly id: string
  /** As of a stop. */
  readonly commandId?: string
}

/** Child to parent; its content is in the store before this is sent (T2). */
export interface ChildReport {
  readonly reference: string
  readonly report: number
  /** The parent's calls that the child's session consumed. */
  readonly invocations: readonly string[]
  /** `notice`: a report without a text; a call that waits continues nevertheless. */
  readonly kind: 'result' | 'failure' | 'notice'
  readonly messageId?: string
  /** The child accepts no more input. */
  readonly closes?: boolean
}

/** Operations of a parent or child on this thread; their rows are in the store. */
export interface Operations {
  readonly operations: readonly OutboundOperation[]
}

/** The prefix of thread and message ids that are reserved for this package. */
export const OUR_IDS = 'everthread:'

/**
 * The state with which a lost thread continues, in the start input of its new workflow: ids, registered names and
 * numbers of its rows, never content (T5). Times are milliseconds since 1970.
 */
export interface ReopenedThread {
  /** The current agent, after handoffs. */
  readonly agent: string
  /** The highest numbers in use: the next ones differ, so that no finished operation runs again (T4). */
  readonly runs: number
  readonly settles: number
  readonly reports: number
  readonly items: number
  /** The number of children that it has ever started. */
  readonly children: number
  /** The side that acts next in an interrupted run; absent if no run was in progress. */
  readonly side?: Side
  readonly stopped?: true
  /** Sides whose immediate subagents have started. */
  readonly activated: readonly Side[]
  /** The parent's calls that it has consumed and not answered. */
  readonly invocations: readonly string[]
  /** Scheduled effects, as `[id, dueAt]`. */
  readonly effects: readonly (readonly [string, number])[]
  readonly open: readonly ReopenedChild[]
  readonly deferred: readonly ReopenedDeferred[]
  readonly groups: readonly { readonly callId: string; readonly references: readonly string[] }[]
  /** The request that blocked the last run. */
  readonly request?: { readonly id: string; readonly requestedAt: Millis }
  /** The last report that is in the parent's store; it is signalled once more. */
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
