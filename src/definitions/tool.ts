import type { SharedV4ProviderOptions } from '@ai-sdk/provider'
import type { z } from 'zod'
import type { ActionTraits } from '../policy/action.js'
import type { ApprovalRule } from '../policy/approval.js'
import type { Preview } from '../policy/preview.js'
import type { CallReports } from '../protocol/payloads/live-text.js'
import type { ToolErrorCategory } from '../protocol/payloads/tool-failure.js'
import type { StartedWorkflow, WorkflowMode } from '../protocol/payloads/tool-workflow.js'
import type { JsonObject, JsonValue } from '../protocol/values.js'
import type { VariableDefinition } from './agent.js'
import type { ArgumentSchema } from './plan/argument-schema.js'
import type { JsonSchemaOf, StandardSchema } from './plan/foreign-schema.js'
import type { ThreadState } from './thread-state.js'
import type { ToolAnswer } from './tool-result.js'

/** Repeats a tool that throws, inside the call. The writes of a failed attempt to its thread are dropped. */
export interface ToolRetry {
  /** The number of attempts, the first one included. */
  readonly maximumAttempts: number
  /** Milliseconds before the second attempt, doubled for each later one. @default 1,000 */
  readonly initialInterval?: number
  /** The failures after which it is tried again. @default transient, rate_limit, timeout and unknown */
  readonly on?: readonly ToolErrorCategory[]
}

/** A failure for which the tool has an answer. */
export interface HandledFailure {
  readonly message: string
  readonly category: ToolErrorCategory
  /** What to do about failures of that category. */
  readonly advice: string
}

/**
 * What takes the place of a tool that has failed for good, after all attempts: an answer, or code that makes one; another tool, with the
 * same arguments and its own permission; a person, who gives the result (`thread.respond`). Each may take 30 seconds; if it fails, too, the
 * model reads the first failure.
 */
export type ToolErrorHandler<Schema extends ArgumentSchema | undefined = ArgumentSchema | undefined> =
  | {
      readonly fallback:
        | Exclude<JsonValue, null>
        | ((
            state: ThreadState,
            args: ToolArguments<Schema>,
            failure: HandledFailure,
          ) => ToolAnswer | Promise<ToolAnswer>)
    }
  | { readonly tool: string }
  | { readonly escalate: true; readonly form?: JsonObject }

/** One call of a tool. The key is equal in all attempts: pass it to services that deduplicate by key. */
export interface ToolCall extends CallReports {
  readonly id: string
  /** From 1. */
  readonly attempt: number
  readonly idempotencyKey: string
}

/** The arguments of `execute` for a schema: parsed, with defaults applied. */
export type ToolArguments<Schema> = Schema extends z.ZodObject
  ? z.output<Schema>
  : Schema extends StandardSchema<infer Output> | JsonSchemaOf<infer Output>
    ? Output
    : Record<string, never>

/** A function that models may call. Its name is its key in the registry. */
export interface ToolDefinition<
  Schema extends ArgumentSchema | undefined = ArgumentSchema | undefined,
> extends ActionTraits {
  readonly description: string
  /** A `z.object`, another Standard Schema with a JSON Schema, or `jsonSchema()` of the AI SDK. @default no arguments */
  readonly args?: Schema
  /**
   * Answers a result, or any value in its place: a text is read as it is, anything else as JSON. A thrown error becomes an error result
   * for the model; it causes no retry.
   */
  execute(state: ThreadState, args: ToolArguments<Schema>, call: ToolCall): ToolAnswer | Promise<ToolAnswer>
  readonly variables?: readonly VariableDefinition[]
  /** True if a person has to approve the call. A function that throws counts as true. */
  readonly needsApproval?:
    | boolean
    | ((state: ThreadState, args: ToolArguments<Schema>) => boolean | Promise<boolean>)
  /** Who may approve its calls, and until when. The rules of the worker and of the policy function count, too. */
  readonly approval?: ApprovalRule
  /**
   * Makes what a person is shown who is asked, beside the arguments. Nothing has happened by then, and writes to the thread are
   * dropped. If it throws, takes longer than 30 s or answers something else, the call is denied.
   */
  readonly preview?: (state: ThreadState, args: ToolArguments<Schema>) => Preview | Promise<Preview>
  /**
   * False: a failure is final. A destructive tool is never tried again.
   * @default three attempts after transient failures and for `rate_limit`, if it is `readOnly` or `idempotent`; else one
   */
  readonly retry?: ToolRetry | false
  readonly onError?: ToolErrorHandler<Schema>
  /**
   * Milliseconds until the call is aborted and the model gets an error; at most a day.
   * @default 300,000
   */
  readonly timeout?: number
  /**
   * True if a call that a crash interrupted may run again. Otherwise the model reads that its outcome is unknown.
   * @default false
   */
  readonly idempotent?: boolean
  /**
   * The task queue on which its code runs. A worker with this `taskQueue` has to run. A tool that another tool invokes in place
   * runs with that tool.
   * @default the thread's own
   */
  readonly taskQueue?: string
  /** Asks the provider to hold the model to the schema, where it can. @default as the provider does */
  readonly strict?: boolean
  /** Options of the tool by provider key of the AI SDK. */
  readonly providerOptions?: SharedV4ProviderOptions
  /** Set if its code is an activity of a worker in another language. @see defineRemoteTool */
  readonly remote?: RemoteActivity
  /** Set if its work is a workflow. @see defineWorkflowTool */
  readonly workflow?: ToolWorkflow
}

/** An activity of another worker, by its type, and the task queue that this worker polls. */
export interface RemoteActivity {
  readonly taskQueue: string
  readonly activity: string
}

/** The call for which a workflow is started. */
export interface WorkflowCall extends Pick<ToolCall, 'id' | 'idempotencyKey'> {
  readonly threadId: string
}

/** What a call needs of a tool that is a workflow. */
export interface ToolWorkflow extends Pick<StartedWorkflow, 'type' | 'timeout' | 'retry' | 'reuse'> {
  /** Undefined: the thread's own. */
  readonly taskQueue?: string
  readonly mode: WorkflowMode
  readonly interruptBehavior: 'cancel' | 'abandon'
  readonly input: (args: Readonly<Record<string, unknown>>, call: WorkflowCall) => readonly unknown[]
  readonly workflowId: (args: Readonly<Record<string, unknown>>, call: WorkflowCall) => string
  /** @throws ToolError for an output that does not have it */
  readonly select: (output: JsonValue) => JsonValue
}

/** Declares a tool; `registry()` checks it. */
export function defineTool<Schema extends ArgumentSchema | undefined = undefined>(
  definition: ToolDefinition<Schema>,
): ToolDefinition<Schema> {
  return definition
}

/** A tool whose code is an activity of a worker in another language; `examples/python-tool` has such a worker. */
interface RemoteToolDefinition<Schema extends ArgumentSchema | undefined = ArgumentSchema | undefined>
  extends
    RemoteActivity,
    Pick<
      ToolDefinition<Schema>,
      | 'description'
      | 'args'
      | 'variables'
      | 'needsApproval'
      | 'approval'
      | 'preview'
      | 'timeout'
      | 'idempotent'
    >,
    ActionTraits {}

/**
 * Declares a tool in another language. Checks, approval and hooks work as for any tool. Then the activity `activity` is
 * scheduled on `taskQueue` with ids only, and its worker gets the arguments and sends the result over HTTP. `timeout` begins
 * when a worker claims the call. It cannot be invoked inside another tool's call: use `queueTool`.
 */
export function defineRemoteTool<Schema extends ArgumentSchema | undefined = undefined>({
  taskQueue,
  activity,
  ...definition
}: RemoteToolDefinition<Schema>): ToolDefinition<Schema> {
  return {
    ...definition,
    remote: { taskQueue, activity },
    execute: () => ({
      status: 'error',
      error: `This tool runs in another process, on task queue "${taskQueue}", and cannot run inside a call: use queueTool.`,
      error_code: 'not_in_place',
    }),
  }
}
