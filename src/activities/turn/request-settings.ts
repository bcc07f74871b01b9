import type { SharedV4ProviderOptions } from '@ai-sdk/provider'

import type { ModelContent, PlanContent, PromptContent } from '../../definitions/plan/plan-content.js'
import { toolConfiguration } from '../../model/context/provider-options.js'
import type { RequestOrigin } from '../../model/scripted-request.js'
import type { ModelRequest } from '../../model/stream-answer.js'
import type { CallModelInput } from '../../protocol/activities.js'

type Effort = Exclude<NonNullable<ModelRequest['reasoning']>, 'provider-default'>

/** Standard Agents' levels of reasoning, from 0 to 100. */
const LEVELS = { low: 33, medium: 66, high: 100 } as const
const EFFORTS: ReadonlySet<string> = new Set<Effort>([
  'none',
  'minimal',
  'low',
  'medium',
  'high',
  'xhigh',
  'max',
])

interface SettingsInput {
  readonly input: CallModelInput
  /** The schema of the answer that ends the run; left out: the request asks for no such answer. */
  readonly output?: PlanContent['output']
  readonly prompt: PromptContent & { readonly name: string }
  readonly model: ModelContent
}

/** The parts of a request other than its messages: tools, tool choice, reasoning, and provider options. */
export function requestSettings(asking: SettingsInput): Omit<ModelRequest, 'prompt'> {
  const { prompt, model } = asking
  const tools = model.supportsToolCalls ? toolConfiguration(prompt.tools, prompt.providerTools) : []
  const effort = effortOf(prompt.reasoning, model.reasoningLevels)
  return {
    ...(tools.length === 0 ? {} : { tools, toolChoice: { type: prompt.toolChoice } }),
    ...(effort === null ? {} : { reasoning: effort }),
    ...(model.maxOutputTokens === null ? {} : { maxOutputTokens: model.maxOutputTokens }),
    ...responseFormat(asking),
    providerOptions: providerOptions(asking, tools.length > 0),
  }
}

/** The form of the answer, for a model that takes a schema. */
function responseFormat({ output, model }: SettingsInput): Pick<ModelRequest, 'responseFormat'> {
  if (output === undefined || model.supportsJsonMode === false) return {}
  return { responseFormat: { type: 'json', name: 'output', schema: output } }
}

/** The form of the answer in words, for a model that takes no schema; empty for any other. */
export function outputInstruction({ output, model }: Pick<SettingsInput, 'output' | 'model'>): string {
  if (output === undefined || model.supportsJsonMode !== false) return ''
  return `\n\nWhen you answer and call no tool, answer with nothing but JSON that fits this JSON Schema: ${JSON.stringify(output)}`
}

/**
 * The model's own name for the nearest level, if the AI SDK has that name; else the prompt's level. Other names
 * belong into the provider options.
 */
function effortOf(
  reasoning: PromptContent['reasoning'],
  words: ModelContent['reasoningLevels'],
): Effort | null {
  if (reasoning?.effort === undefined) return null
  const wanted = LEVELS[reasoning.effort]
  const [nearest] = Object.keys(words)
    .map(Number)
    .sort((one, other) => Math.abs(one - wanted) - Math.abs(other - wanted) || one - other)
  const word = nearest === undefined ? undefined : words[nearest]
  return word !== undefined && isEffort(word) ? word : reasoning.effort
}

function isEffort(word: string): word is Effort {
  return EFFORTS.has(word)
}

/**
 * The provider options: those derived from the prompt's fields, overridden by the model's, overridden by the
 * prompt's.
 */
function providerOptions(
  { input, prompt, model }: SettingsInput,
  hasTools: boolean,
): SharedV4ProviderOptions {
  const { side, threadId } = input
  const origin: RequestOrigin = { prompt: prompt.name, side, threadId }
  const derived = [
    hasTools ? parallelOptions(prompt.parallelToolCalls) : {},
    reasoningOptions(prompt.reasoning),
  ]
  const given = [model.providerOptions ?? {}, prompt.providerOptions ?? {}]
  return { ...[...derived, ...given].reduce(mergeOptions), everthread: { ...origin } }
}

/**
 * Calls run one after another in any case, and a model often makes wrong calls if it cannot read the result of the
 * previous one first.
 */
function parallelOptions(parallel: boolean): SharedV4ProviderOptions {
  // Parallel calls are the default of both providers, and some models refuse the option.
  if (parallel) return {}
  return { openai: { parallelToolCalls: false }, anthropic: { disableParallelToolUse: true } }
}

function reasoningOptions(reasoning: PromptContent['reasoning']): SharedV4ProviderOptions {
  if (reasoning === null) return {}
  const { maxTokens, exclude } = reasoning
  return {
    ...(maxTokens === undefined
      ? {}
      : { anthropic: { thinking: { type: 'enabled', budgetTokens: maxTokens } } }),
    ...(exclude === true ? { openai: { reasoningSummary: null } } : {}),
  }
}

function mergeOptions(one: SharedV4ProviderOptions, other: SharedV4ProviderOptions): SharedV4ProviderOptions {
  const providers = new Set([...Object.keys(one), ...Object.keys(other)])
  return Object.fromEntries([...providers].map((key) => [key, { ...one[key], ...other[key] }]))
}
