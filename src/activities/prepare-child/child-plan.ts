import type { AgentDefinition } from '../../definitions/agent.js'
import type { SubagentContent } from '../../definitions/plan-content.js'
import { parseArguments } from '../../definitions/tool-arguments.js'
import type { PrepareChildInput } from '../../protocol/activities.js'
import { LIMITS } from '../../protocol/limits.js'
import { findThread } from '../../store/threads.js'
import { missingFile } from '../attachments.js'
import type { ActivityDependencies } from '../dependencies.js'
import type { HeldCall } from '../execute-tool/begin-call.js'
import { failed } from '../execute-tool/call-result.js'
import type { CallResult } from '../execute-tool/call-result.js'
import { mappedPaths, mappedText } from '../execute-tool/mapped-arguments.js'
import { waitForDefinition } from '../plan-content.js'

/** What a child begins with, or why the call cannot be done, in words for the model. */
export type ChildPlan =
  | { readonly kind: 'refused'; readonly result: CallResult }
  | {
      readonly kind: 'child'
      readonly binding: SubagentContent
      readonly agent: AgentDefinition
      /** The instance's own name. */
      readonly name: string
      readonly message: string
      /** Files of the parent that the child gets. */
      readonly paths: readonly string[]
      readonly depth: number
    }

interface Request {
  readonly binding: SubagentContent
  readonly input: PrepareChildInput
}

export async function childPlan(
  { registry, store }: ActivityDependencies,
  call: HeldCall,
  { binding, input: { children, owed } }: Request,
): Promise<ChildPlan> {
  const { threadId } = call.input
  const agent = registry.agent(binding.agent)
  if (agent === undefined) {
    waitForDefinition()
    return refused(`The agent "${binding.agent}" is not available at the moment.`, 'unknown_tool')
  }
  if (children >= LIMITS.childrenInAll)
    return refused(`This thread has started ${children} subagents, the most it may.`)
  if (owed >= LIMITS.openChildren)
    return refused(`${owed} subagents of this thread have not answered yet. Wait for one of them.`)
  const depth = ((await store.read((db) => findThread(db, threadId)))?.depth ?? 0) + 1
  if (depth >= LIMITS.childDepth)
    return refused(`Subagents are nested ${depth} deep here, the deepest they may be.`)
  const parsed = parseArguments(registry.prompt(agent.sideA.prompt)?.requiredSchema, call.row.arguments)
  if (!parsed.ok) return refused(parsed.problem, 'invalid_arguments')
  const { args } = parsed
  const paths = mappedPaths(args, binding.initAttachmentsProperty)
  if (typeof paths === 'string') return refused(paths, 'invalid_arguments')
  const missing = await store.read((db) => missingFile(db, threadId, paths))
  if (missing !== null) return refused(missing, 'invalid_attachment')
  const name = mappedText(args, binding.initAgentNameProperty) ?? agent.title ?? agent.name
  const message = mappedText(args, binding.initUserMessageProperty) ?? JSON.stringify(args)
  return { kind: 'child', binding, agent, name: name.slice(0, LIMITS.nameLength), message, paths, depth }
}

function refused(reason: string, errorCode: string | null = null): ChildPlan {
  return { kind: 'refused', result: failed(reason, errorCode) }
}
