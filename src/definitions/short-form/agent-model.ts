/**
 * The model of an agent in the short form.
 *
 * Owns: which definition a model object of the AI SDK becomes, its name, and when two objects are one model.
 * Does not own: its price (`prices/`) and the checks of its fields (`checks/`).
 * Invariant: objects of one provider share one provider object, because limits and pauses are counted by it.
 */
import type { LanguageModelV4 } from '@ai-sdk/provider'
import { isObject } from '../../protocol/values.js'
import { modelVersionProblem } from '../model.js'
import type { LanguageModelProvider, ModelDefinition } from '../model.js'

/** The settings of a model that its object does not have. */
type ModelSettings = Omit<ModelDefinition, 'name' | 'provider' | 'model' | 'fallbacks'> & {
  readonly model: LanguageModelV4
  /** For logs, costs and tests. @default made from the agent and the provider's id: `support_gpt_5_mini` */
  readonly name?: string
  /** Tried in this order when the model fails finally. */
  readonly fallbacks?: readonly (LanguageModelV4 | ModelDefinition | string)[]
}

/** A model of the AI SDK, one of `defineModel`, the name of one, or a model of the AI SDK with settings. */
export type AgentModel = LanguageModelV4 | ModelDefinition | ModelSettings | string

/** The definitions of a model and its fallbacks, and the name of the model; or what is wrong with it. */
type ReadModel =
  | { readonly name: string; readonly definitions: readonly ModelDefinition[] }
  | { readonly problem: string }

const EXPECTED =
  "expected a model of the AI SDK, such as openai('gpt-5-mini'), one of defineModel, or { model, fallbacks }"

/** Reads what stands under `model`. It relies on no type, because definitions also come from JavaScript. */
export function readModel(given: unknown, agent: string): ReadModel {
  if (typeof given === 'string') return { name: given, definitions: [] }
  if (isModelDefinition(given)) return { name: given.name, definitions: [given] }
  if (isModelObject(given)) return readObject(given, {})
  if (!isObject(given)) return { problem: `model: ${EXPECTED}` }
  const { model, fallbacks = [], ...settings } = given
  if (!isModelObject(model)) return { problem: `model: ${EXPECTED}` }
  if (!Array.isArray(fallbacks)) return { problem: 'model.fallbacks: expected a list of models' }
  const others = fallbacks.map((fallback) => readModel(fallback, agent))
  const wrong = others.find((other) => 'problem' in other)
  if (wrong !== undefined) return { problem: `model.fallbacks: ${EXPECTED}` }
  const sound = others.flatMap((other) => ('problem' in other ? [] : [other]))
  const read = readObject(model, {
    // A model with settings is another one than that without, which other agents may have.
    name: `${agent}_${nameOf(model.modelId)}`,
    ...settings,
    ...(sound.length > 0 && { fallbacks: sound.map(({ name }) => name) }),
  })
  if ('problem' in read) return read
  return {
    name: read.name,
    definitions: [...read.definitions, ...sound.flatMap(({ definitions }) => definitions)],
  }
}

/** Whether two definitions of one name are of one model: objects of one provider with equal settings are. */
export function isSameModel(one: ModelDefinition, other: ModelDefinition): boolean {
  if (one === other) return true
  const { provider, ...settings } = one
  const { provider: otherProvider, ...otherSettings } = other
  return provider === otherProvider && JSON.stringify(settings) === JSON.stringify(otherSettings)
}

function readObject(model: LanguageModelV4, settings: Readonly<Record<string, unknown>>): ReadModel {
  const problem = modelVersionProblem(model)
  if (problem !== undefined) return { problem: `model: ${problem}` }
  const definition = {
    name: nameOf(model.modelId),
    ...settings,
    provider: providerOf(model),
    model: model.modelId,
  }
  // `registry()` checks the settings.
  return { name: definition.name, definitions: [definition as ModelDefinition] }
}

function isModelDefinition(value: unknown): value is ModelDefinition {
  return isObject(value) && 'provider' in value && typeof value['model'] === 'string'
}

function isModelObject(value: unknown): value is LanguageModelV4 {
  return (
    typeof value === 'object' && value !== null && 'modelId' in value && typeof value.modelId === 'string'
  )
}

/** In snake_case: `gpt-5-mini` is `gpt_5_mini`, and `anthropic/claude-4.5` is `anthropic_claude_4_5`. */
function nameOf(modelId: string): string {
  const name = modelId
    .toLowerCase()
    .replace(/[^a-z0-9]+/g, '_')
    .replace(/^_+|_+$/g, '')
  return /^[a-z]/.test(name) ? name : `model_${name}`
}

/** The models that a provider has made for one account, by their ids. */
interface Account {
  readonly provider: LanguageModelProvider
  readonly models: Map<string, LanguageModelV4>
}

/** By what tells accounts apart, then by the provider's name of itself. */
const accounts = new WeakMap<object, Map<string, Account>>()

/** The provider object of a model: one for all models that the same provider has made. */
function providerOf(model: LanguageModelV4): LanguageModelProvider {
  const key = accountKeyOf(model)
  const byProvider = accounts.get(key) ?? new Map<string, Account>()
  accounts.set(key, byProvider)
  const account = byProvider.get(model.provider) ?? createAccount()
  byProvider.set(model.provider, account)
  if (!account.models.has(model.modelId)) account.models.set(model.modelId, model)
  return account.provider
}

function createAccount(): Account {
  const models = new Map<string, LanguageModelV4>()
  const languageModel = (id: string): LanguageModelV4 => {
    const model = models.get(id)
    if (model === undefined) throw new Error(`Expected a model that an agent has, got "${id}".`)
    return model
  }
  return { provider: { languageModel }, models }
}

/**
 * The providers of the AI SDK give all models of one account the same function for the headers with its key. A model without one
 * is an account of its own.
 */
function accountKeyOf(model: LanguageModelV4): object {
  const config: unknown = 'config' in model ? model.config : undefined
  const headers = isObject(config) ? config['headers'] : undefined
  return typeof headers === 'function' ? headers : model
}
