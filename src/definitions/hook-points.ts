import type { HookPoint } from './hook.js'

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
