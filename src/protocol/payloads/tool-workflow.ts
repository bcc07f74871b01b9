/**
 * The wire contract of a tool whose work is a workflow of the user: the workflow of ours that is the parent of theirs, and its activity.
 * The names in this file are wire format: never changed, only added.
 *
 * Arguments of the call are in the start of both workflows, by the choice of whoever declares such a tool. Nothing else is: the result of
 * their workflow goes from its history into the store.
 */
import { isObject, isTaskQueue, utf8Length } from '../values.js'

/** Workflow type of the parent. */
export const TOOL_WORKFLOW = 'agentToolCall'

/** Its only activity, on the task queue of the thread. */
export const DELIVER_OUTCOME = 'thread.deliverOutcome'

/** The id of the parent. That of their workflow is, unless the tool says otherwise, the key of the call. */
export function toolWorkflowIdOf(idempotencyKey: string): string {
  return `${idempotencyKey}:tool`
}

/** `execute`: the call waits for the result. `start`: the call has its result at once, and that of the workflow comes as a message. */
export type WorkflowMode = 'execute' | 'start'

/** The kind of the request with which a call waits for its workflow. No person sees or answers it. */
export const WORKFLOW_REQUEST = 'workflow'

/** Temporal's words for what becomes of an id that a closed workflow has. */
export type WorkflowIdReuse = (typeof REUSES)[number]

export const REUSES = ['ALLOW_DUPLICATE', 'ALLOW_DUPLICATE_FAILED_ONLY', 'REJECT_DUPLICATE'] as const

/** A retry policy of Temporal; times in milliseconds. */
export interface WorkflowRetry {
  /** The number of attempts, the first one included. */
  readonly maximumAttempts: number
  /** Before the second attempt. @default 1,000 */
  readonly initialInterval?: number
  /** @default 2 */
  readonly backoffCoefficient?: number
  /** @default 100 times the first one */
  readonly maximumInterval?: number
  /** Types of failures after which it is not tried again. */
  readonly nonRetryableErrorTypes?: readonly string[]
}

/** A workflow of the user, as its parent starts it. */
export interface StartedWorkflow {
  readonly type: string
  readonly workflowId: string
  readonly taskQueue: string
  readonly input: readonly unknown[]
  /** Milliseconds for all of its attempts. */
  readonly timeout: number
  readonly retry?: WorkflowRetry
  readonly reuse?: WorkflowIdReuse
}

/** The start input of the parent. */
export interface ToolWorkflowStart {
  readonly level: number
  readonly threadId: string
  readonly store: string
  readonly callId: string
  readonly tool: string
  readonly mode: WorkflowMode
  readonly workflow: StartedWorkflow
}

/** What the parent knows of the end: the texts of failures come from the user's code, and their result is not here. */
export type WorkflowEnd =
  | { readonly kind: 'completed'; readonly runId: string }
  | { readonly kind: 'failed'; readonly failure: WorkflowFailure }
  | { readonly kind: 'timed_out'; readonly runId: string }
  | { readonly kind: 'cancelled' | 'terminated' | 'id_taken' }

export interface WorkflowFailure {
  readonly message: string
  /** That of the `ApplicationFailure`; null: it has none. */
  readonly type: string | null
  /** What it was: an activity of the workflow may have had no time left. */
  readonly is: 'failure' | 'timeout'
  readonly nonRetryable: boolean
}

export interface DeliverOutcomeInput extends Pick<
  ToolWorkflowStart,
  'level' | 'threadId' | 'store' | 'callId' | 'tool' | 'mode'
> {
  readonly workflow: Pick<StartedWorkflow, 'type' | 'workflowId' | 'taskQueue' | 'timeout'>
  readonly end: WorkflowEnd
}

/**
 * `call`: the call goes on with it, or has ended without it. `message`: it waits in the queue of the thread. `nowhere`: the thread has
 * closed or is gone, or something else has the id of the message.
 */
export interface DeliverOutcomeAnswer {
  readonly delivered: 'call' | 'message' | 'nowhere'
}

/** The result of the parent. */
export interface ToolWorkflowResult extends DeliverOutcomeAnswer {
  readonly workflowId: string
  readonly outcome: WorkflowEnd['kind']
}

/** False for what somebody has started by hand and would fail each task of the parent. Fields of later versions are ignored. */
export function isToolWorkflowStart(start: unknown): start is ToolWorkflowStart {
  if (!isObject(start) || !isObject(start['workflow'])) return false
  const { level, threadId, store, callId, tool, mode, workflow } = start
  const { type, workflowId, taskQueue, input, timeout, retry, reuse } = workflow
  return (
    typeof level === 'number' &&
    [threadId, store, callId, tool, type, workflowId, taskQueue].every(isWord) &&
    isTaskQueue(taskQueue) &&
    (mode === 'execute' || mode === 'start') &&
    Array.isArray(input) &&
    Number.isSafeInteger(timeout) &&
    Number(timeout) > 0 &&
    (retry === undefined || isObject(retry)) &&
    (reuse === undefined || REUSES.some((known) => known === reuse))
  )
}

/** Names and ids of Temporal have at most so many bytes. */
const LONGEST_WORD = 1000

function isWord(value: unknown): boolean {
  return typeof value === 'string' && value !== '' && utf8Length(value) <= LONGEST_WORD
}
