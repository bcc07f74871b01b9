/**
 * A tool that another tool calls in place: its writes are those of the caller, and nothing of it is in the transcript. What
 * would have to wait, for a person or for another thread, cannot be done in place.
 */
import { LIFECYCLE_TOOLS } from '../../definitions/lifecycle-tools.js'
import { namedTool } from '../../definitions/listed-tools.js'
import type { PlanContent } from '../../definitions/plan-content.js'
import { parseToolArguments } from '../../definitions/tool-arguments.js'
import type { ThreadState } from '../../definitions/thread-state.js'
import type { ToolDefinition, ToolResult } from '../../definitions/tool.js'
import type { Usage } from '../../protocol/activities.js'
import { idempotencyKeyOf } from '../../protocol/ids.js'
import { LIMITS } from '../../protocol/limits.js'
import type { Side } from '../../protocol/plan.js'
import type { ActivityDependencies } from '../dependencies.js'
import type { InvokedIn, InvokeTool } from '../thread-state/buffered-thread-state.js'
import { addUsage } from '../call-model/usage.js'
import { readThrown } from '../thrown.js'
import { bounded } from './bounded.js'
import { invokePrompt } from './invoke-prompt.js'
import { answerProblem, isPending } from './tool-answer.js'

/** Who calls tools in place: a tool call, a hook, an effect. */
export interface InvokingCall {
  readonly threadId: string
  /** Keys of services that deduplicate are made from it: the same in each attempt. */
  readonly id: string
  readonly side: Side
  /** Null where no worker has the agent. */
  readonly content: PlanContent | null
  /** Of the caller. */
  readonly signal: AbortSignal
}

export interface Invoker {
  /** What is wrong with the call is an error result, never a throw. */
  readonly invoke: InvokeTool
  /** Of the models that were asked; null: none was. */
  readonly usage: () => Usage | null
}

const LIFECYCLE: ReadonlySet<string> = new Set(Object.values(LIFECYCLE_TOOLS))

export function createInvoker(dependencies: ActivityDependencies, caller: InvokingCall): Invoker {
  let usage: Usage | null = null
  let made = 0

  async function invoke(name: string, args: unknown, place: InvokedIn, depth = 0): Promise<ToolResult> {
    const { state, redactor } = place
    if (LIFECYCLE.has(name))
      return error(
        `"${name}" starts or addresses an agent, which cannot be done inside a call: use queueTool.`,
        'not_in_place',
      )
    const named = namedTool(dependencies.registry, name)
    if (named === undefined) return error(`There is no tool "${name}".`, 'unknown_tool')
    // T5: those of a prompt are in a request to its model.
    const text = textOf(named.kind === 'prompt' ? redactor.redactJson(args) : args)
    if (text === null) return error('Expected the arguments as an object that is JSON.', 'invalid_arguments')
    switch (named.kind) {
      case 'function': {
        made += 1
        const id = `${caller.id}_i${made}`
        return invokeFunction(named.tool, { name, text, state, id, caller })
      }
      case 'prompt': {
        if (depth >= LIMITS.frameDepth) return error(`Prompts are called ${depth} deep here.`, 'too_deep')
        const answer = await invokePrompt(dependencies, {
          ...{ caller, state, prompt: named.prompt, text },
          callTool: (tool, toolArgs) => invoke(tool, toolArgs, place, depth + 1),
        })
        if (answer.usage !== null) usage = addUsage(usage, answer.usage)
        return answer.result
      }
      case 'hand_off':
      case 'subagent':
        return error(`"${name}" is an agent, which cannot run inside a call: use queueTool.`, 'not_in_place')
    }
  }

  return { invoke: (name, args, place) => invoke(name, args, place), usage: () => usage }
}

function textOf(args: unknown): string | null {
  try {
    return JSON.stringify(args ?? {}) ?? null
  } catch {
    return null
  }
}

interface Invocation {
  readonly name: string
  readonly text: string
  readonly state: ThreadState
  readonly id: string
  readonly caller: InvokingCall
}

async function invokeFunction(tool: ToolDefinition, invocation: Invocation): Promise<ToolResult> {
  const { name, text, state, id, caller } = invocation
  const parsed = parseToolArguments(tool, text)
  if (!parsed.ok) return error(parsed.problem, 'invalid_arguments')
  const { signal, threadId } = caller
  const timeout = tool.timeout ?? LIMITS.toolTimeout
  const call = { id, attempt: 1, idempotencyKey: idempotencyKeyOf(threadId, id) }
  // Its state is the caller's, whose signal stands for both; a late answer finds nobody.
  const abort = new AbortController()
  // The arguments were parsed by the tool's own schema.
  const args = parsed.args as never
  const work = async (): Promise<unknown> => {
    if (await asksFirst(tool, state, args)) return NEEDS_APPROVAL
    return tool.execute(state, args, call)
  }
  const ended = await bounded(work, { timeout, signal, abort })
  switch (ended.kind) {
    case 'answered':
      return resultOf(name, ended.value)
    case 'threw':
      return error(readThrown(ended.error).message)
    case 'timed_out':
      return error(`The tool "${name}" did not answer within ${timeout / 1000} seconds.`, 'timeout')
    case 'stopped':
      return error(`The tool "${name}" was stopped with the call that invoked it.`, 'interrupted')
  }
}

const NEEDS_APPROVAL = Symbol('needs approval')

/** Fails closed, as for a call of a model. */
async function asksFirst(
  { needsApproval = false }: ToolDefinition,
  state: ThreadState,
  args: never,
): Promise<boolean> {
  if (typeof needsApproval === 'boolean') return needsApproval
  try {
    return (await needsApproval(state, args)) !== false
  } catch {
    return true
  }
}

function resultOf(name: string, value: unknown): ToolResult {
  if (value === NEEDS_APPROVAL)
    return error(`"${name}" needs the approval of a person: use queueTool.`, 'approval_required')
  if (isPending(value))
    return error(`"${name}" is answered later, from outside: use queueTool.`, 'not_in_place')
  const problem = answerProblem(value)
  // What `answerProblem` found to be one: the boundary to the tool.
  return problem === null ? (value as ToolResult) : error(problem, 'invalid_result')
}

function error(reason: string, code?: string): ToolResult {
  return { status: 'error', error: reason, ...(code === undefined ? {} : { error_code: code }) }
}
