/**
 * The parent of a workflow that a tool has started. One call has one parent, whose id is made from the call's.
 *
 * It owns: the start of the user's workflow, once, and the delivery of its end, until the store has it (T2). It does not own: what becomes
 * of the end (`activities/workflow-tools/`), and whether the call waits for it.
 * Invariants: a cancellation of the parent is one of the child, and the end is delivered all the same; a parent closes only when its end is
 * delivered. A workflow outlives the thread's: the thread is no parent of it, because it continues as new.
 */
import { ApplicationFailure, TimeoutFailure, WorkflowExecutionAlreadyStartedError } from '@temporalio/common'
import {
  ActivityFailure,
  CancellationScope,
  CancelledFailure,
  ChildWorkflowFailure,
  ParentClosePolicy,
  TerminatedFailure,
  isCancellation,
  proxyActivities,
  sleep,
  startChild,
} from '@temporalio/workflow'
import type { ChildWorkflowOptions } from '@temporalio/workflow'
import { failure } from '../protocol/failures.js'
import { DELIVER_OUTCOME, isToolWorkflowStart } from '../protocol/payloads/tool-workflow.js'
import type {
  DeliverOutcomeAnswer,
  DeliverOutcomeInput,
  StartedWorkflow,
  ToolWorkflowResult,
  ToolWorkflowStart,
  WorkflowEnd,
  WorkflowFailure,
  WorkflowRetry,
} from '../protocol/payloads/tool-workflow.js'

/** Runs a workflow of the user for a call of a tool. @see defineWorkflowTool */
export async function agentToolCall(start: ToolWorkflowStart): Promise<ToolWorkflowResult> {
  if (!isToolWorkflowStart(start)) throw failure('Thread.InvalidStart')
  const { workflow } = start
  const end = await run(start)
  const { delivered } = await CancellationScope.nonCancellable(() => deliver(start, end))
  if (CancellationScope.current().consideredCancelled)
    throw new CancelledFailure('The call of the tool was stopped.')
  return { workflowId: workflow.workflowId, outcome: end.kind, delivered }
}

async function run({ tool, workflow }: ToolWorkflowStart): Promise<WorkflowEnd> {
  let runId = ''
  try {
    const child = await startChild(workflow.type, childOptions(workflow, tool))
    runId = child.firstExecutionRunId
    await child.result()
    return { kind: 'completed', runId }
  } catch (error) {
    if (error instanceof WorkflowExecutionAlreadyStartedError) return { kind: 'id_taken' }
    if (isCancellation(error)) return { kind: 'cancelled' }
    if (!(error instanceof ChildWorkflowFailure)) throw error
    const { cause } = error
    if (cause instanceof TimeoutFailure) return { kind: 'timed_out', runId }
    if (cause instanceof TerminatedFailure) return { kind: 'terminated' }
    return { kind: 'failed', failure: innermostFailure(cause) }
  }
}

function childOptions(
  { workflowId, taskQueue, input, timeout, retry, reuse }: StartedWorkflow,
  tool: string,
): ChildWorkflowOptions & { readonly args: unknown[] } {
  return {
    ...{ workflowId, taskQueue, args: [...input], workflowExecutionTimeout: timeout },
    // An operator who terminates the parent means its work, too.
    parentClosePolicy: ParentClosePolicy.REQUEST_CANCEL,
    staticSummary: `tool ${tool}`,
    ...(reuse !== undefined && { workflowIdReusePolicy: reuse }),
    ...(retry !== undefined && { retry: retryPolicy(retry) }),
  }
}

function retryPolicy({
  nonRetryableErrorTypes: types,
  ...retry
}: WorkflowRetry): NonNullable<ChildWorkflowOptions['retry']> {
  return { ...retry, ...(types !== undefined && { nonRetryableErrorTypes: [...types] }) }
}

/** Longer ones are cut: the end is the input of an activity. */
const MESSAGE_CHARACTERS = 10_000

/** A failure of an activity or of a child of theirs says only that there is one; its cause says which. */
function innermostFailure(thrown: unknown): WorkflowFailure {
  let found = thrown
  while (found instanceof Error && found.cause instanceof Error) found = found.cause
  const message = found instanceof Error ? found.message : String(found)
  const application = found instanceof ApplicationFailure ? found : null
  return {
    message: message.slice(0, MESSAGE_CHARACTERS),
    type: application?.type ?? null,
    is: found instanceof TimeoutFailure ? 'timeout' : 'failure',
    nonRetryable: application?.nonRetryable === true,
  }
}

/** Of one attempt: a result of two megabytes is read and stored. */
const ATTEMPT = 300_000

/** A worker that dies is noticed after this. */
const HEARTBEAT_TIMEOUT = 30_000

const RETRY = { initialInterval: 500, backoffCoefficient: 1.5, maximumInterval: 30_000 }

/** Pauses behind an activity that was failed for good, by an operator or a worker that cannot do it. */
const FIRST_PAUSE = 60_000
const LAST_PAUSE = 86_400_000

/** Attempts without a store or a worker leave no events, so that the end is delivered after months, too. */
async function deliver(start: ToolWorkflowStart, end: WorkflowEnd): Promise<DeliverOutcomeAnswer> {
  const { level, threadId, store, callId, tool, mode, workflow } = start
  const { type, workflowId, taskQueue, timeout } = workflow
  const input = {
    ...{ level, threadId, store, callId, tool, mode, end },
    workflow: { type, workflowId, taskQueue, timeout },
  }
  const activities = proxyActivities<
    Record<string, (input: DeliverOutcomeInput) => Promise<DeliverOutcomeAnswer>>
  >({
    ...{ startToCloseTimeout: ATTEMPT, heartbeatTimeout: HEARTBEAT_TIMEOUT, retry: RETRY },
    summary: `tool ${tool}`,
  })
  const work = activities[DELIVER_OUTCOME]
  if (work === undefined) throw new Error(`There is no activity ${DELIVER_OUTCOME}.`)
  for (let pause = FIRST_PAUSE; ; pause = Math.min(pause * 2, LAST_PAUSE)) {
    try {
      return await work(input)
    } catch (error) {
      if (!(error instanceof ActivityFailure)) throw error
      await sleep(pause, { summary: 'the outcome could not be delivered' })
    }
  }
}
