import type { HandoffContent } from '../../definitions/plan-content.js'
import { parseArguments } from '../../definitions/tool-arguments.js'
import type { ExecuteToolAnswer, ExecuteToolInput } from '../../protocol/activities.js'
import { findThread } from '../../store/threads.js'
import type { ToolCallRecord } from '../../store/tool-calls.js'
import { filesAt } from '../attachments.js'
import type { ActivityDependencies } from '../dependencies.js'
import type { HookBatch } from '../hooks/hook-batch.js'
import { waitForDefinition } from '../plan-content.js'
import { beginCall } from './begin-call.js'
import { failed, succeeded } from './call-result.js'
import type { CallResult } from './call-result.js'
import { commitResult } from './commit-result.js'
import { mappedPaths, mappedText } from './mapped-arguments.js'

/**
 * Another agent takes over the thread at the end of the step: the result says so, the message for it comes behind, and
 * the workflow is told. What cannot be done is an error result, and the agent goes on.
 */
export async function handOff(
  dependencies: ActivityDependencies,
  input: ExecuteToolInput,
  { binding, hooks }: { readonly binding: HandoffContent; readonly hooks: HookBatch },
): Promise<ExecuteToolAnswer> {
  const { store } = dependencies
  const { callId: operationId, response } = input
  // Nothing outside the store is done, so an attempt that was cut off is done again.
  const begun = await beginCall(store, input, { operationId, again: true, opens: true, response })
  if (begun.kind === 'answered') return begun.answer
  const { call } = begun
  const result = await handedOff(dependencies, { input, binding, row: call.row })
  const operations = [{ kind: 'hand_off', agent: binding.agent }] as const
  return commitResult(store, call, result, {
    hooks,
    ...(result.outcome === 'succeeded' ? { operations } : {}),
  })
}

interface Handoff {
  readonly input: ExecuteToolInput
  readonly binding: HandoffContent
  readonly row: ToolCallRecord
}

async function handedOff(
  { registry, store }: ActivityDependencies,
  { input, binding, row }: Handoff,
): Promise<CallResult> {
  const { threadId } = input
  if (input.handedOff)
    return failed('Another agent takes over already at the end of this step.', 'already_handed_off')
  const agent = registry.agent(binding.agent)
  if (agent === undefined) {
    waitForDefinition(`agent "${binding.agent}"`)
    return failed(`The agent "${binding.agent}" is not available at the moment.`, 'unknown_tool')
  }
  const thread = await store.read((db) => findThread(db, threadId))
  if (thread?.parent_thread_id != null && agent.type !== 'dual_ai')
    return failed(
      `This thread works for another one, and "${binding.agent}" talks to a person: it cannot take over.`,
      'handoff_refused',
    )
  const parsed = parseArguments(registry.prompt(agent.sideA.prompt)?.requiredSchema, row.arguments)
  if (!parsed.ok) return failed(parsed.problem, 'invalid_arguments')
  const paths = mappedPaths(parsed.args, binding.initAttachmentsProperty)
  if (typeof paths === 'string') return failed(paths, 'invalid_arguments')
  const attachments = await store.read((db) => filesAt(db, threadId, paths))
  if (typeof attachments === 'string') return failed(attachments, 'invalid_attachment')
  const text = mappedText(parsed.args, binding.initUserMessageProperty)
  const message = { role: 'user', content: text ?? '', attachments, side: null, prompt: null } as const
  const followedBy = text === null && attachments.length === 0 ? null : message
  return succeeded(`"${agent.title ?? agent.name}" takes over this conversation.`, { followedBy })
}
