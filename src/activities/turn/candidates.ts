/**
 * Phase 3: calls the candidates, which are the prompt's model and its fallbacks, until one answers.
 * Owns: the candidates and their order, their common time limit, the transaction before each request, the headers with its trace and ids,
 * and the record of each request.
 * Does not own: retries and streaming of one model (`model/call-model.ts`), admission (`admission.ts`), and the
 * commit of the answer.
 * A stop ends the whole phase at once. A context that is too long is cut and sent again, which does not count as an
 * attempt. An attempt that does not hold the operation sends no request (T4).
 */
import { modelVersionProblem } from '../../definitions/model.js'
import type { ModelDefinition } from '../../definitions/model.js'
import { callWithRetries } from '../../model/call-model.js'
import { classifyModelError } from '../../model/classify-model-error.js'
import type { LanguageModel, ModelAnswer } from '../../model/model-answer.js'
import { ModelAbortedError, ModelError } from '../../model/model-error.js'
import type { PartialAnswer } from '../../model/model-error.js'
import { MODEL_LIMITS } from '../../model/stream-answer.js'
import type { ModelLimits } from '../../model/stream-answer.js'
import { fact, phaseFact } from '../../protocol/facts.js'
import type { Fact } from '../../protocol/facts.js'
import type { Routing } from '../../protocol/event-codes.js'
import { toHeaderValue, withoutUndefined } from '../../protocol/values.js'
import type { JsonValue } from '../../protocol/values.js'
import { globalRunId, stepIdOf } from '../../protocol/ids.js'
import { digestOf } from '../../store/digest.js'
import { appendEvents } from '../../store/events.js'
import { namesSecret, noteSecret } from '../../store/known-secrets.js'
import { insertBoundary } from '../../store/messages/context-boundaries.js'
import { dropAttempts } from '../../store/messages/deltas.js'
import type { Store } from '../../store/store.js'
import { findThread } from '../../store/threads/threads.js'
import { StoreError } from '../../store/store-error.js'
import { pipeline } from '../../store/transaction.js'
import { activeTraceparent, errorTypeOf } from '../../telemetry/spans.js'
import { watchModel } from '../../telemetry/watch-model.js'
import type { AskedModel, ModelWatch } from '../../telemetry/watch-model.js'
import type { ActivityDependencies } from '../activity.js'
import { asCharged, chargeRequest, NoBudget } from '../budget/charge-request.js'
import { clearingFacts } from '../compaction/compaction-facts.js'
import { RequestBlocked } from '../hooks/hook-points.js'
import { keep } from '../operation.js'
import { stepScope } from '../scope.js'
import { log } from '../temporal-activity.js'
import { errorFields } from '../thrown.js'
import { createAdmission, patienceOf } from './admission.js'
import { failureFact, providerText } from './answer-facts.js'
import type { Answered, FailedModel } from './answer-facts.js'
import type { writeDeltas } from './deltas.js'
import type { BuiltRequest } from './model-request.js'
import { failureId, toStreamedMessage } from './model-step.js'
import type { ModelStep } from './model-step.js'
import { pricesOf } from './request-log.js'
import { describeChoice, nextModel } from './routing.js'
import type { routeOf } from './routing.js'

/** How often a step cuts its context again when its model rejects it as too long. */
const CONTEXT_CUTS = 2

/** Milliseconds: a timer may fire a little early, and no model answers in so short a time. */
const TIMER_SLACK = 5

interface CandidatesCall {
  readonly step: ModelStep
  /** At least one of its models is available. */
  readonly route: ReturnType<typeof routeOf>
  /** Builds the request to a model; `cuts` is the number of additional cuts of its context. */
  readonly build: (model: string, cuts: number) => Promise<BuiltRequest>
  readonly deltas: ReturnType<typeof writeDeltas>
  readonly signal: AbortSignal
}

/** The outcome: an answer, the failures of all models, the partial answer at a stop, or the refusal of a hook. */
export type Reply =
  | Answered
  | Unanswered
  | { readonly stopped: PartialAnswer }
  | { readonly blocked: RequestBlocked }
  /** It does not fit into a budget; null: not now. */
  | { readonly over: NoBudget['over'] }

/** No model gave an answer. */
interface Unanswered {
  readonly failures: readonly FailedModel[]
  readonly routing: Routing
}

/** Calls the models in order. The reply is `stopped` if the signal aborts at any moment. */
export async function callCandidates(
  dependencies: ActivityDependencies,
  call: CandidatesCall,
): Promise<Reply> {
  try {
    return await callInOrder(dependencies, call)
  } catch (error) {
    if (error instanceof RequestBlocked) return { blocked: error }
    if (error instanceof NoBudget) return { over: error.over }
    if (!ModelAbortedError.isInstance(error)) throw error
    return { stopped: error.partial }
  }
}

async function callInOrder(
  dependencies: ActivityDependencies,
  call: CandidatesCall,
): Promise<Answered | Unanswered> {
  const { modelLimits: limits = MODEL_LIMITS } = dependencies
  const deadline = performance.now() + limits.total
  const timeLeft = (): number => deadline - performance.now()
  const failures: FailedModel[] = []
  let cuts = 0
  let last: BuiltRequest | null = null
  for (;;) {
    const candidate = nextModel(call.route, { failures, request: last })
    if (candidate === null) break
    const reply = await callCandidate(candidate)
    if (!ModelError.isInstance(reply)) return reply
    failures.push({ model: candidate.name, error: reply })
    if (timeLeft() <= TIMER_SLACK) break
  }
  const none = { selected: null, repeats: false, failures, request: last }
  return { failures, routing: describeChoice(call.route, none) }

  async function callCandidate(candidate: ModelDefinition): Promise<Answered | ModelError> {
    for (;;) {
      const built = await call.build(candidate.name, cuts)
      last = built
      const hasFallback = failures.length + 1 < call.route.available.length
      const request = {
        candidate,
        built,
        hasFallback,
        failures,
        limits: { ...limits, total: Math.max(0, timeLeft()) },
      }
      const reply = await requestAnswer(dependencies, call, request)
      const tooLong = ModelError.isInstance(reply) && reply.kind === 'context_too_long'
      if (!tooLong || cuts >= CONTEXT_CUTS || timeLeft() <= 0) return reply
      cuts += 1
    }
  }
}

interface CandidateRequest {
  readonly candidate: ModelDefinition
  readonly built: BuiltRequest
  readonly hasFallback: boolean
  /** The models before this one that gave no answer. */
  readonly failures: readonly FailedModel[]
  readonly limits: ModelLimits
}

async function requestAnswer(
  dependencies: ActivityDependencies,
  call: CandidatesCall,
  { candidate, built, hasFallback, failures, limits }: CandidateRequest,
): Promise<Answered | ModelError> {
  const { step, deltas, signal } = call
  const { threadId, run, step: number, frame } = step.input
  const place = { threadId, run, step: number, callId: frame?.callId ?? null, operation: step.operation.id }
  const ids = await idHeaders(dependencies.store, candidate, place)
  const { options } = built
  let request = options
  const { store } = dependencies
  const charge = async (begin: (store: Store) => Promise<void>): Promise<void> => {
    const { estimatedTokens: tokens, budgets } = built
    const asking = { step, model: candidate.name, options, tokens, budgets, begin }
    request = await chargeRequest(dependencies, asking)
  }
  const requests = createRequestRecorder(store, call, { candidate, built, failures, charge })
  const { watch } = requests
  try {
    const model = await languageModelOf(candidate, requests)
    const { answer } = await callWithRetries({
      model: withinRequest(
        asCharged(model, options, () => request),
        { watch, ids: () => ids(step.log.number) },
      ),
      options,
      signal,
      limits,
      admission: createAdmission(dependencies.registry, { step, model: candidate, signal }),
      hasFallback,
      patience: patienceOf(step),
      onDelta: (delta) => {
        watch.markToken()
        deltas.add(delta)
      },
      onAttempt: ({ error }) => (error === undefined ? requests.begin(model) : requests.recordFailure(error)),
    })
    return requests.recordAnswer(answer)
  } catch (error) {
    if (ModelError.isInstance(error)) requests.recordFailure(error)
    else requests.recordInterruption(error)
    if (!ModelError.isInstance(error)) throw error
    return error
  }
}

/** If the provider cannot create the model, the model counts as failed, and not the worker. */
async function languageModelOf(
  candidate: ModelDefinition,
  requests: RequestRecorder,
): Promise<LanguageModel> {
  try {
    return requireModel(candidate)
  } catch (error) {
    await requests.begin(null)
    throw error
  }
}

/** Records the requests to one model: in the log of the operation, in events, and in telemetry. */
interface RequestRecorder {
  readonly watch: ModelWatch
  begin(model: LanguageModel | null): Promise<void>
  /** Call it once for each request. */
  recordFailure(error: ModelError): void
  /** The request was cancelled, or something other than the model failed. */
  recordInterruption(error: unknown): void
  recordAnswer(answer: ModelAnswer): Answered
}

interface Recorded extends Pick<CandidateRequest, 'candidate' | 'built' | 'failures'> {
  /** Charges the next request, and begins it. */
  readonly charge: (begin: (store: Store) => Promise<void>) => Promise<void>
}

function createRequestRecorder(
  store: Store,
  { step, route, deltas }: CandidatesCall,
  { candidate, built, failures, charge }: Recorded,
): RequestRecorder {
  const { input, prompt } = step
  const { name: model } = candidate
  const watch = watchModel({ threadId: input.threadId, agent: input.agent, prompt: prompt.name, model })
  let since = performance.now()
  let again = false
  let called: LanguageModel | null = null
  return {
    watch,
    async begin(provided) {
      const repeats = !step.log.isFresh && step.log.model === model
      const routing = describeChoice(route, { selected: model, repeats, failures, request: built })
      const next = { model, provider: provided?.provider ?? null, built, again, routing }
      // In the transaction of its charge it must not be lost.
      await charge((own) => startRequest(own, step, { ...next, mayBeLost: again && own === store }))
      again = true
      called = provided
      deltas.begin(step.log.number)
      since = performance.now()
      watch.begin(modelNames(candidate, provided))
    },
    recordFailure(error) {
      if (!step.log.isOpen) return
      noteProviderKeys(candidate, called)
      step.log.recordFailure(error)
      watch.fail(error.kind)
      const { number: request } = step.log
      const { reason } = errorFields(providerText(error))
      const errorId = failureId(step, request)
      log.warn('A request to a model failed.', { model, request, error: error.kind, errorId, reason })
    },
    recordInterruption: (error) =>
      watch.fail(ModelAbortedError.isInstance(error) ? 'interrupted' : errorTypeOf(error)),
    recordAnswer(answer) {
      watch.finish(answer)
      const milliseconds = Math.round(performance.now() - since)
      log.debug('A model answered.', { model, request: step.log.number, milliseconds, ...answer.usage })
      return { answer, milliseconds }
    },
  }
}

/** The next request to a model. */
interface NextRequest {
  readonly model: string
  /** Null if the provider cannot create the model. */
  readonly provider: string | null
  readonly built: BuiltRequest
  readonly routing: Routing
  /** It repeats the previous request to the same model. */
  readonly again: boolean
  /** It may be sent although the store has no note of it. */
  readonly mayBeLost: boolean
}

/**
 * Transaction 2, before each request: this attempt holds the operation before the provider receives the request (T2,
 * T4), and the event log names the model and the request.
 * @throws `Operation.Lost` if another attempt holds the operation, because a request must not be paid for twice
 */
async function startRequest(store: Store, step: ModelStep, next: NextRequest): Promise<void> {
  const { input, log } = step
  const first = log.isFresh
  const { boundary } = next.built
  let begun: readonly Fact[] | null = null
  // Not before its charge has been found to fit, and once, however often the transaction runs.
  const begin = (): readonly Fact[] => (begun ??= beginLogged(step, next, first))
  try {
    await store.write(async (tx) => {
      const events = begin()
      pipeline(tx, keep(tx, step.operation, { state: 'started', detail: log.detail() }))
      if (boundary !== null && !next.again) await insertBoundary(tx, boundary)
      if (first && log.number > 1) await dropAttempts(tx, toStreamedMessage(step), log.number)
      await appendEvents(tx, { threadId: input.threadId, events, now: step.now, movesActivity: false })
    })
  } catch (error) {
    // If the store fails between two requests, no answer is lost: the commit waits for the store.
    if (!next.mayBeLost || !StoreError.isInstance(error)) throw error
    begin()
  }
}

/** Begins the request in the log of its operation. Returns what is told of it. */
function beginLogged(step: ModelStep, next: NextRequest, first: boolean): readonly Fact[] {
  const { log, content } = step
  const failed = log.failures.slice(-1).map(({ error }) => failureFact(step, error, nextKind(step, next)))
  log.begin({ model: next.model, prices: pricesOf(content.models[next.model]) })
  const { boundary } = next.built
  const cleared = boundary?.kind === 'cleared' && !next.again ? clearingFacts(step, boundary) : []
  return [...failed, ...cleared, ...contextFacts(step, next, first), requestFact(step, next)]
}

function nextKind({ log }: ModelStep, { model }: NextRequest): 'retry' | 'fallback' {
  return log.model === model ? 'retry' : 'fallback'
}

/** The first request of a step emits its phases. A resumed step has emitted them in an earlier attempt. */
function contextFacts(step: ModelStep, next: NextRequest, first: boolean): readonly Fact[] {
  const resolved = manifestFact(step, next)
  if (!first || step.resumed || step.input.frame !== null) return [resolved]
  const phases = stepScope(step.input)
  return [phaseFact(2, phases), ...catalogFacts(step), resolved, phaseFact(3, phases)]
}

/** The tools that a run offers, in its first step: prompts and arguments of subagents that are asked for before have tools of their own. */
function catalogFacts({ input, prompt }: ModelStep): readonly Fact[] {
  if (input.step > 1) return []
  const tools = prompt.tools.map(({ name }) => name)
  const digest = digestOf(prompt.tools as unknown as JsonValue)
  const catalog = { agent: input.agent, prompt: prompt.name, count: tools.length, tools, digest }
  return [fact('tool.catalog.resolved', catalog, stepScope(input))]
}

function manifestFact({ input, scope }: ModelStep, { model, provider, built }: NextRequest): Fact {
  const { messages, tools, dropped, modelId, contextWindow, estimatedTokens, tokens, items } = built
  const { refs, omissions } = built
  const omitted = withoutUndefined({ refs, omissions })
  const sizes = { messages, tools, dropped, contextWindow, estimatedTokens, tokens, items, ...omitted }
  return fact('context.resolved', { agent: input.agent, provider, model, modelId, ...sizes }, scope)
}

function requestFact({ scope, log }: ModelStep, { routing }: NextRequest): Fact {
  return fact('model.requested', { ...log.newest, routing }, scope)
}

const KEY_HEADER = /^(?:proxy-)?authorization$|^cookie$/i

/**
 * Registers the keys that the provider of a failed request sends, so that they are redacted in an error that quotes
 * them. Models of the AI SDK's packages have a `config` with the `headers` that they send. The specification does not
 * include it: for a model without it, only the other known secrets are redacted (`store/known-secrets.ts`).
 */
function noteProviderKeys(candidate: ModelDefinition, model: LanguageModel | null): void {
  const noteAll = (headers: unknown): void => {
    if (typeof headers !== 'object' || headers === null) return
    for (const [header, value] of Object.entries(headers))
      if (typeof value === 'string' && (KEY_HEADER.test(header) || namesSecret(header)))
        noteSecret(`of ${candidate.name}`, value.replace(/^(?:Bearer|Basic|Token)\s+/i, ''))
  }
  try {
    const headers = readSentHeaders(model)
    // A key that is fetched asynchronously is usually cached, and registered before the failed answer is stored.
    if (headers instanceof Promise) headers.then(noteAll, () => undefined)
    else noteAll(headers)
  } catch {
    // A missing key throws here; the failure of the request reports it.
  }
}

function readSentHeaders(model: LanguageModel | null): unknown {
  const config = fieldOf(model, 'config')
  const headers = fieldOf(config, 'headers')
  return typeof headers === 'function' ? (headers.call(config) as unknown) : headers
}

function fieldOf(value: unknown, name: string): unknown {
  return typeof value === 'object' && value !== null ? (value as Record<string, unknown>)[name] : undefined
}

/**
 * The provider's model. It is created before each use, because it may need a key that only workers have.
 * @throws ModelError if the provider does not have it, lacks its key, or is of another version of the AI SDK
 */
export function requireModel({ name, provider, model }: ModelDefinition): LanguageModel {
  const provided = createModel(provider, model)
  const problem = modelVersionProblem(provided)
  if (problem === undefined) return provided
  log.error(`The model "${name}" cannot be used: ${problem}.`)
  throw new ModelError({ kind: 'unsupported_version', message: problem, retryable: false })
}

function createModel(provider: ModelDefinition['provider'], model: string): LanguageModel {
  try {
    return provider.languageModel(model)
  } catch (error) {
    throw classifyModelError(error)
  }
}

/**
 * The names of a model for telemetry: the provider's own, or those of the definition if the provider does not have
 * it.
 */
export function modelNames(definition: ModelDefinition, model: LanguageModel | null): AskedModel {
  return { provider: model?.provider ?? 'unknown', model: model?.modelId ?? definition.model }
}

type CallOptions = Parameters<LanguageModel['doStream']>[0]
type Headers = Readonly<Record<string, string>>

/** What a request is for. */
interface RequestPlace {
  readonly threadId: string
  readonly run: number
  readonly step: number
  /** The call that asks; null: the step itself. */
  readonly callId: string | null
  /** The id of the model call, unique in its thread; its requests are counted. */
  readonly operation: string
}

const PREFIX = 'x-everthread'

/** Makes the headers with the ids of each request by its number; of a model without `sendIds` there are none, and nothing is read. */
export async function idHeaders(
  store: Store,
  { sendIds = false }: ModelDefinition,
  place: RequestPlace,
): Promise<(request: number) => Headers> {
  if (!sendIds) return () => ({})
  const { threadId, run, step, callId, operation } = place
  const thread = await store.read((db) => findThread(db, threadId))
  const id = toHeaderValue(threadId)
  return (request) => ({
    [`${PREFIX}-session-id`]: toHeaderValue(thread?.root_thread_id ?? threadId),
    [`${PREFIX}-thread-id`]: id,
    [`${PREFIX}-run-id`]: globalRunId(id, run),
    [`${PREFIX}-step-id`]: stepIdOf(run, step),
    [`${PREFIX}-request-id`]: `${id}:${operation}:${request}`,
    ...(callId !== null && { [`${PREFIX}-tool-call-id`]: callId }),
  })
}

/** The same model; spans that it creates become children of the span of the request, whose trace and ids go with the request. */
export function withinRequest(
  model: LanguageModel,
  { watch, ids }: { readonly watch: ModelWatch; readonly ids: () => Headers },
): LanguageModel {
  return {
    specificationVersion: model.specificationVersion,
    provider: model.provider,
    modelId: model.modelId,
    supportedUrls: model.supportedUrls,
    doGenerate: (options) => watch.runWithin(() => model.doGenerate(withHeaders(options, ids()))),
    doStream: (options) => watch.runWithin(() => model.doStream(withHeaders(options, ids()))),
  }
}

/** With the header `traceparent`, as every HTTP client that is instrumented sends it. */
function withHeaders(options: CallOptions, ids: Headers): CallOptions {
  const traceparent = activeTraceparent()
  const headers = { ...(traceparent !== null && { traceparent }), ...ids }
  return Object.keys(headers).length === 0
    ? options
    : { ...options, headers: { ...headers, ...options.headers } }
}
