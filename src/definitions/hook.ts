import type { LanguageModelV4Message } from '@ai-sdk/provider'
import type { Message } from '../protocol/message.js'
import type { MessageUpdates, ThreadState } from './thread-state.js'
import type { ToolResult } from './tool-result.js'

/** A tool call for hooks; `arguments` is the JSON that the model wrote. */
export interface HookedCall {
  readonly id: string
  readonly name: string
  readonly arguments: string
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
  before_create_message: (state: ThreadState, message: Message) => Kept<Message>
  after_create_message: (state: ThreadState, message: Message) => Given<void>
  before_update_message: (
    state: ThreadState,
    messageId: string,
    updates: MessageUpdates,
  ) => Kept<MessageUpdates>
  after_update_message: (state: ThreadState, message: Message) => Given<void>
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
   * Milliseconds until the hook is abandoned and the value before it is kept.
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
  before_create_message: true,
  after_create_message: true,
  before_update_message: true,
  after_update_message: true,
  before_store_tool_result: true,
  after_tool_call_success: true,
  after_tool_call_failure: true,
}

/** The names of all hook points. */
export const HOOK_POINTS = Object.keys(POINTS) as readonly HookPoint[]
