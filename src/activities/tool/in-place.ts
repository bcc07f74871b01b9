import { randomUUID } from 'node:crypto'
import type { ModelDefinition } from '../../definitions/model.js'
import type { PlanContent, PromptContent } from '../../definitions/plan/plan-content.js'
import { promptContent } from '../../definitions/plan/prompt-content.js'
import { parseArguments } from '../../definitions/plan/tool-arguments.js'
import { definedPrices } from '../../definitions/prices/defined-prices.js'
import type { PromptDefinition } from '../../definitions/prompt.js'
import type { ThreadState } from '../../definitions/thread-state.js'
import type { ToolResult } from '../../definitions/tool-result.js'
import { callWithRetries } from '../../model/call-model.js'
import { classifyModelError } from '../../model/classify-model-error.js'
import { assemblePrompt } from '../../model/context/assemble-prompt.js'
import { toolConfiguration } from '../../model/context/provider-options.js'
import { BLANK_ROW } from '../../model/context/transcript-row.js'
import type { TranscriptRow } from '../../model/context/transcript-row.js'
import type { ModelAnswer, ModelToolCall } from '../../model/model-answer.js'
import { ModelAbortedError } from '../../model/model-error.js'
import type { ModelRequest } from '../../model/stream-answer.js'
import type { StoredPermissions } from '../../policy/judge.js'
import { LIMITS } from '../../protocol/limits.js'
import { CUT_OFF } from '../../protocol/message.js'
import type { Side } from '../../protocol/plan.js'
import { nowMicros } from '../../protocol/time.js'
import { haveBudgets } from '../../store/budgets/subjects.js'
import type { StoredBudgets } from '../../store/budgets/subjects.js'
import { recordError } from '../../store/errors.js'
import type { Store } from '../../store/store.js'
import { errorTypeOf } from '../../telemetry/spans.js'
import { watchModel } from '../../telemetry/watch-model.js'
import type { ModelCaller } from '../../telemetry/watch-model.js'
import type { ActivityDependencies } from '../activity.js'
import { fileName } from '../attachments.js'
import type { HookBatch } from '../hooks/hook-batch.js'
import type { InvokeTool } from '../thread-state/buffered-state.js'
import { failureMessage, providerText } from '../turn/answer-facts.js'
import type { FailedModel } from '../turn/answer-facts.js'
import { exceededText } from '../../policy/budget-text.js'
import { textTokens } from '../../model/context/row-tokens.js'
import { stepScope } from '../scope.js'
import { addUsed, chargeBeside } from '../budget/charge.js'
import { idHeaders, modelNames, requireModel, withinRequest } from '../turn/candidates.js'
import { pricesOf, RequestLog } from '../turn/request-log.js'
import type { RequestRecord } from '../turn/request-log.js'
import { withOfferedTools, withVariables } from '../variables/resolved-prompt.js'
import { reasonOf } from './call-result.js'
import { frameReport } from './frame-report.js'
import type { NestedCall } from './frame-report.js'
import type { InPlaceLog } from './in-place-log.js'
import { createNamedCalls, errorResult } from './named-call.js'
import { judgeInPlace } from './permit.js'
import { filesOf, resultText } from './tool-values.js'

type NamedCaller = Parameters<typeof createNamedCalls>[0]['caller']

/** The tool call whose code calls tools in place. */
interface InvokingCall extends NamedCaller {
  readonly side: Side
  /** Null: no worker has the agent. */
  readonly content: PlanContent | null
  readonly agent: string
  readonly run: number
  readonly step: number
  /** As the call found them. */
  readonly permissions: StoredPermissions
  /** As the call found them. */
  readonly budgets: StoredBudgets
  /** The hooks of the calling prompt. */
  readonly hooks: HookBatch
  readonly log: InPlaceLog
}

interface Invoker {
  /** Every problem of the call becomes an error result; the function never throws. */
  readonly invoke: InvokeTool
  /** The requests to models so far. */
  readonly requests: () => readonly RequestRecord[]
}

/** Creates the function with which the code of a call runs functions and prompts in place. */
export function createInvoker(dependencies: ActivityDependencies, caller: InvokingCall): Invoker {
  const logs: RequestLog[] = []
  const call = createNamedCalls({
    registry: dependencies.registry,
    ...{ caller, log: caller.log },
    decide({ id: callId, ...asked }) {
      const { threadId, run, step, side, agent, content, permissions, signal, hooks } = caller
      const input = { threadId, callId, run, step, side, agent }
      const place = { content, signal, permissions, hooks }
      return judgeInPlace(dependencies, { input, ...place, ...asked })
    },
    async runPrompt(prompt, text, place, depth) {
      if (depth >= LIMITS.frameDepth) return errorResult(`Prompts are called ${depth} deep here.`, 'too_deep')
      // One for each: prompts may run at the same time.
      const log = new RequestLog({ plan: caller.content?.plan.digest ?? '' })
      logs.push(log)
      return invokePrompt(dependencies, {
        ...{ caller, state: place.state, prompt, text, log },
        callTool: (tool, args) => call(tool, args, place, depth + 1),
      })
    },
  })
  return {
    invoke: (name, args, place) => call(name, args, place),
    requests: () => logs.flatMap(({ requests }) => requests),
  }
}

interface PromptInvocation {
  readonly caller: InvokingCall
  readonly state: ThreadState
  readonly prompt: PromptDefinition
  /** The arguments, as JSON. */
  readonly text: string
  readonly callTool: (name: string, args: unknown) => Promise<ToolResult>
  readonly log: RequestLog
}

/** Runs a prompt tool in place: one step of its model, then the tools of that step. Nothing of the run is stored. */
async function invokePrompt(
  dependencies: ActivityDependencies,
  invocation: PromptInvocation,
): Promise<ToolResult> {
  const { prompt, text, caller, state, log } = invocation
  const parsed = parseArguments(prompt.requiredSchema, text)
  if (!parsed.ok) return errorResult(parsed.problem, 'invalid_arguments')
  const content = contentOf(dependencies, invocation)
  if (content === null) return errorResult(`The agent "${state.agentId}" is not available at the moment.`)
  const asked = { caller, state, prompt: content, args: parsed.args, log }
  const reply = await askInPlace(dependencies, asked)
  if (reply.kind === 'failed') return errorResult(reply.problem, 'model_failed')
  const { answer } = reply
  const calls: { readonly nested: NestedCall; readonly files: ReturnType<typeof filesOf> }[] = []
  for (const call of answer.toolCalls.slice(0, LIMITS.toolCallsPerAnswer)) {
    const result = await callListed(content, call, invocation)
    calls.push({ nested: toNestedCall(call, result), files: filesOf(result) })
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
  if (report.outcome === 'succeeded') return { status: 'success', result: report.content, ...attachments }
  return { status: 'error', error: reasonOf(report.content), ...attachments }
}

/** The prompt of the run's plan, else that of the registry. */
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

/** Calls a tool for a model, which may call only the tools that its prompt lists. */
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

function toNestedCall({ name, input }: ModelToolCall, result: ToolResult): NestedCall {
  return {
    name,
    args: input,
    succeeded: result.status === 'success',
    content: resultText(result),
    attachments: [],
  }
}

interface AskedInPlace {
  readonly caller: InvokingCall
  readonly state: ThreadState
  readonly prompt: PromptContent & { readonly name: string }
  readonly args: Record<string, unknown>
  readonly log: RequestLog
}

type Reply =
  | { readonly kind: 'answered'; readonly answer: ModelAnswer }
  | { readonly kind: 'failed'; readonly problem: string }

/** Calls the prompt's model, then its fallbacks. The answer is neither streamed nor stored. */
async function askInPlace(dependencies: ActivityDependencies, asked: AskedInPlace): Promise<Reply> {
  const { registry, prices = definedPrices } = dependencies
  const { log } = asked
  const first = registry.model(asked.prompt.model)
  const candidates = [first, ...(first?.fallbacks ?? []).map((name) => registry.model(name))]
  const options = await requestOf(dependencies, asked, first)
  const failures: FailedModel[] = []
  const budget = budgetInPlace(dependencies, asked.caller, options)
  for (const model of candidates) {
    if (model === undefined) continue
    const ids = await idHeaders(dependencies.store, model, placeOf(asked.caller))
    const problem = await budget.begin(model.name, prices(model))
    if (problem !== null) return { kind: 'failed', problem }
    const watch = watchModel(callerOf(asked, model))
    try {
      const provided = requireModel(model)
      const { answer } = await callWithRetries({
        model: withinRequest(provided, { watch, ids: () => ids(log.number) }),
        options,
        signal: asked.caller.signal,
        hasFallback: model !== candidates.at(-1),
        onDelta: () => watch.markToken(),
        onAttempt({ error }) {
          if (error === undefined) {
            log.begin({ model: model.name, prices: prices(model) })
            watch.begin(modelNames(model, provided))
          } else {
            log.recordFailure(error)
            watch.fail(error.kind)
          }
        },
      })
      watch.finish(answer)
      log.recordAnswer(answer.usage)
      await budget.end(log)
      return { kind: 'answered', answer }
    } catch (error) {
      watch.fail(ModelAbortedError.isInstance(error) ? 'interrupted' : errorTypeOf(error))
      if (ModelAbortedError.isInstance(error)) return { kind: 'failed', problem: 'The call was stopped.' }
      const failed = { model: model.name, error: classifyModelError(error) }
      failures.push(failed)
      await budget.end(log)
      await recordFailure(dependencies.store, asked, failed)
    }
  }
  const missing = `The model "${asked.prompt.model}" is not available at the moment.`
  return { kind: 'failed', problem: failures.length === 0 ? missing : failureMessage(failures) }
}

type BudgetedCaller = Pick<InvokingCall, 'threadId' | 'run' | 'step' | 'content' | 'budgets'>

/** A request of code, as budgets meet it. */
interface BudgetedRequest {
  /** Why it must not be sent; null: it may. */
  begin(model: string, prices: Parameters<typeof pricesOf>[0]): Promise<string | null>
  /** It has ended. A failure of the store here must not lose the answer. */
  end(log: RequestLog): Promise<void>
}

const FREE: BudgetedRequest = { begin: async () => null, end: async () => undefined }

/**
 * The budgets of the requests of a prompt in place; without any they do nothing. Several may be under way at once, and the call of the tool is the
 * one that a thread has in flight (T1): so they hold nothing, and each may go over a limit by its own answer.
 */
function budgetInPlace(
  { store, budgets: worker }: ActivityDependencies,
  { threadId, run, step, content, budgets: stored }: BudgetedCaller,
  { prompt, tools = [] }: ModelRequest,
): BudgetedRequest {
  const sources = { worker, agent: content?.budget, stored }
  if (!haveBudgets(sources)) return FREE
  const inputTokens = Math.max(1, textTokens(JSON.stringify([prompt, tools])))
  return {
    async begin(model, known) {
      const { inputPrice, outputPrice } = pricesOf(known)
      const prices = { input: inputPrice, output: outputPrice }
      const need = {
        kind: 'model',
        isStep: false,
        model,
        inputTokens,
        maxOutputTokens: null,
        prices,
      } as const
      const call = { threadId, run, need, now: nowMicros(), scope: stepScope({ run, step }) }
      const exceeded = await chargeBeside(store, call, sources)
      return exceeded === null
        ? null
        : exceededText(exceeded).replace('The run was ended', 'It was not called')
    },
    async end({ last }) {
      if (last?.usage == null) return
      const { inputTokens: input, outputTokens, cost } = last.usage
      const used = { inputTokens: input, outputTokens, cost: cost ?? 0 }
      await addUsed(store, { threadId, run, used }, sources).catch(() => undefined)
    },
  }
}

/** Records the error for operators (T5). A failure of the store here must not lose the answer. */
async function recordFailure(store: Store, { caller }: AskedInPlace, { error }: FailedModel): Promise<void> {
  const kept = { id: randomUUID(), threadId: caller.threadId, at: nowMicros(), type: error.kind }
  await store.write((tx) => recordError(tx, { ...kept, ...providerText(error) })).catch(() => undefined)
}

/** All requests of the code of a call are numbered together, as its own model call. */
function placeOf({ threadId, run, step, id }: InvokingCall): Parameters<typeof idHeaders>[2] {
  return { threadId, run, step, callId: id, operation: id }
}

function callerOf({ caller, state, prompt }: AskedInPlace, { name: model }: ModelDefinition): ModelCaller {
  return { threadId: caller.threadId, agent: state.agentId, prompt: prompt.name, model }
}

async function requestOf(
  dependencies: ActivityDependencies,
  asked: AskedInPlace,
  model: ModelDefinition | undefined,
): Promise<ModelRequest> {
  const { caller, state } = asked
  const content = withPrompt(caller.content, asked.prompt)
  // T5: secrets stay unresolved.
  const scope = { threadId: caller.threadId, agent: state.agentId, content }
  const prompt = await withVariables(dependencies, scope, asked.prompt)
  const offered = await withOfferedTools(dependencies, scope, prompt)
  // Subagents cannot start in place, so only the tools of the prompt itself are offered.
  const listed = offered.tools.filter((tool) => prompt.tools.includes(tool))
  const tools = model?.capabilities?.supportsToolCalls === false ? [] : listed
  const { side, threadId } = caller
  const messages = [...(await historyOf(asked)), ...ownRow(asked)]
  const system = prompt.system.map((part) => (part.type === 'text' ? part.content : ''))
  return {
    prompt: assemblePrompt({
      system: system.join(''),
      messages,
      perspective: { type: content?.plan.type ?? 'ai_human', side },
    }),
    providerOptions: {
      ...model?.providerOptions,
      ...prompt.providerOptions,
      everthread: { prompt: prompt.name, side, threadId },
    },
    ...(tools.length === 0
      ? {}
      : { tools: toolConfiguration(tools), toolChoice: { type: prompt.toolChoice } }),
  }
}

/** Adds the prompt to the plan, which may lack it, so that its declared variables and values apply. */
function withPrompt(content: PlanContent | null, prompt: AskedInPlace['prompt']): PlanContent | null {
  return content === null ? null : { ...content, prompts: { ...content.prompts, [prompt.name]: prompt } }
}

/** Fields of rows that belong to no step of a run. */
const UNPLACED = { run: null, answer_parts: null, sent_by: null } as const

/** The conversation, with the writes of the caller so far. */
async function historyOf({ prompt, state }: AskedInPlace): Promise<readonly TranscriptRow[]> {
  if (!prompt.includeChat) return []
  const newest = { limit: LIMITS.contextRows, order: 'desc', includeSilent: true } as const
  const { messages } = await state.getMessages(newest)
  const rows = messages.toReversed().map((message) => ({ ...message, ...UNPLACED, side: null }))
  if (prompt.includePastTools) return rows
  return rows.filter(({ role }) => role !== 'tool').map((row) => ({ ...row, tool_calls: null }))
}

/** The arguments, as a message of the other side. */
function ownRow({ args, caller }: AskedInPlace): readonly TranscriptRow[] {
  if (Object.keys(args).length === 0) return []
  const id = `${caller.id}:arguments`
  const side = caller.side === 'a' ? 'b' : 'a'
  return [{ ...BLANK_ROW, id, role: 'user', content: JSON.stringify(args), side }]
}
