/**
 * One tool call, phases 5 and 6: a committed `started` row precedes the call, and the outcome is committed with
 * everything that the call did to its thread (T2, T9). A call that was started and has no outcome is `unknown`, unless
 * its tool is idempotent (T4). Nothing that a tool does fails the activity.
 */
import type { ExecuteToolAnswer, ExecuteToolInput } from '../../protocol/activities.js'
import { sideToolOf } from '../../protocol/plan.js'
import type { ToolDefinition } from '../../definitions/tool.js'
import { parseToolArguments } from '../../definitions/tool-arguments.js'
import { whileBeating } from '../beat.js'
import { EMPTY_ANSWER_TOOL } from '../call-model/answer-rows.js'
import type { ActivityDependencies } from '../dependencies.js'
import { keptPlan, promptOf, waitForDefinition } from '../plan-content.js'
import { beginCall } from './begin-call.js'
import { failed, unknown } from './call-result.js'
import type { CallResult } from './call-result.js'
import { commitResult } from './commit-result.js'
import { runTool } from './run-tool.js'

export async function executeTool(
  dependencies: ActivityDependencies,
  input: ExecuteToolInput,
): Promise<ExecuteToolAnswer> {
  return whileBeating(async (signal) => {
    const { store } = dependencies
    const content = await keptPlan(dependencies, input.plan)
    const planned = sideToolOf(content.plan, input.side, input.name)
    const tool = planned === undefined ? undefined : knownTool(dependencies, input.name)
    const begun = await beginCall(store, input, {
      operationId: input.callId,
      again: tool?.idempotent === true,
      opens: true,
    })
    if (begun.kind === 'answered') return begun.answer
    const { call } = begun
    if (begun.kind === 'cut_off') return commitResult(store, call, unknown())
    if (tool === undefined) {
      const offered = promptOf(content, input.side).tools
      return commitResult(store, call, missingTool(call.row.name, offered))
    }
    const parsed = parseToolArguments(tool, call.row.arguments)
    if (!parsed.ok) return commitResult(store, call, failed(parsed.problem, 'invalid_arguments'))
    const timeout = planned?.kind === 'function' ? planned.timeout : 0
    return runTool(dependencies, { call, tool, args: parsed.args, content, timeout, signal })
  })
}

/** A tool that the plan has and this worker lacks is waited for, as long as a rolling deploy takes. */
function knownTool({ registry }: ActivityDependencies, name: string): ToolDefinition | undefined {
  const tool = registry.tool(name)
  if (tool === undefined) waitForDefinition()
  return tool
}

/** A name that cannot be called, in words for the model. */
function missingTool(name: string, offered: readonly { readonly name: string }[]): CallResult {
  if (name === EMPTY_ANSWER_TOOL)
    return failed('Your last answer was empty. Answer with text, or call a tool.', 'empty_answer')
  if (offered.some((tool) => tool.name === name))
    return failed(`The tool "${name}" is not available at the moment.`, 'unknown_tool')
  const names = offered.map((tool) => tool.name).join(', ')
  const known = names === '' ? 'There are no tools.' : `The tools are: ${names}.`
  return failed(`There is no tool "${name}". ${known}`, 'unknown_tool')
}
