/**
 * Calls of tools by name, in place, from code.
 * Owns: which tools may be called in place, and the run of a function in place.
 * Does not own: prompts in place (`in-place.ts`), and the state, which belongs to the caller.
 * The writes of a tool in place count as writes of its caller, and the transcript has nothing of the call. A tool that
 * waits for a person or for another thread cannot be called in place.
 */
import type { Registry } from '../../definitions/known-definitions.js'
import { LIFECYCLE_TOOLS } from '../../definitions/plan/lifecycle-tools.js'
import { findTool } from '../../definitions/plan/listed-tools.js'
import { parseObject, parseToolArguments } from '../../definitions/plan/tool-arguments.js'
import type { PromptDefinition } from '../../definitions/prompt.js'
import type { ThreadState } from '../../definitions/thread-state.js'
import type { ToolResult } from '../../definitions/tool-result.js'
import type { ToolDefinition } from '../../definitions/tool.js'
import { traitsOfStart } from '../../policy/action.js'
import type { ActionTraits } from '../../policy/action.js'
import { TOOL_ASKS } from '../../policy/judge.js'
import type { Opinion, PermissionDecision } from '../../policy/judge.js'
import type { ParseArguments } from '../hooks/deciding-hooks.js'
import { idempotencyKeyOf } from '../../protocol/ids.js'
import { LIMITS } from '../../protocol/limits.js'
import type { InvokedIn } from '../thread-state/buffered-state.js'
import { readThrown } from '../thrown.js'
import { runBounded } from './bounded.js'
import type { InPlaceLog } from './in-place-log.js'
import { answerProblem, isPending, toResult } from './tool-values.js'

/** The caller of tools in place. */
interface InPlace {
  readonly threadId: string
  /** Idempotency keys derive from it, so they are equal in each attempt. */
  readonly id: string
  /** The signal of the caller. */
  readonly signal: AbortSignal
}

interface NamedCalls {
  readonly registry: Registry
  readonly caller: InPlace
  readonly decide: DecideInPlace
  readonly log: InPlaceLog
  /** Runs a prompt in place; `text` is the JSON of the arguments. */
  readonly runPrompt: (
    prompt: PromptDefinition,
    text: string,
    place: InvokedIn,
    depth: number,
  ) => Promise<ToolResult>
}

/** A function or a prompt that is to be called in place. */
interface CallInPlace {
  readonly id: string
  readonly kind: 'tool' | 'prompt'
  readonly name: string
  readonly traits: ActionTraits
  readonly args: Record<string, unknown>
  /** Of a function: checks other arguments. Those of a prompt stay as they are. */
  readonly parse?: ParseArguments
  /** The tool's own check. */
  readonly check: (args: Record<string, unknown>) => Promise<Opinion | null>
}

/** Decides about a call in place, and with which arguments it goes on. Nobody can be asked: the call does not wait. */
type DecideInPlace = (
  call: CallInPlace,
) => Promise<PermissionDecision & { readonly args: Record<string, unknown> }>

/** Every problem of the call becomes an error result; the function never throws. */
type CallNamed = (
  name: string,
  args: unknown,
  place: InvokedIn,
  /** The number of prompts around the call. */
  depth?: number,
) => Promise<ToolResult>

const LIFECYCLE: ReadonlySet<string> = new Set(Object.values(LIFECYCLE_TOOLS))

/** Creates the function that looks up a name and runs its tool in place. */
export function createNamedCalls({ registry, caller, log, runPrompt, ...given }: NamedCalls): CallNamed {
  let made = 0
  const deciding =
    ({ redactor }: InvokedIn): DecideInPlace =>
    async (call) => {
      const { args, ...decision } = await given.decide(call)
      // T5: the record has no secrets.
      const shown = { given: redactor.redactJson(call.args), args: redactor.redactJson(args) }
      log.judge({ ...call, ...shown, decision })
      return { ...decision, args }
    }
  return async (name, args, place, depth = 0) => {
    const { state, redactor } = place
    if (LIFECYCLE.has(name))
      return errorResult(
        `"${name}" starts or addresses an agent, which cannot be done inside a call: use queueTool.`,
        'not_in_place',
      )
    const named = findTool(registry, name)
    if (named === undefined) return errorResult(`There is no tool "${name}".`, 'unknown_tool')
    // T5: the arguments of a prompt go to its model.
    const text = textOf(named.kind === 'prompt' ? redactor.redactJson(args) : args)
    if (text === null)
      return errorResult('Expected the arguments as an object that is JSON.', 'invalid_arguments')
    const decide = deciding(place)
    switch (named.kind) {
      case 'function': {
        made += 1
        const id = `${caller.id}_i${made}`
        const result = await invokeFunction(named.tool, { name, text, state, id, caller, decide })
        log.end(id, result)
        return result
      }
      case 'prompt': {
        made += 1
        const id = `${caller.id}_i${made}`
        const parsed = parseObject(text)
        const { decision } = await decide({
          ...{ id, kind: 'prompt', name, check: async () => null },
          ...{ traits: traitsOfStart(named.prompt.capabilities), args: parsed.ok ? parsed.args : {} },
        })
        const result =
          decision === 'allowed'
            ? await runPrompt(named.prompt, text, place, depth)
            : REFUSALS[decision](name)
        log.end(id, result)
        return result
      }
      case 'hand_off':
      case 'subagent':
        return errorResult(
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
  readonly decide: DecideInPlace
}

/** Who watches the calling tool knows nothing of this call. */
const NO_REPORTS = { progress: () => undefined, output: () => undefined }

async function invokeFunction(tool: ToolDefinition, invocation: Invocation): Promise<ToolResult> {
  const { name, text, state, id, caller, decide } = invocation
  const parsed = parseToolArguments(tool, text)
  if (!parsed.ok) return errorResult(parsed.problem, 'invalid_arguments')
  const { signal, threadId } = caller
  const timeout = tool.timeout ?? LIMITS.toolTimeout
  const call = { id, attempt: 1, idempotencyKey: idempotencyKeyOf(threadId, id), ...NO_REPORTS }
  // The signal of the caller's state serves both; nothing waits for an answer after the timeout.
  const abort = new AbortController()
  const work = async (): Promise<unknown> => {
    const { decision, args } = await decide({
      ...{ id, kind: 'tool', name, traits: tool, args: parsed.args },
      parse: (other) => parseToolArguments(tool, other),
      check: (judged) => opinionOf(tool, state, judged as never),
    })
    // Its caller has an answer by now, and reads that it was stopped or came too late.
    if (signal.aborted || abort.signal.aborted) return REFUSED.denied
    // The tool's own schema has parsed the arguments.
    return decision === 'allowed'
      ? toResult(await tool.execute(state, args as never, call))
      : REFUSED[decision]
  }
  const ended = await runBounded(work, { timeout, signal, abort })
  switch (ended.kind) {
    case 'answered':
      return resultOf(name, ended.value)
    case 'threw':
      return errorResult(readThrown(ended.error).message)
    case 'timed_out':
      return errorResult(`The tool "${name}" did not answer within ${timeout / 1000} seconds.`, 'timeout')
    case 'stopped':
      return errorResult(`The tool "${name}" was stopped with the call that invoked it.`, 'interrupted')
  }
}

const REFUSED = { asked: Symbol('needs approval'), denied: Symbol('not allowed') } as const

const REFUSALS = {
  asked: (name: string) =>
    errorResult(`"${name}" needs the approval of a person: use queueTool.`, 'approval_required'),
  denied: (name: string) => errorResult(`"${name}" is not allowed here.`, 'denied'),
} as const

/** What the tool's own check says. It fails closed, as for a call of a model. */
async function opinionOf(
  { needsApproval = false }: ToolDefinition,
  state: ThreadState,
  args: never,
): Promise<Opinion | null> {
  if (typeof needsApproval === 'boolean') return needsApproval ? TOOL_ASKS : null
  try {
    return (await needsApproval(state, args)) === false ? null : TOOL_ASKS
  } catch {
    return TOOL_ASKS
  }
}

function resultOf(name: string, value: unknown): ToolResult {
  if (value === REFUSED.asked) return REFUSALS.asked(name)
  if (value === REFUSED.denied) return REFUSALS.denied(name)
  if (isPending(value))
    return errorResult(`"${name}" is answered later, from outside: use queueTool.`, 'not_in_place')
  const problem = answerProblem(value)
  // `answerProblem` has validated it: this is the boundary to the tool.
  return problem === null ? (value as ToolResult) : errorResult(problem, 'invalid_result')
}

/** The error result of a call in place. */
export function errorResult(reason: string, code?: string): ToolResult {
  return { status: 'error', error: reason, ...(code === undefined ? {} : { error_code: code }) }
}
