import type { LanguageModelV4Message } from '@ai-sdk/provider'
import type { Action } from '../policy/action.js'
import type { PermissionDecision, PermissionMode } from '../policy/judge.js'
import type { Effect } from '../policy/permissions.js'
import type { Message } from '../protocol/message.js'
import type { MessageUpdates, ThreadState } from './thread-state.js'
import type { ToolResult } from './tool-result.js'

/** A tool call for hooks; `arguments` is the JSON that the model wrote, or what a hook or a person gave in its place. */
export interface HookedCall {
  readonly id: string
  readonly name: string
  readonly arguments: string
}

/** A call that would begin, for the hooks that decide about it. It holds no secret, and refers to what it does not hold. */
export interface JudgedCall extends Action {
  readonly threadId: string
  readonly agent: string
  readonly run: number
  readonly step: number
  /** The message of the transcript that holds the call, whose `model.requested` says how its model was chosen; null: the call has none. */
  readonly messageId: string | null
  /** The prompt whose hook this is, and the model of that prompt; null: no worker has its agent. */
  readonly prompt: string | null
  readonly model: string | null
  /** Of the thread, else of the worker. */
  readonly mode: PermissionMode
  /** False: nobody can be asked in this thread. */
  readonly interactive: boolean
  /** The rules of all sources that apply to the call, each as `source:rule`. */
  readonly rules: readonly string[]
  /** Tools run in the worker: there is none. */
  readonly sandbox: 'unavailable'
  /** Tools run in the worker: a call has no folder of its own. */
  readonly workspace: 'unavailable'
}

/** What a hook says about a call. Without an effect it has no opinion. */
export interface HookOpinion {
  /** It can make the effect of rules, tool and policy stricter, and never weaker. */
  readonly effect?: Effect
  /** Stands in the record; the model reads it if the call is denied. */
  readonly reason?: string
  /**
   * All arguments with which the call of a tool goes on, in the place of those that the hook was given. They have to fit the schema of the
   * tool, and are judged as if the model had written them. Once a person has approved the call they must stay as they are.
   */
  readonly arguments?: Readonly<Record<string, unknown>>
}

/** The answer of a hook in the place of a person. */
export interface HookAnswer {
  readonly effect: 'allow' | 'deny'
  /** Stands in the record; the model reads it if the call is denied. */
  readonly reason?: string
}

/** Why a person is to be asked. */
export type AskedBecause = Pick<PermissionDecision, 'source' | 'reason' | 'rules'>

/** The end of a run that would come by itself. */
export interface RunEnding {
  readonly run: number
  readonly step: number
  /** Which condition is met: the model has answered without a call, or the stop tool has. */
  readonly reason: 'stop_on_response' | 'stop_tool'
  /** What was said last: the answer, or the words of the stop tool; null if it has none. */
  readonly text: string | null
}

/** The refusal of a run's end. */
export interface RunContinuation {
  /** The model reads this text as a message, and the run goes on. */
  readonly continue: string
}

type Given<T> = T | Promise<T>
type Kept<T> = Given<T | null | undefined | void>

/** The hook points, with their arguments after the state and their results; without a result the value stays as it is. */
export interface HookPoints {
  after_thread_created: (state: ThreadState) => Given<void>
  after_subagent_created: (state: ThreadState, child: ThreadState) => Given<void>
  after_system_message: (state: ThreadState, systemText: string) => Kept<string>
  filter_messages: (state: ThreadState, messages: readonly Message[]) => Kept<readonly Message[]>
  /** If it throws an error with `block: true`, the run ends with the error's text as a visible message and calls no model. */
  prefilter_llm_history: (
    state: ThreadState,
    messages: readonly LanguageModelV4Message[],
  ) => Kept<readonly LanguageModelV4Message[]>
  /** Before messages leave the context with a summary: its result says what the summary must keep, at most 2,000 characters. */
  before_compaction: (state: ThreadState, messages: readonly Message[]) => Kept<string>
  /** May change the summary, or write one where a model has written none (null): at most 16 KB. What it writes to the thread is stored with the answer. */
  after_compaction: (state: ThreadState, summary: string | null) => Kept<string>
  before_create_message: (state: ThreadState, message: Message) => Kept<Message>
  after_create_message: (state: ThreadState, message: Message) => Given<void>
  before_update_message: (
    state: ThreadState,
    messageId: string,
    updates: MessageUpdates,
  ) => Kept<MessageUpdates>
  after_update_message: (state: ThreadState, message: Message) => Given<void>
  /**
   * Decides, beside rules and policy, whether a call of a tool, an agent or a prompt may begin, and may change the arguments of a
   * tool. It reads the state and changes nothing but by `emit`. If it throws, takes too long or answers something else, the call is denied.
   */
  before_tool_call: (state: ThreadState, call: JudgedCall) => Kept<HookOpinion>
  /**
   * Answers in the place of a person who would be asked; without an answer the person is asked. It reads the state as
   * `before_tool_call` does, and its failure denies, too.
   */
  before_permission_request: (state: ThreadState, call: JudgedCall, because: AskedBecause) => Kept<HookAnswer>
  /**
   * May refuse that a run with a person ends by itself, at most three times in a run. Limits, stops and failures end it all the same. It
   * reads the state as `before_tool_call` does. If it fails, the run ends.
   */
  before_run_end: (state: ThreadState, end: RunEnding) => Kept<RunContinuation>
  before_store_tool_result: (state: ThreadState, call: HookedCall, result: ToolResult) => Kept<ToolResult>
  /** `null` erases the call and its result from the transcript. */
  after_tool_call_success: (
    state: ThreadState,
    call: HookedCall,
    result: ToolResult,
  ) => Given<ToolResult | null | undefined | void>
  /** Like `after_tool_call_success`; it may turn the failure into a success. */
  after_tool_call_failure: (
    state: ThreadState,
    call: HookedCall,
    result: ToolResult,
  ) => Given<ToolResult | null | undefined | void>
}

/** The name of a hook point. */
export type HookPoint = keyof HookPoints

/** User code at one point of a thread's work. It runs where a prompt lists its id, or the agent, if its prompt lists none. */
export interface HookDefinition<Point extends HookPoint = HookPoint, Id extends string = string> {
  readonly hook: Point
  /** Unique among hooks. */
  readonly id: Id
  readonly execute: HookPoints[Point]
  /**
   * Milliseconds until the hook is abandoned and the value before it is kept; a hook that decides about a call then denies it.
   * @default 30,000
   */
  readonly timeout?: number
}

/** A hook of any point. */
export type AnyHook = { readonly [Point in HookPoint]: HookDefinition<Point> }[HookPoint]

/** Declares a hook; `registry()` checks it. */
export function defineHook<const Point extends HookPoint, const Id extends string>(
  definition: HookDefinition<Point, Id>,
): HookDefinition<Point, Id> {
  return definition
}

const POINTS: Readonly<Record<HookPoint, true>> = {
  after_thread_created: true,
  after_subagent_created: true,
  after_system_message: true,
  filter_messages: true,
  prefilter_llm_history: true,
  before_compaction: true,
  after_compaction: true,
  before_create_message: true,
  after_create_message: true,
  before_update_message: true,
  after_update_message: true,
  before_tool_call: true,
  before_permission_request: true,
  before_run_end: true,
  before_store_tool_result: true,
  after_tool_call_success: true,
  after_tool_call_failure: true,
}

/** The names of all hook points. */
export const HOOK_POINTS = Object.keys(POINTS) as readonly HookPoint[]

/** The points whose hooks decide about a call, in the order in which they run: a hook that fails there denies. */
export const CALL_POINTS = ['before_tool_call', 'before_permission_request'] as const

/** The points whose hooks decide: their code reads the state only, and each of their runs has its facts. */
export const DECIDING_POINTS = [...CALL_POINTS, 'before_run_end'] as const

export type CallPoint = (typeof CALL_POINTS)[number]
export type DecidingPoint = (typeof DECIDING_POINTS)[number]
