/**
 * Tools whose work is a Temporal workflow of the user, declared instead of written.
 *
 * Owns: what such a definition may say, and the part of it that a call needs. Does not own: the start of the workflow and its outcome
 * (`activities/workflow-tools/`), the workflow that is its parent (`workflows/tool-workflow.ts`), and what every tool has: permission,
 * results, records.
 */
import { ConfigError } from '../protocol/errors.js'
import { LIMITS } from '../protocol/limits.js'
import { REUSES } from '../protocol/payloads/tool-workflow.js'
import type { WorkflowIdReuse, WorkflowMode, WorkflowRetry } from '../protocol/payloads/tool-workflow.js'
import { isTaskQueue } from '../protocol/values.js'
import { pointerProblems, selected } from './http-tool/http-answer.js'
import type { Select } from './http-tool/http-answer.js'
import type { ArgumentSchema } from './plan/argument-schema.js'
import type { ToolArguments, ToolDefinition, ToolWorkflow, WorkflowCall } from './tool.js'

/** What a tool is beside its workflow. Its start is made once, so it needs no tries, and no word on whether it may be repeated. */
type ToolFields<Schema extends ArgumentSchema | undefined> = Omit<
  ToolDefinition<Schema>,
  'execute' | 'remote' | 'workflow' | 'idempotent' | 'retry' | 'timeout' | 'taskQueue'
>

/** A tool that is a workflow of a worker of yours, in any language. */
export interface WorkflowToolDefinition<
  Schema extends ArgumentSchema | undefined = ArgumentSchema | undefined,
  Input extends readonly unknown[] = readonly unknown[],
  Output = unknown,
> extends ToolFields<Schema> {
  /** The type of the workflow, or the function, whose name is the type. */
  readonly workflow: string | ((...input: Input) => Promise<Output>)
  /** The task queue that a worker with this workflow polls. @default the thread's own */
  readonly taskQueue?: string
  /**
   * `execute`: the result of the workflow is that of the call, which may take days and holds no worker meanwhile. `start`: the call has a
   * result at once, with the id of the workflow; what becomes of the workflow comes as a message, and wakes the thread.
   * @default 'execute'
   */
  readonly mode?: WorkflowMode
  /** The input of the workflow. @default the arguments of the call, as one object */
  readonly input?: (args: ToolArguments<Schema>, call: WorkflowCall) => Input
  /** The id of the workflow. @default the key of the call: the id of the thread, a colon and that of the call */
  readonly workflowId?: (args: ToolArguments<Schema>, call: WorkflowCall) => string
  /** Whether a workflow may have an id of `workflowId` that a closed one has. @default 'ALLOW_DUPLICATE' */
  readonly workflowIdReusePolicy?: WorkflowIdReuse
  /**
   * Milliseconds for the workflow with all its attempts; also how long it waits for a worker. At most ten years.
   * @default 3,600,000, an hour; with `start` 30 days
   */
  readonly timeout?: number
  /** The retry policy of the workflow. @default none: its activities have their own */
  readonly retry?: WorkflowRetry
  /**
   * With `execute`, for a stop, a terminate and a message that preempts: `cancel` requests the cancellation of the workflow, `abandon`
   * lets it go on, and nobody gets its result. One of mode `start` always goes on.
   * @default 'cancel'
   */
  readonly interruptBehavior?: 'cancel' | 'abandon'
  /** The part of what the workflow returns that the model reads: a JSON Pointer, or a function. @default all of it */
  readonly select?: Select
}

const TIMEOUTS: Readonly<Record<WorkflowMode, number>> = { execute: 3_600_000, start: 30 * 86_400_000 }

/**
 * Declares a tool that is a workflow. Its call starts the workflow once, whatever happens to workers meanwhile.
 * @throws ConfigError with everything that is wrong with the workflow
 */
export function defineWorkflowTool<
  Schema extends ArgumentSchema | undefined = undefined,
  // With the empty list a list that `input` returns is read as a tuple.
  Input extends readonly unknown[] | [] = readonly unknown[],
  Output = unknown,
>(definition: WorkflowToolDefinition<Schema, Input, Output>): ToolDefinition<Schema> {
  // The compiler's parts of schema and workflow are of no use here.
  const given = definition as unknown as WorkflowToolDefinition
  const problems = workflowProblems(given)
  const type = typeOf(given)
  if (problems.length > 0)
    throw new ConfigError(problems.map((problem) => `workflow tool ${JSON.stringify(type)}: ${problem}`))
  return {
    ...withoutWorkflow(definition),
    idempotent: true,
    workflow: toolWorkflow(given, type),
    execute: () => ({
      status: 'error',
      error: 'This tool is a workflow, and cannot run inside the call of another tool: use queueTool.',
      error_code: 'not_in_place',
    }),
  }
}

function toolWorkflow(given: WorkflowToolDefinition, type: string): ToolWorkflow {
  const { mode = 'execute', taskQueue, retry, workflowIdReusePolicy: reuse, select } = given
  return {
    ...{ type, mode, timeout: given.timeout ?? TIMEOUTS[mode] },
    ...(taskQueue !== undefined && { taskQueue }),
    ...(retry !== undefined && { retry }),
    ...(reuse !== undefined && { reuse }),
    interruptBehavior: given.interruptBehavior ?? (mode === 'start' ? 'abandon' : 'cancel'),
    // Parsed by the tool's own schema.
    input: (args, call) => given.input?.(args as never, call) ?? [args],
    workflowId: (args, call) => given.workflowId?.(args as never, call) ?? call.idempotencyKey,
    select: (output) => selected(output, select, OK),
  }
}

/** An output of a workflow is never a failure. */
const OK = 200

function typeOf({ workflow }: Pick<WorkflowToolDefinition, 'workflow'>): string {
  return typeof workflow === 'function' ? workflow.name : String(workflow)
}

/** The fields that say what is started, and what is made of its result. */
const WORKFLOW_FIELDS: ReadonlySet<string> = new Set<WorkflowField>([
  ...(['workflow', 'taskQueue', 'mode', 'input', 'workflowId', 'workflowIdReusePolicy'] as const),
  ...(['timeout', 'retry', 'interruptBehavior', 'select'] as const),
])

type WorkflowField = Exclude<keyof WorkflowToolDefinition, keyof ToolFields<undefined>>

function withoutWorkflow<Schema extends ArgumentSchema | undefined>(
  definition: ToolFields<Schema>,
): ToolFields<Schema> {
  const fields = Object.entries(definition).filter(([name]) => !WORKFLOW_FIELDS.has(name))
  // Nothing but the fields of the workflow was left out.
  return Object.fromEntries(fields) as unknown as ToolFields<Schema>
}

function workflowProblems(given: WorkflowToolDefinition): readonly string[] {
  const { mode = 'execute', taskQueue, timeout, retry, select, interruptBehavior: behavior } = given
  const isStart = mode === 'start'
  const problems: readonly (string | false)[] = [
    !isWord(typeOf(given)) &&
      'expected "workflow" to be the type of a workflow, or a function with a name, got neither',
    mode !== 'execute' && !isStart && `expected "mode" to be 'execute' or 'start', got ${show(mode)}`,
    taskQueue !== undefined &&
      !(isWord(taskQueue) && isTaskQueue(taskQueue)) &&
      `expected "taskQueue" to be a task queue, got ${show(taskQueue)}`,
    timeout !== undefined &&
      !isWhole(timeout, LIMITS.effectDelay) &&
      `expected "timeout" to be whole milliseconds from 1 to ${LIMITS.effectDelay}, got ${show(timeout)}`,
    given.workflowIdReusePolicy !== undefined &&
      !REUSES.includes(given.workflowIdReusePolicy) &&
      `expected "workflowIdReusePolicy" to be one of ${REUSES.join(', ')}, got ${show(given.workflowIdReusePolicy)}`,
    behavior !== undefined &&
      behavior !== 'cancel' &&
      behavior !== 'abandon' &&
      `expected "interruptBehavior" to be 'cancel' or 'abandon', got ${show(behavior)}`,
    isStart &&
      behavior === 'cancel' &&
      'a workflow of mode "start" outlives the run that started it: leave "interruptBehavior" out',
    isStart &&
      given.onError !== undefined &&
      'the call of mode "start" ends before the workflow may fail: leave "onError" out',
  ]
  return [
    ...problems.filter((problem) => problem !== false),
    ...(['input', 'workflowId'] as const).flatMap((name) =>
      given[name] === undefined || typeof given[name] === 'function'
        ? []
        : [`expected "${name}" to be a function, got ${show(given[name])}`],
    ),
    ...(typeof select === 'string' ? pointerProblems(select) : []),
    ...(retry === undefined ? [] : retryProblems(retry)),
  ]
}

/** Names of Temporal have at most so many bytes. */
const LONGEST_WORD = 1000

function isWord(value: unknown): boolean {
  return typeof value === 'string' && value !== '' && Buffer.byteLength(value) <= LONGEST_WORD
}

function isWhole(value: unknown, most: number): boolean {
  return Number.isInteger(value) && Number(value) > 0 && Number(value) <= most
}

function show(value: unknown): string {
  return JSON.stringify(value) ?? typeof value
}

/** What Temporal would refuse only when the workflow is started, in the parent, which then could not go on. */
function retryProblems(retry: WorkflowRetry): readonly string[] {
  const { maximumAttempts, initialInterval = 1_000, backoffCoefficient = 2, maximumInterval } = retry
  const types = retry.nonRetryableErrorTypes ?? []
  const isSound =
    isWhole(maximumAttempts, 2 ** 31 - 1) &&
    isWhole(initialInterval, LIMITS.effectDelay) &&
    Number.isFinite(backoffCoefficient) &&
    backoffCoefficient >= 1 &&
    (maximumInterval === undefined ||
      (isWhole(maximumInterval, LIMITS.effectDelay) && maximumInterval >= initialInterval)) &&
    Array.isArray(types) &&
    types.every(isWord)
  return isSound
    ? []
    : [
        'expected "retry" to be { maximumAttempts, initialInterval, backoffCoefficient, maximumInterval, nonRetryableErrorTypes }: ' +
          `whole numbers from 1, times in milliseconds, a coefficient from 1; got ${show(retry)}`,
      ]
}
