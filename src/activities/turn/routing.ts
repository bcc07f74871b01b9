/**
 * The choice of a model: the prompt's own, else its fallbacks in their order.
 * Owns: which models may be called, why the others may not, and the description of each choice for the log.
 * Does not own: the calls and their failures (`candidates.ts`), and what a request needs of files and tokens
 * (`model-request.ts`).
 * A model that lacks what a request needs is called all the same, because the prompt names it: the log says what it lacks.
 * Of the fallbacks, those that lack a capability come after those that lack none.
 */
import type { Registry } from '../../definitions/known-definitions.js'
import type { ModelDefinition } from '../../definitions/model.js'
import type { ModelContent } from '../../definitions/plan/plan-content.js'
import type {
  ModelNeed,
  Routing,
  RoutingCandidate,
  RoutingKind,
  RoutingMode,
  RoutingReason,
} from '../../protocol/event-codes.js'
import { waitForDefinition } from '../plan-content.js'
import type { FailedModel } from './answer-facts.js'
import type { ModelStep } from './model-step.js'

/** The models of a call. */
interface Route {
  readonly kind: RoutingKind
  /** The prompt's model. */
  readonly requested: string
  readonly needsTools: boolean
  /** The models that may be called, in the order of the calls. */
  readonly available: readonly ModelDefinition[]
  /** Those and the excluded ones. */
  readonly candidates: readonly RoutingCandidate[]
  readonly models: Readonly<Record<string, ModelContent>>
}

/**
 * The prompt's model and its fallbacks. A model that this worker lacks is left out, as for a bootstrap is one that calls
 * no tools.
 * @throws `Definition.Missing` while another worker may have the prompt's model
 */
export function routeOf(
  registry: Registry,
  { content: { models }, prompt }: Pick<ModelStep, 'content' | 'prompt'>,
  kind: RoutingKind,
): Route {
  const { model: requested, tools } = prompt
  if (registry.model(requested) === undefined) waitForDefinition(`model "${requested}"`)
  const all = [requested, ...(models[requested]?.fallbacks ?? [])].map((name) => {
    const definition = registry.model(name)
    const content = models[name]
    if (definition === undefined) return { name, definition, excluded: 'not_registered' }
    if (kind === 'bootstrap' && content?.supportsToolCalls !== true)
      return { name, definition, excluded: 'no_tool_calls' }
    return { name, definition }
  })
  return {
    kind,
    requested,
    needsTools: kind === 'bootstrap' || tools.length > 0,
    available: all.flatMap(({ definition, excluded }) =>
      definition === undefined || excluded !== undefined ? [] : [definition],
    ),
    candidates: all.map(({ name, definition, excluded }) => ({
      model: name,
      ...(excluded !== undefined && { excluded }),
      ...factsOf(models[name]),
      ...limitsOf(definition),
    })),
    models,
  }
}

function factsOf(model: ModelContent | undefined): Partial<RoutingCandidate> {
  const { maxContextTokens = null, inputPrice = null, outputPrice = null } = model ?? {}
  return {
    ...(maxContextTokens !== null && { contextWindow: maxContextTokens }),
    ...(inputPrice !== null && { inputPrice }),
    ...(outputPrice !== null && { outputPrice }),
  }
}

function limitsOf(definition: ModelDefinition | undefined): Partial<RoutingCandidate> {
  const { concurrency, requestsPerMinute } = definition?.rateLimit ?? {}
  return {
    ...(concurrency !== undefined && { concurrency }),
    ...(requestsPerMinute !== undefined && { requestsPerMinute }),
  }
}

/** The kinds of files that a request shows to a model that accepts all of them. */
type FileNeed = 'images' | 'documents' | 'audio'

/** What a request needs of its model. */
interface RequestNeeds {
  readonly shows: readonly FileNeed[]
  readonly estimatedTokens: number
}

interface Choice {
  /** Null: no model is left. */
  readonly selected: string | null
  /** The previous request of this attempt went to the same model. */
  readonly repeats: boolean
  /** The models before it that gave no answer in this attempt. */
  readonly failures: readonly FailedModel[]
  /** Null if no request was built. */
  readonly request: RequestNeeds | null
}

/**
 * The next model to call; null if none is left. After the prompt's model it is the first that has all that the last
 * request needed, else the first of the rest.
 */
export function nextModel(
  route: Route,
  { failures, request }: Pick<Choice, 'failures' | 'request'>,
): ModelDefinition | null {
  const left = route.available.filter(({ name }) => failures.every(({ model }) => model !== name))
  const needs = needsOf(route, request)
  const able = failures.length === 0 ? undefined : left.find(({ name }) => hasAll(route.models[name], needs))
  return able ?? left[0] ?? null
}

function needsOf({ needsTools }: Route, request: RequestNeeds | null): readonly ModelNeed[] {
  return [...(needsTools ? (['tools'] as const) : []), ...(request?.shows ?? [])]
}

function hasAll(model: ModelContent | undefined, needs: readonly ModelNeed[]): boolean {
  return model !== undefined && lacksOf(model, needs).length === 0
}

/** Describes a choice for the log. */
export function describeChoice(route: Route, choice: Choice): Routing {
  const { selected, failures, request } = choice
  const needs = needsOf(route, request)
  const reason = reasonOf(route, choice)
  const last = failures.at(-1)
  const tokens = request?.estimatedTokens ?? 0
  const place = route.candidates.findIndex(({ model }) => model === selected)
  const candidates = route.candidates.map((candidate, index): RoutingCandidate => {
    const failed = failures.find(({ model }) => model === candidate.model)?.error.kind
    const left = selected === null ? 'out_of_time' : index < place ? 'passed_over' : undefined
    const excluded = candidate.excluded ?? failed ?? left
    const { model, contextWindow = Infinity } = candidate
    const lacks = lacksOf(route.models[model], [
      ...needs,
      ...(tokens > contextWindow ? (['context'] as const) : []),
    ])
    return {
      ...candidate,
      ...(excluded !== undefined && { excluded }),
      ...(lacks.length > 0 && { lacks }),
    }
  })
  return {
    kind: route.kind,
    needs,
    mode: modeOf(candidates),
    source: 'prompt',
    requested: route.requested,
    candidates,
    reason,
    ...(reason === 'fallback' && last !== undefined && { fallbackFrom: last.model }),
  }
}

function modeOf(candidates: readonly RoutingCandidate[]): RoutingMode {
  const available = candidates.filter(({ excluded }) => excluded === undefined).length
  if (available > 1) return 'ordered'
  return available === 1 ? 'single' : 'none'
}

function reasonOf({ requested, available }: Route, { selected, repeats, failures }: Choice): RoutingReason {
  if (selected === null) return 'none'
  if (repeats) return 'retry'
  if (failures.length > 0) return 'fallback'
  if (selected !== requested) return 'model_excluded'
  return available.length === 1 ? 'single_candidate' : 'prompt_model'
}

function lacksOf(model: ModelContent | undefined, needs: readonly ModelNeed[]): readonly ModelNeed[] {
  if (model === undefined) return []
  const has: Readonly<Record<ModelNeed, boolean>> = {
    tools: model.supportsToolCalls,
    images: model.supportsImages,
    documents: model.supportsDocuments,
    audio: model.supportsAudio,
    context: false,
  }
  return needs.filter((need) => !has[need])
}
