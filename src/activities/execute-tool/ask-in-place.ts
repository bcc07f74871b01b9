import { randomUUID } from 'node:crypto'

import type { PlanContent, PromptContent } from '../../definitions/plan-content.js'
import type { ThreadState } from '../../definitions/thread-state.js'
import { classifyModelError } from '../../model/classify-model-error.js'
import { callWithRetries } from '../../model/call-model.js'
import { assemblePrompt } from '../../model/context/assemble-prompt.js'
import { toolConfiguration } from '../../model/context/tool-configuration.js'
import { BLANK_ROW } from '../../model/context/transcript-row.js'
import type { TranscriptRow } from '../../model/context/transcript-row.js'
import { ModelAbortedError } from '../../model/model-aborted-error.js'
import type { ModelAnswer } from '../../model/model-answer.js'
import type { ModelRequest } from '../../model/stream-answer.js'
import type { ModelDefinition } from '../../definitions/model.js'
import type { Usage } from '../../protocol/activities.js'
import { LIMITS } from '../../protocol/limits.js'
import { failureMessage } from '../call-model/model-failure.js'
import type { FailedModel } from '../call-model/model-failure.js'
import { providerWords } from '../call-model/record-failures.js'
import { providedModel } from '../call-model/provided-model.js'
import { withOfferedTools } from '../call-model/offered-tools.js'
import { pricesOf, usageOf } from '../call-model/usage.js'
import { recordError } from '../../store/errors.js'
import type { Store } from '../../store/store.js'
import { errorTypeOf } from '../../telemetry/error-type.js'
import { watchModel } from '../../telemetry/watch-model.js'
import type { ModelCaller } from '../../telemetry/watch-model.js'
import type { ActivityDependencies } from '../dependencies.js'
import { askedModel, withinRequest } from '../watched-model.js'
import { withVariables } from '../variables/render-system.js'
import type { InvokingCall } from './invoke-tool.js'

interface AskedInPlace {
  readonly caller: InvokingCall
  readonly state: ThreadState
  readonly prompt: PromptContent & { readonly name: string }
  readonly args: Record<string, unknown>
}

type Reply =
  | { readonly kind: 'answered'; readonly answer: ModelAnswer; readonly usage: Usage }
  | { readonly kind: 'failed'; readonly problem: string }

/** One model step whose words nobody streams and no row holds: the prompt's model, then its fallbacks. */
export async function askInPlace(dependencies: ActivityDependencies, asked: AskedInPlace): Promise<Reply> {
  const { registry } = dependencies
  const first = registry.model(asked.prompt.model)
  const candidates = [first, ...(first?.fallbacks ?? []).map((name) => registry.model(name))]
  const options = await requestOf(dependencies, asked, first)
  const failures: FailedModel[] = []
  for (const model of candidates) {
    if (model === undefined) continue
    const watch = watchModel(callerOf(asked, model))
    try {
      const provided = providedModel(model)
      const { answer } = await callWithRetries({
        model: withinRequest(provided, watch),
        options,
        signal: asked.caller.signal,
        hasFallback: model !== candidates.at(-1),
        onDelta: () => watch.token(),
        onAttempt: ({ error }) =>
          error === undefined ? watch.begin(askedModel(model, provided)) : watch.failed(error.kind),
      })
      watch.answered(answer)
      return { kind: 'answered', answer, usage: usageOf(pricesOf(model), answer.usage) }
    } catch (error) {
      watch.failed(ModelAbortedError.isInstance(error) ? 'interrupted' : errorTypeOf(error))
      if (ModelAbortedError.isInstance(error)) return { kind: 'failed', problem: 'The call was stopped.' }
      const failed = { model: model.name, error: classifyModelError(error) }
      failures.push(failed)
      await keepWords(dependencies.store, asked, failed)
    }
  }
  const missing = `The model "${asked.prompt.model}" is not available at the moment.`
  return { kind: 'failed', problem: failures.length === 0 ? missing : failureMessage(failures) }
}

/** For operators only (T5); a store that does not take them costs no answer. */
async function keepWords(store: Store, { caller }: AskedInPlace, { error }: FailedModel): Promise<void> {
  const kept = { id: randomUUID(), threadId: caller.threadId, at: Date.now() * 1000, type: error.kind }
  await store.write((tx) => recordError(tx, { ...kept, ...providerWords(error) })).catch(() => undefined)
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
  // T5: never a secret.
  const scope = { threadId: caller.threadId, agent: state.agentId, content }
  const prompt = await withVariables(dependencies, scope, asked.prompt)
  const offered = await withOfferedTools(dependencies, scope, prompt)
  // Nothing is created in place, so only what the prompt itself lists.
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

/** The plan may not have it; what it declares and gives counts all the same. */
function withPrompt(content: PlanContent | null, prompt: AskedInPlace['prompt']): PlanContent | null {
  return content === null ? null : { ...content, prompts: { ...content.prompts, [prompt.name]: prompt } }
}

/** Rows that no step of a run has made. */
const UNPLACED = { run: null, answer_parts: null, sent_by: null } as const

/** With what the caller itself has written so far. */
async function historyOf({ prompt, state }: AskedInPlace): Promise<readonly TranscriptRow[]> {
  if (!prompt.includeChat) return []
  const newest = { limit: LIMITS.contextRows, order: 'desc', includeSilent: true } as const
  const { messages } = await state.getMessages(newest)
  const rows = messages.toReversed().map((message) => ({ ...message, ...UNPLACED, side: null }))
  if (prompt.includePastTools) return rows
  return rows.filter(({ role }) => role !== 'tool').map((row) => ({ ...row, tool_calls: null }))
}

/** The arguments, as the counterpart's words. */
function ownRow({ args, caller }: AskedInPlace): readonly TranscriptRow[] {
  if (Object.keys(args).length === 0) return []
  const id = `${caller.id}:arguments`
  const side = caller.side === 'a' ? 'b' : 'a'
  return [{ ...BLANK_ROW, id, role: 'user', content: JSON.stringify(args), side }]
}
