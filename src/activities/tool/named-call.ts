/**
 * A tool that code calls in place, by its name: its writes are those of the caller, and nothing of it is in the transcript.
 * What would have to wait, for a person or for another thread, cannot be done in place.
 */
import type { Registry } from '../../definitions/known-definitions.js'
import { LIFECYCLE_TOOLS } from '../../definitions/plan/lifecycle-tools.js'
import { namedTool } from '../../definitions/plan/listed-tools.js'
import { parseToolArguments } from '../../definitions/plan/tool-arguments.js'
import type { PromptDefinition } from '../../definitions/prompt.js'
import type { ThreadState } from '../../definitions/thread-state.js'
import type { ToolResult } from '../../definitions/tool-result.js'
import type { ToolDefinition } from '../../definitions/tool.js'
import { idempotencyKeyOf } from '../../protocol/ids.js'
import { LIMITS } from '../../protocol/limits.js'
import type { InvokedIn } from '../thread-state/buffered-state.js'
import { readThrown } from '../thrown.js'
import { bounded } from './bounded.js'
import { answerProblem, isPending } from './tool-values.js'

/** Who calls tools in place. */
export interface InPlace {
  readonly threadId: string
  /** Keys of services that deduplicate are made from it: the same in each attempt. */
  readonly id: string
  /** Of the caller. */
  readonly signal: AbortSignal
}

interface NamedCalls {
  readonly registry: Registry
  readonly caller: InPlace
  /** One step of its model. `text`: the arguments, as JSON. */
  readonly runPrompt: (
    prompt: PromptDefinition,
    text: string,
    place: InvokedIn,
    depth: number,
  ) => Promise<ToolResult>
}

/** What is wrong with the call is an error result, never a throw. */
type CallNamed = (
  name: string,
  args: unknown,
  place: InvokedIn,
  /** Prompts around it. */
  depth?: number,
) => Promise<ToolResult>

const LIFECYCLE: ReadonlySet<string> = new Set(Object.values(LIFECYCLE_TOOLS))

/** Finds what a name stands for, and runs it where it can be run in place. */
export function createNamedCalls({ registry, caller, runPrompt }: NamedCalls): CallNamed {
  let made = 0
  return async (name, args, place, depth = 0) => {
    const { state, redactor } = place
    if (LIFECYCLE.has(name))
      return refused(
        `"${name}" starts or addresses an agent, which cannot be done inside a call: use queueTool.`,
        'not_in_place',
      )
    const named = namedTool(registry, name)
    if (named === undefined) return refused(`There is no tool "${name}".`, 'unknown_tool')
    // T5: those of a prompt are in a request to its model.
    const text = textOf(named.kind === 'prompt' ? redactor.redactJson(args) : args)
    if (text === null)
      return refused('Expected the arguments as an object that is JSON.', 'invalid_arguments')
    switch (named.kind) {
      case 'function': {
        made += 1
        return invokeFunction(named.tool, { name, text, state, id: `${caller.id}_i${made}`, caller })
      }
      case 'prompt':
        return runPrompt(named.prompt, text, place, depth)
      case 'hand_off':
      case 'subagent':
        return refused(
          `"${name}" is an agent, which cannot run inside a call: use queueTool.`,
          'not_in_place',
        )
    }
  }
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
  readonly caller: InPlace
}

async function invokeFunction(tool: ToolDefinition, invocation: Invocation): Promise<ToolResult> {
  const { name, text, state, id, caller } = invocation
  const parsed = parseToolArguments(tool, text)
  if (!parsed.ok) return refused(parsed.problem, 'invalid_arguments')
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
      return refused(readThrown(ended.error).message)
    case 'timed_out':
      return refused(`The tool "${name}" did not answer within ${timeout / 1000} seconds.`, 'timeout')
    case 'stopped':
      return refused(`The tool "${name}" was stopped with the call that invoked it.`, 'interrupted')
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
    return refused(`"${name}" needs the approval of a person: use queueTool.`, 'approval_required')
  if (isPending(value))
    return refused(`"${name}" is answered later, from outside: use queueTool.`, 'not_in_place')
  const problem = answerProblem(value)
  // What `answerProblem` found to be one: the boundary to the tool.
  return problem === null ? (value as ToolResult) : refused(problem, 'invalid_result')
}

/** What is wrong with a call in place: a result, never a throw. */
export function refused(reason: string, code?: string): ToolResult {
  return { status: 'error', error: reason, ...(code === undefined ? {} : { error_code: code }) }
}
