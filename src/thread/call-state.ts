/** What a tool call is and waits for, from its request to its result. */
import type { CallOutcome, PendingAnswer, RequestResponse } from '../protocol/activities.js'
import type { CallReport, PreparedChild } from '../protocol/child-activities.js'
import type { ToolPlan } from '../protocol/plan.js'
import type { RemoteAnswer } from '../protocol/remote-call.js'

/** What a call is, whatever its state. */
export interface CalledTool {
  readonly id: string
  readonly name: string
  /** Asked for by a tool, hook or caller, and not by the model: it runs whatever the prompt lists. */
  readonly queued?: true
  /** What an activity said that the name is. */
  readonly tool?: ToolPlan
}

/**
 * A tool call: `open` → done. A prompt's: `open` → `framed` → done. A subagent's: `open` → `prepared` → `waiting` →
 * `reported` → done; one that does not wait goes from `prepared` to `reported` at once. A message to a subagent: `open` →
 * `addressed` → `waiting` → `reported` → done. One that waits for an answer: `open` → `pending` → `open` or `answered` → done, maybe several times.
 * A tool in another language: `open` → `remote` → `returned` → done.
 */
export type Call = CalledTool &
  (
    | { readonly state: 'open'; readonly response?: CallResponse }
    | { readonly state: 'framed'; readonly prompt: string; readonly calls: readonly Call[] }
    | { readonly state: 'pending'; readonly request: CallRequest }
    | { readonly state: 'answered'; readonly requestId: string }
    /** Checked and allowed: its code is an activity of another worker. */
    | { readonly state: 'remote'; readonly remote: RemoteCall }
    /** That activity has ended; what came of it is in the store. */
    | { readonly state: 'returned' }
    | {
        readonly state: 'prepared'
        /** Those that are still to be started, in order. */
        readonly starting: readonly PreparedChild[]
        readonly wait: ChildWait
      }
    /** `subagent_message`: its message is to be sent. */
    | {
        readonly state: 'addressed'
        readonly reference: string
        readonly messageId: string
        readonly role: 'user' | 'assistant'
        readonly wait: ChildWait
      }
    | { readonly state: 'waiting'; readonly wait: ChildWait }
    /** Answered: by all that it waited for, or because it does not wait. */
    | { readonly state: 'reported'; readonly wait: ChildWait }
    | { readonly state: 'done'; readonly outcome: CallOutcome }
  )

/** A call in this state. */
export type CallIn<State extends Call['state']> = Extract<Call, { readonly state: State }>

/** What a call of subagents waits for. */
export interface ChildWait {
  readonly references: readonly string[]
  readonly blocking: boolean
  readonly group: boolean
  /** Milliseconds since 1970; null: as long as it takes. */
  readonly deadline: number | null
  /** Milliseconds from the moment when all have started. */
  readonly timeout: number | null
  readonly reports: readonly { readonly reference: string; readonly report: CallReport }[]
  /** Children that were told of an interrupt, or that nobody waits for any more. */
  readonly stopped: readonly string[]
}

/** Where a call runs; `timeout` in milliseconds. */
export type RemoteCall = Pick<RemoteAnswer, 'taskQueue' | 'activity' | 'timeout'>

/** What a call waits for; who may answer, and with what, is in the store. */
export interface CallRequest extends Pick<PendingAnswer, 'requestId' | 'kind' | 'status' | 'next'> {
  readonly requestedAt: number
  /** The model call of a nested step asked: the same operation goes on. */
  readonly ofModel?: true
}

export type CallResponse = RequestResponse
