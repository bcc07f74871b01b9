/** What any activity of a step may answer beside its own result: the workflow obeys whoever says it. */
import type { Usage } from './activities.js'
import type { ThreadOperation } from './operations.js'
import type { Plan } from './plan.js'
import type { StopReason, ThreadStatus } from './status.js'

/** Any activity may find that the thread was terminated: its row is the authority (T8). */
export interface TerminatedAnswer {
  readonly type: 'terminated'
}

/** Any activity of a step may end the run; the workflow obeys whoever said it. */
export interface EndAnswer {
  readonly type: 'end'
  readonly reason: StopReason
  readonly outcome: 'completed' | 'failed' | 'blocked'
  readonly usage?: Usage
  readonly plan?: Plan
  /** What a blocked run waits for: open until the next run starts and looks again. */
  readonly request?: { readonly id: string; readonly kind: string }
  readonly operations?: readonly ThreadOperation[]
}

/** Any activity of a step may ask to be called again later, under the same operation id: a provider's limit. */
export interface WaitAnswer {
  readonly type: 'wait'
  /** Milliseconds since 1970. */
  readonly until: number
  readonly plan?: Plan
  readonly usage?: Usage
}

/**
 * Any activity of a step may wait for `respond`, without an activity; the request's row in the store holds the decision. A
 * call goes on as `next` says; a model call is made again under the same operation id.
 */
export interface PendingAnswer {
  readonly type: 'pending'
  readonly requestId: string
  /** `approval`, `call`, …: opaque to the workflow. */
  readonly kind: string
  /** The thread's status meanwhile. */
  readonly status: ThreadStatus
  /** What follows the answer: it is the result, or the call runs and finds it. */
  readonly next: 'complete' | 'execute'
  /** The answer came before the question and is in the request's row: nothing is waited for. */
  readonly answered?: true
  readonly plan?: Plan
  readonly usage?: Usage
  readonly operations?: readonly ThreadOperation[]
}

/** The answer that was waited for; the row of the request holds it, `approved` only what a raw update said. */
export interface RequestResponse {
  readonly requestId: string
  readonly approved?: boolean
}
