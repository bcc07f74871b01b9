import { LIFECYCLE_TOOLS } from '../../definitions/lifecycle-tools.js'
import type { PlanContent, SubagentContent } from '../../definitions/plan-content.js'
import type { CallInput } from '../../protocol/activities.js'
import { EMPTY_ANSWER_TOOL } from '../call-model/answer-rows.js'
import { offeredTools } from '../call-model/offered-tools.js'
import type { ActivityDependencies } from '../dependencies.js'
import { enabledSubagents } from '../variables/enabled-subagents.js'
import { activePrompt } from './active-prompt.js'
import { failed } from './call-result.js'
import type { CallResult } from './call-result.js'

interface UnknownCall {
  readonly content: PlanContent
  readonly input: Pick<CallInput, 'threadId' | 'agent' | 'side' | 'promptPath'>
  /** As it was called. */
  readonly name: string
}

/** What a model reads about a name that it cannot call: why not, and what it may call instead. */
export async function unknownTool(
  dependencies: ActivityDependencies,
  { content, input, name }: UnknownCall,
): Promise<CallResult> {
  if (name === EMPTY_ANSWER_TOOL)
    return failed('Your last answer was empty. Answer with text, or call a tool.', 'empty_answer')
  const prompt = activePrompt(content, input)
  const { threadId, agent } = input
  const enabled = await enabledSubagents(dependencies, { threadId, agent, content }, prompt)
  const subagent = Object.hasOwn(prompt.subagents, name) ? prompt.subagents[name] : undefined
  if (subagent !== undefined) return uncalledSubagent(subagent, enabled.includes(subagent))
  const offered = offeredTools(prompt, enabled)
  if (offered.some((tool) => tool.name === name)) return unavailable(name)
  const names = offered.map((tool) => tool.name).join(', ')
  const known = names === '' ? 'There are no tools.' : `The tools are: ${names}.`
  return failed(`There is no tool "${name}". ${known}`, 'unknown_tool')
}

/** A resumable agent is reached by the lifecycle tools. */
function uncalledSubagent({ agent, resumable }: SubagentContent, isEnabled: boolean): CallResult {
  if (!isEnabled)
    return failed(`The agent "${agent}" is not enabled here, so it cannot be called.`, 'not_enabled')
  if (resumable === null) return unavailable(agent)
  const { create, message } = LIFECYCLE_TOOLS
  return failed(
    `"${agent}" is no tool: start an instance with ${create} and the agent "${agent}", or write with ${message} to one that is there.`,
    'unknown_tool',
  )
}

function unavailable(name: string): CallResult {
  return failed(`The tool "${name}" is not available at the moment.`, 'unknown_tool')
}
