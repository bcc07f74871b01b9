import type { PlanContent, PromptContent } from '../../definitions/plan-content.js'
import { promptContent } from '../../definitions/prompt-content.js'
import type { PromptDefinition } from '../../definitions/prompt.js'
import type { ThreadState } from '../../definitions/thread-state.js'
import { parseArguments } from '../../definitions/tool-arguments.js'
import type { ToolResult } from '../../definitions/tool.js'
import type { ModelToolCall } from '../../model/model-answer.js'
import type { Usage } from '../../protocol/activities.js'
import { LIMITS } from '../../protocol/limits.js'
import { CUT_OFF } from '../../protocol/message.js'
import { fileName } from '../call-model/answer-files.js'
import { frameReport } from '../complete-call/frame-report.js'
import type { NestedCall } from '../complete-call/frame-report.js'
import type { ActivityDependencies } from '../dependencies.js'
import { askInPlace } from './ask-in-place.js'
import type { InvokingCall } from './invoke-tool.js'
import { filesOf, wordsOf } from './tool-answer.js'

interface PromptInvocation {
  readonly caller: InvokingCall
  readonly state: ThreadState
  readonly prompt: PromptDefinition
  /** The arguments, as JSON. */
  readonly text: string
  readonly callTool: (name: string, args: unknown) => Promise<ToolResult>
}

interface PromptAnswer {
  readonly result: ToolResult
  readonly usage: Usage | null
}

/** A prompt tool in place: one step of its model, then the tools of that step, in place too. Nothing of it is stored. */
export async function invokePrompt(
  dependencies: ActivityDependencies,
  invocation: PromptInvocation,
): Promise<PromptAnswer> {
  const { prompt, text, caller, state } = invocation
  const parsed = parseArguments(prompt.requiredSchema, text)
  if (!parsed.ok) return nothing(parsed.problem, 'invalid_arguments')
  const content = contentOf(dependencies, invocation)
  if (content === null) return nothing(`The agent "${state.agentId}" is not available at the moment.`)
  const asked = { caller, state, prompt: content, args: parsed.args }
  const reply = await askInPlace(dependencies, asked)
  if (reply.kind === 'failed') return nothing(reply.problem, 'model_failed')
  const { answer, usage } = reply
  const calls: { readonly nested: NestedCall; readonly files: ReturnType<typeof filesOf> }[] = []
  for (const call of answer.toolCalls.slice(0, LIMITS.toolCallsPerAnswer)) {
    const result = await callListed(content, call, invocation)
    calls.push({ nested: nestedCall(call, result), files: filesOf(result) })
  }
  const made = answer.files.map(({ mimeType, data }) => ({ name: fileName(mimeType), mimeType, data }))
  const files = [...made, ...calls.flatMap((call) => call.files)]
  const nested = calls.map((call) => call.nested)
  const shown = { includeTextResponse: true, includeToolCalls: true, includeErrors: true }
  const report = frameReport(shown, {
    ...{ text: answer.text, isCut: answer.finishReason === CUT_OFF, attachments: [], calls: nested },
    hasNewFiles: files.length > 0,
  })
  const attachments = files.length === 0 ? {} : { attachments: files }
  if (report.outcome === 'succeeded')
    return { result: { status: 'success', result: report.content, ...attachments }, usage }
  const error = report.content.replace(/^Error: /, '')
  return { result: { status: 'error', error, ...attachments }, usage }
}

/** As the run's plan has it; one that no prompt of the plan reaches, as the registry has it. */
function contentOf(
  { registry }: ActivityDependencies,
  { prompt, caller, state }: PromptInvocation,
): (PromptContent & { readonly name: string }) | null {
  const { name } = prompt
  const prompts: PlanContent['prompts'] = caller.content?.prompts ?? {}
  const known = Object.hasOwn(prompts, name) ? prompts[name] : undefined
  if (known !== undefined) return { ...known, name }
  const agent = registry.agent(state.agentId)
  return agent === undefined ? null : { ...promptContent(registry, prompt, agent), name }
}

/** A model calls what its prompt lists, here as anywhere. */
async function callListed(
  { tools }: PromptContent,
  { name, input }: ModelToolCall,
  { callTool }: PromptInvocation,
): Promise<ToolResult> {
  if (!tools.some((tool) => tool.name === name))
    return { status: 'error', error: `There is no tool "${name}".`, error_code: 'unknown_tool' }
  try {
    return await callTool(name, input.trim() === '' ? {} : JSON.parse(input))
  } catch {
    return { status: 'error', error: 'The arguments are broken JSON.', error_code: 'invalid_arguments' }
  }
}

function nestedCall({ name, input }: ModelToolCall, result: ToolResult): NestedCall {
  return {
    name,
    args: input,
    succeeded: result.status === 'success',
    content: wordsOf(result),
    attachments: [],
  }
}

function nothing(error: string, code?: string): PromptAnswer {
  return {
    result: { status: 'error', error, ...(code === undefined ? {} : { error_code: code }) },
    usage: null,
  }
}
