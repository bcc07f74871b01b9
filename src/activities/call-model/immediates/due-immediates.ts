import type { SubagentContent } from '../../../definitions/plan-content.js'
import { nestedCallIdOf } from '../../../protocol/ids.js'
import { countOpenInstances } from '../../../store/open-instances.js'
import type { ActivityDependencies } from '../../dependencies.js'
import { enabledSubagents } from '../../variables/enabled-subagents.js'
import { missingVariables } from '../../variables/missing-variables.js'
import type { Activation, Immediate } from './activation.js'

/**
 * The subagents that start now, in the order of the prompt: those that are enabled, and of which there are not as many as
 * there may be. None while the prompt itself cannot run: it becomes active when it has its variables.
 */
export async function dueImmediates(
  dependencies: ActivityDependencies,
  { input, content, prompt }: Activation,
): Promise<readonly Immediate[]> {
  if (!Object.values(prompt.subagents).some(({ immediate }) => immediate !== null)) return []
  const { threadId, agent, frame } = input
  const scope = { threadId, agent, content }
  const { missing } = await missingVariables(dependencies, { ...scope, prompt: prompt.name })
  if (missing.length > 0) return []
  const enabled = await enabledSubagents(dependencies, scope, prompt)
  const due: SubagentContent[] = []
  for (const subagent of enabled)
    if (subagent.immediate !== null && (await hasRoom(dependencies, threadId, subagent))) due.push(subagent)
  return due.map((subagent, index) => ({ callId: nestedCallIdOf(frame.callId, index), subagent }))
}

async function hasRoom(
  { store }: ActivityDependencies,
  parentThreadId: string,
  { agent, resumable }: SubagentContent,
): Promise<boolean> {
  const most = resumable?.maxInstances ?? null
  if (most === null) return true
  return (await store.read((db) => countOpenInstances(db, { parentThreadId, agent }))) < most
}
