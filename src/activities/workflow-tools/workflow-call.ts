/**
 * A call of a tool whose work is a workflow.
 *
 * Owns: the start of the parent, when a call that waits looks for it, and its cancellation. Does not own: the parent
 * (`workflows/tool-workflow.ts`), the outcome (`deliver-outcome.ts`), and the path of a call, which is that of any function.
 * Invariants: a call has one parent, whose id is made from the call's, so every attempt finds the one that an earlier attempt has started;
 * the parent starts the workflow of the user once. A call that waits holds no worker: the end of the workflow wakes it, and a timer makes
 * it look whether there still is one.
 */
import { WorkflowExecutionAlreadyStartedError, WorkflowNotFoundError } from '@temporalio/common'
import type { Registry } from '../../definitions/known-definitions.js'
import { ToolError } from '../../definitions/tool-error.js'
import type { ToolAnswer } from '../../definitions/tool-result.js'
import type { ToolDefinition, ToolWorkflow, WorkflowCall } from '../../definitions/tool.js'
import { LEVEL } from '../../protocol/answer-problem.js'
import { idempotencyKeyOf } from '../../protocol/ids.js'
import { TOOL_WORKFLOW, toolWorkflowIdOf } from '../../protocol/payloads/tool-workflow.js'
import type { StartedWorkflow, ToolWorkflowStart } from '../../protocol/payloads/tool-workflow.js'
import { isObject } from '../../protocol/values.js'
import { listOpenToolCalls } from '../../store/calls/tool-calls.js'
import type { OperationRecord } from '../../store/operations.js'
import type { Store } from '../../store/store.js'
import { findCloseStatus } from '../activity.js'
import type { ActivityDependencies } from '../activity.js'
import { continuationOf } from '../operation.js'
import { Context } from '../temporal-activity.js'
import { waitForWorkflow } from '../tool/tool-values.js'
import { readOutcome, resultOf } from './outcome.js'

interface Place {
  readonly threadId: string
  readonly callId: string
}

interface Calling {
  readonly tool: ToolDefinition
  readonly input: Place
  /** As the row has it. */
  readonly name: string
  /** As the activity found it; null: no attempt has begun the call. */
  readonly operation: OperationRecord | null
}

/** A tool as it is to be called. */
interface CalledTool {
  readonly tool: ToolDefinition
  /** Behind a stop of the call. */
  readonly onStopped?: () => Promise<void>
}

/** A tool that is a workflow, with code that starts it and takes its outcome; any other tool as it is. */
export function withWorkflow(dependencies: ActivityDependencies, calling: Calling): CalledTool {
  const { tool, input } = calling
  const { workflow } = tool
  if (workflow === undefined) return { tool }
  // A stop that comes while a start is under way must not pass it by.
  let underWay: Promise<unknown> = Promise.resolve()
  const begin = (start: ToolWorkflowStart): Promise<boolean> => {
    const starting = startParent(start)
    underWay = starting.catch(() => undefined)
    return starting
  }
  const { threadId } = input
  // Parsed by the tool's own schema, or none.
  const execute: ToolDefinition['execute'] = (_state, args: unknown, { id, idempotencyKey }) =>
    work(
      dependencies,
      { ...calling, workflow, begin },
      { args: args as Readonly<Record<string, unknown>>, call: { id, idempotencyKey, threadId } },
    )
  return {
    tool: { ...tool, execute },
    async onStopped() {
      await underWay
      if (isCancelledByStop(workflow)) await cancelParent(input)
    },
  }
}

function isCancelledByStop({ mode, interruptBehavior }: ToolWorkflow): boolean {
  return mode === 'execute' && interruptBehavior === 'cancel'
}

interface Working extends Calling {
  readonly workflow: ToolWorkflow
  /** False: the server did not answer. */
  readonly begin: (start: ToolWorkflowStart) => Promise<boolean>
}

/** Milliseconds until a call looks again: after a start that got no answer, and for the end of a workflow, which wakes it. */
const STARTS_AGAIN = 10_000
const FIRST_LOOK = 300_000
const LATER_LOOKS = 3_600_000

async function work(
  { store }: ActivityDependencies,
  { workflow, begin, input, name, operation }: Working,
  { args, call }: { readonly args: Readonly<Record<string, unknown>>; readonly call: WorkflowCall },
): Promise<ToolAnswer> {
  const { mode, select } = workflow
  const known = await store.read((db) => readOutcome(db, input))
  if (known !== null && mode === 'execute') return resultOf(known, select)
  const part = continuationOf(operation)
  const isStarted = known !== null || part?.resume['started'] === true
  const started = startedWorkflow(workflow, args, call)
  if (!isStarted) {
    const { threadId, callId } = input
    const start = { level: LEVEL, threadId, store: store.id, callId, tool: name, mode, workflow: started }
    if (!(await begin(start))) return waitForWorkflow({ started: false }, STARTS_AGAIN)
  }
  if (mode === 'start')
    return { workflowId: started.workflowId, status: 'started', note: 'Its result comes as a message.' }
  if (isStarted && (await findCloseStatus(parentIdOf(input))) !== null)
    return endedParent(store, input, select)
  return waitForWorkflow({ started: true }, part === null ? FIRST_LOOK : LATER_LOOKS)
}

function parentIdOf({ threadId, callId }: Place): string {
  return toolWorkflowIdOf(idempotencyKeyOf(threadId, callId))
}

/** An operator has terminated the parent, unless it has delivered the outcome a moment ago. */
async function endedParent(store: Store, input: Place, select: ToolWorkflow['select']): Promise<ToolAnswer> {
  const outcome = await store.read((db) => readOutcome(db, input))
  if (outcome !== null) return resultOf(outcome, select)
  throw new ToolError(
    `The workflow "${parentIdOf(input)}", which waits for the work of this call, was ended from outside, so nobody knows what became of it.`,
    { category: 'unknown', code: 'workflow_lost' },
  )
}

/** What Temporal accepts as a start, with room for the rest of it. */
const INPUT_BYTES = 1_000_000
/** Of an id. */
const LONGEST_ID = 1_000

/** @throws ToolError for an id or an input that Temporal would refuse */
function startedWorkflow(
  { type, taskQueue, timeout, retry, reuse, ...workflow }: ToolWorkflow,
  args: Readonly<Record<string, unknown>>,
  call: WorkflowCall,
): StartedWorkflow {
  const workflowId: unknown = workflow.workflowId(args, call)
  if (typeof workflowId !== 'string' || workflowId === '' || Buffer.byteLength(workflowId) > LONGEST_ID)
    throw new ToolError(
      `Expected "workflowId" to give a text of 1 to ${LONGEST_ID} bytes for the workflow "${type}", got another value.`,
      { category: 'invalid', code: 'workflow_id' },
    )
  const input: unknown = workflow.input(args, call)
  if (!Array.isArray(input))
    throw new ToolError(
      `Expected "input" to give a list, the arguments of the workflow "${type}", got ${isObject(input) ? 'an object' : typeof input}.`,
      { category: 'invalid', code: 'workflow_input' },
    )
  const bytes = Buffer.byteLength(JSON.stringify(input))
  if (bytes > INPUT_BYTES)
    throw new ToolError(
      `Expected at most ${INPUT_BYTES} bytes of input for the workflow "${type}", got ${bytes}: put it into a file, and give the path.`,
      { category: 'invalid', code: 'workflow_input' },
    )
  return {
    ...{ type, workflowId, input, timeout, taskQueue: taskQueue ?? Context.current().info.taskQueue },
    ...(retry !== undefined && { retry }),
    ...(reuse !== undefined && { reuse }),
  }
}

/** Starts the parent, or finds it, running or closed. False: the server did not answer, or cannot now. */
async function startParent(start: ToolWorkflowStart): Promise<boolean> {
  const { client, info } = Context.current()
  const { threadId, callId, tool } = start
  try {
    await client.workflow.start(TOOL_WORKFLOW, {
      workflowId: parentIdOf({ threadId, callId }),
      // Tools that are workflows run on the thread's own.
      taskQueue: info.taskQueue,
      args: [start],
      workflowIdReusePolicy: 'REJECT_DUPLICATE',
      workflowIdConflictPolicy: 'USE_EXISTING',
      staticSummary: `tool ${tool}`,
      ...(info.priority !== undefined && { priority: info.priority }),
    })
    return true
  } catch (error) {
    if (error instanceof WorkflowExecutionAlreadyStartedError) return true
    if (isRefused(error) || !(error instanceof Error) || error.name !== 'ServiceError') throw error
    return false
  }
}

/** Of gRPC: the request itself is wrong. */
const INVALID_ARGUMENT = 3

function isRefused(error: unknown): boolean {
  const cause: unknown = error instanceof Error ? error.cause : undefined
  return isObject(cause) && cause['code'] === INVALID_ARGUMENT
}

/** Requests the cancellation of what a call has started, if there is something to cancel. */
async function cancelParent(place: Place): Promise<void> {
  try {
    await Context.current().client.workflow.getHandle(parentIdOf(place)).cancel()
  } catch (error) {
    if (!(error instanceof WorkflowNotFoundError)) throw error
  }
}

/** Cancels the workflows of the calls that a run leaves open when it ends; before that is stored, so that a retry does it, too. */
export async function cancelWorkflows(
  { store, registry }: { readonly store: Store; readonly registry: Registry },
  threadId: string,
): Promise<void> {
  const names = registry.names().tools.filter((name) => {
    const workflow = registry.tool(name)?.workflow
    return workflow !== undefined && isCancelledByStop(workflow)
  })
  if (names.length === 0) return
  const open = await store.read((db) => listOpenToolCalls(db, threadId))
  const begun = open.filter(({ name, started_at: startedAt }) => startedAt !== null && names.includes(name))
  await Promise.all(begun.map(({ id: callId }) => cancelParent({ threadId, callId })))
}
