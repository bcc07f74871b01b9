import { Context } from '@temporalio/activity'
import { toolPlan } from '../../definitions/build-plan.js'
import { namedTool } from '../../definitions/listed-tools.js'
import type { HandoffContent, PlanContent } from '../../definitions/plan-content.js'
import { registered } from '../../definitions/registered.js'
import type { ToolDefinition } from '../../definitions/tool.js'
import type { ExecuteToolInput } from '../../protocol/activities.js'
import { LIMITS } from '../../protocol/limits.js'
import { toolPlanOf } from '../../protocol/plan.js'
import type { ToolPlan } from '../../protocol/plan.js'
import type { ToolCallRecord } from '../../store/tool-calls.js'
import type { ActivityDependencies } from '../dependencies.js'
import { waitForDefinition } from '../plan-content.js'
import { activePrompt } from './active-prompt.js'
import { failed } from './call-result.js'
import type { CallResult } from './call-result.js'

/** What a called name stands for, and so what is done about it. */
export type CallSubject =
  | { readonly kind: 'function'; readonly tool: ToolDefinition; readonly timeout: number }
  | { readonly kind: 'hand_off'; readonly binding: HandoffContent }
  /** Not done here: the workflow makes a nested step of it, or a child, or asks on its task queue. */
  | { readonly kind: 'elsewhere'; readonly tool: ToolPlan }
  | { readonly kind: 'refused'; readonly result: CallResult }
  /** No name that may be called here. */
  | { readonly kind: 'unknown' }

type Asked = Pick<ExecuteToolInput, 'side' | 'promptPath' | 'queued' | 'depth' | 'moved'>

/**
 * What the active prompt lists under the name; for a tool that code has queued, also what the registry has under it.
 * A model's call of anything else is refused.
 * @throws `Definition.Missing` while a rolling deploy may still bring what this worker lacks
 */
export function callSubject(
  { registry }: ActivityDependencies,
  {
    content,
    input,
    row,
  }: { readonly content: PlanContent; readonly input: Asked; readonly row: ToolCallRecord },
): CallSubject {
  const { name } = row
  const prompt = activePrompt(content, input)
  const listed = toolPlanOf(content.plan, prompt.name, name)
  // One that stays is started by the lifecycle tools, whoever asks for it.
  const isResumable = Object.hasOwn(prompt.subagents, name) && prompt.subagents[name]?.resumable != null
  const named = listed === undefined && input.queued && !isResumable ? namedTool(registry, name) : undefined
  const planned = listed ?? (named === undefined ? undefined : toolPlan(named))
  if (planned === undefined) {
    if (input.queued && !isResumable) waitForDefinition(`tool "${name}"`)
    return { kind: 'unknown' }
  }
  switch (planned.kind) {
    case 'function': {
      if (isElsewhere(planned) && input.moved !== true) return { kind: 'elsewhere', tool: planned }
      const tool = registry.tool(name)
      if (tool !== undefined) return { kind: 'function', tool, timeout: planned.timeout }
      waitForDefinition(`tool "${name}"`)
      return { kind: 'unknown' }
    }
    case 'hand_off':
      return { kind: 'hand_off', binding: prompt.handoffs[name] ?? { agent: planned.agent } }
    case 'prompt':
      if (input.depth >= LIMITS.frameDepth) return refused(tooDeep(name))
      return Object.hasOwn(content.prompts, planned.prompt)
        ? { kind: 'elsewhere', tool: planned }
        : inPlace(registry, planned.prompt)
    case 'subagent':
    case 'subagent_create':
    case 'subagent_message':
      return { kind: 'elsewhere', tool: planned }
  }
}

/** The workflow cannot know where a name runs that its prompt does not list, or that was queued from outside a step. */
function isElsewhere({ taskQueue }: Extract<ToolPlan, { readonly kind: 'function' }>): boolean {
  return taskQueue !== undefined && taskQueue !== Context.current().info.taskQueue
}

/** A prompt that no prompt of the plan reaches: only code can have asked for it, so it runs as code does. */
function inPlace(registry: ActivityDependencies['registry'], name: string): CallSubject {
  const { toolDescription: description, requiredSchema } = registered(
    registry.prompt(name),
    `prompt '${name}'`,
  )
  const tool: ToolDefinition = {
    description,
    ...(requiredSchema === undefined ? {} : { args: requiredSchema }),
    execute: (state, args) => state.invokeTool(name, args),
  }
  return { kind: 'function', tool, timeout: LIMITS.toolTimeout }
}

function refused(result: CallResult): CallSubject {
  return { kind: 'refused', result }
}

function tooDeep(name: string): CallResult {
  return failed(
    `"${name}" was called ${LIMITS.frameDepth} prompts deep, the deepest they may be: answer without it.`,
    'too_deep',
  )
}
