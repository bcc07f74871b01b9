/**
 * What became of a workflow that a tool has started.
 *
 * Owns: how an end becomes an outcome, its row, and its words for the model; what a workflow had waited for when its time was over. Does not
 * own: who is told (`deliver-outcome.ts`).
 * Invariants: a workflow has one outcome, the first that is stored (T4); it stays with the thread, also if nobody takes it.
 */
import type { Context as ActivityContext } from '@temporalio/activity'
import { WorkflowNotFoundError } from '@temporalio/common'
import { ToolError } from '../../definitions/tool-error.js'
import type { ToolResult } from '../../definitions/tool-result.js'
import type { ToolWorkflow } from '../../definitions/tool.js'
import { TOOL_ERROR_CATEGORIES } from '../../protocol/payloads/tool-failure.js'
import type { ToolErrorCategory } from '../../protocol/payloads/tool-failure.js'
import { workflowOperationId } from '../../protocol/ids.js'
import type {
  DeliverOutcomeInput,
  WorkflowEnd,
  WorkflowFailure,
} from '../../protocol/payloads/tool-workflow.js'
import { isObject } from '../../protocol/values.js'
import type { JsonValue } from '../../protocol/values.js'
import { findOperation } from '../../store/operations.js'
import type { Reader } from '../../store/store.js'
import { Context } from '../temporal-activity.js'
import { readThrown } from '../thrown.js'

type WorkflowOutcome =
  /** Without an output it returned nothing. */
  { readonly status: 'completed'; readonly output?: JsonValue } | FailedOutcome

interface FailedOutcome {
  readonly status: 'failed'
  readonly message: string
  readonly category: ToolErrorCategory
  readonly code: string
}

/** The outcome of the workflow that a call has started; null: it has none yet. */
export async function readOutcome(
  db: Reader,
  { threadId, callId }: { readonly threadId: string; readonly callId: string },
): Promise<WorkflowOutcome | null> {
  const row = await findOperation(db, threadId, workflowOperationId(callId))
  // Written by `deliverOutcome`: the store's boundary.
  return (row?.answer ?? null) as WorkflowOutcome | null
}

/** The outcome of a failed workflow: a type of failure that is one of our categories is that. */
function failedOutcome({ message, type, is, nonRetryable }: WorkflowFailure): FailedOutcome {
  const known = TOOL_ERROR_CATEGORIES.find((category) => category === type)
  const told = is === 'timeout' ? 'timeout' : nonRetryable ? 'permanent' : 'unknown'
  // Of an error that is thrown as it is, the SDK makes a failure of the type "Error".
  const code = type === null || type === 'Error' || type === '' ? 'workflow_failed' : type
  const silent =
    is === 'timeout'
      ? 'An activity of the workflow did not end in time.'
      : 'The workflow failed without a reason.'
  const text = message === '' ? silent : message
  return { status: 'failed', message: text, category: known ?? told, code: code.slice(0, LONGEST_CODE) }
}

const LONGEST_CODE = 100

/** What the model reads of it. @throws ToolError for a failure, and for an output that does not have what is selected */
export function resultOf(outcome: WorkflowOutcome, select: ToolWorkflow['select']): ToolResult {
  if (outcome.status === 'failed') {
    const { message, category, code } = outcome
    throw new ToolError(message, { category, code })
  }
  const { output } = outcome
  return output === undefined ? { status: 'success' } : { status: 'success', result: select(output) }
}

/** The outcome for an end that the parent knows; what it does not, the history of the workflow says. */
export async function toOutcome(input: DeliverOutcomeInput): Promise<WorkflowOutcome> {
  const { end, workflow } = input
  const { type, workflowId } = workflow
  const named = `The workflow "${type}" (${workflowId})`
  switch (end.kind) {
    case 'completed':
      return readOutput(input, end.runId)
    case 'failed':
      return failedOutcome(end.failure)
    case 'timed_out':
      return timedOut(input, end)
    case 'cancelled':
      return withoutOutput(`${named} was cancelled.`, 'cancelled', 'workflow_cancelled')
    case 'terminated':
      return withoutOutput(`${named} was terminated.`, 'cancelled', 'workflow_terminated')
    case 'id_taken':
      return withoutOutput(
        `The workflow "${type}" was not started, because another one has the id "${workflowId}".`,
        ...(['conflict', 'workflow_id_taken'] as const),
      )
  }
}

function withoutOutput(message: string, category: FailedOutcome['category'], code: string): FailedOutcome {
  return { status: 'failed', message, category, code }
}

async function timedOut({ workflow }: DeliverOutcomeInput, end: TimedOut): Promise<WorkflowOutcome> {
  const { type, workflowId, taskQueue, timeout } = workflow
  const { client } = Context.current()
  const why = await whatItWaitedFor({ client, workflowId, taskQueue }, end)
  const message = `The workflow "${type}" (${workflowId}) did not end within ${timeout / 1000} seconds${why}.`
  return withoutOutput(message, 'timeout', 'workflow_timeout')
}

/** Temporal's history has what it returned: the parent does not carry it, because it may have two megabytes. */
async function readOutput(
  { workflow: { type, workflowId } }: DeliverOutcomeInput,
  runId: string,
): Promise<WorkflowOutcome> {
  const named = `The workflow "${type}" (${workflowId}) has completed`
  try {
    const value: unknown = await Context.current().client.workflow.getHandle(workflowId, runId).result()
    if (isObject(value) && value['undecodable'] === true)
      return withoutOutput(`${named}, and returned what is no JSON.`, 'permanent', 'workflow_output')
    const text = JSON.stringify(value) as string | undefined
    return {
      status: 'completed',
      ...(text !== undefined && value !== null && { output: JSON.parse(text) as JsonValue }),
    }
  } catch (error) {
    if (error instanceof WorkflowNotFoundError)
      return withoutOutput(`${named}, and Temporal has deleted its result.`, 'unknown', 'workflow_lost')
    // A server that does not answer now will: the activity is tried again.
    if (error instanceof Error && error.name === 'ServiceError') throw error
    const { message } = readThrown(error)
    return withoutOutput(
      `${named}, and its result cannot be read: ${message}`,
      'permanent',
      'workflow_output',
    )
  }
}

type TimedOut = Extract<WorkflowEnd, { readonly kind: 'timed_out' }>
type History = Awaited<
  ReturnType<ReturnType<ActivityContext['client']['workflow']['getHandle']>['fetchHistory']>
>
type HistoryEvent = NonNullable<NonNullable<History>['events']>[number]

/** Of longer ones the end would have to be read from behind. */
const MOST_EVENTS = 2_000

interface Waited {
  readonly client: ActivityContext['client']
  readonly workflowId: string
  readonly taskQueue: string
}

/** What it had waited for, as a half-sentence behind a comma; an empty text: it is not known. */
async function whatItWaitedFor(
  { client, workflowId, taskQueue }: Waited,
  { runId }: TimedOut,
): Promise<string> {
  try {
    const handle = client.workflow.getHandle(workflowId, runId)
    const { historyLength } = await handle.describe()
    if (historyLength > MOST_EVENTS) return ''
    const { events } = await handle.fetchHistory()
    return reasonIn(events ?? [], taskQueue)
  } catch {
    // It is a help only: the outcome is known.
    return ''
  }
}

function reasonIn(events: readonly HistoryEvent[], taskQueue: string): string {
  const failed = events.findLast((event) => event.workflowTaskFailedEventAttributes != null)
  const done = events.findLast((event) => event.workflowTaskCompletedEventAttributes != null)
  if (failed !== undefined && Number(failed.eventId) > Number(done?.eventId ?? 0)) {
    const message = failed.workflowTaskFailedEventAttributes?.failure?.message ?? ''
    return `, because a worker of the task queue "${taskQueue}" cannot run it: ${message.slice(0, MESSAGE_CHARACTERS)}`
  }
  if (!events.some((event) => event.workflowTaskStartedEventAttributes != null))
    return `, because no worker has taken it from the task queue "${taskQueue}"`
  const activity = openActivity(events)
  return activity === undefined ? '' : `, and its activity "${activity}" has not ended`
}

const MESSAGE_CHARACTERS = 1_000

/** The newest activity that has no end in the history. */
function openActivity(events: readonly HistoryEvent[]): string | undefined {
  const open = new Map<string, string>()
  for (const event of events) {
    const scheduled = event.activityTaskScheduledEventAttributes
    if (scheduled != null) open.set(String(event.eventId), scheduled.activityType?.name ?? '')
    const ended =
      event.activityTaskCompletedEventAttributes ??
      event.activityTaskFailedEventAttributes ??
      event.activityTaskTimedOutEventAttributes ??
      event.activityTaskCanceledEventAttributes
    if (ended != null) open.delete(String(ended.scheduledEventId))
  }
  return [...open.values()].at(-1)
}
