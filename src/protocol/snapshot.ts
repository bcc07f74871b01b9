import type { Side } from './plan.js'
import type { StopReason, ThreadStatus } from './status.js'

/** What the `snapshot` query answers: control state only; the client adds texts from the store. Times: milliseconds. */
export interface ControlSnapshot {
  readonly threadId: string
  readonly agent: string
  readonly parent: string | null
  readonly status: ThreadStatus
  readonly at: number
  readonly run: RunSnapshot | null
  readonly queue: readonly QueuedItem[]
  readonly pending: readonly PendingItem[]
  readonly effects: readonly ScheduledItem[]
  /** Open ones. */
  readonly children: readonly OpenChildItem[]
  readonly lastRun: LastRun | null
}

export interface OpenChildItem {
  readonly reference: string
  /** An invocation of it is unanswered. */
  readonly owed: boolean
}

export interface RunSnapshot {
  readonly runId: string
  readonly side: Side
  readonly steps: number
  readonly sessionTurns: number
  /** 'model chat', 'tool refund_order', 'child …', or null between two of them. */
  readonly doing: string | null
  /** Where that is done, if not on the thread's own task queue: without a worker there it waits. */
  readonly taskQueue?: string
  readonly since: number
}

export interface QueuedItem {
  readonly id: string
  readonly kind: 'message' | 'tool' | 'effect' | 'report' | 'variables' | 'continue'
  readonly queuedAt: number
}

/** A request that waits for an answer from outside. */
export interface PendingItem {
  readonly id: string
  /** `approval`, `call`, `variables`, … */
  readonly kind: string
  /** Null where no call waits for it. */
  readonly toolName: string | null
  readonly requestedAt: number
}

/** An effect that is not due yet. */
export interface ScheduledItem {
  readonly id: string
  readonly dueAt: number
}

export interface LastRun {
  readonly runId: string
  readonly reason: StopReason
  readonly steps: number
  readonly endedAt: number
}
