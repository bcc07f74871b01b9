/**
 * The charge of a request to a model.
 * Owns: what such a request needs, the bound of its answer and the line about what is left, and the end of its charge where no other
 * call of the run follows.
 * Does not own: the statements of the charge (`charge.ts`), and what is committed where a request does not fit (`no-budget.ts`).
 */
import type { ModelContent } from '../../definitions/plan/plan-content.js'
import { withPermittedThinking } from '../../model/context/provider-options.js'
import { SYSTEM_NOTE } from '../../model/context/assemble-prompt.js'
import { textTokens } from '../../model/context/row-tokens.js'
import type { LanguageModel } from '../../model/model-answer.js'
import { SHORTEST_ANSWER } from '../../policy/budget-judgement.js'
import { isObject } from '../../protocol/values.js'
import type { ModelRequest } from '../../model/stream-answer.js'
import type { CallModelAnswer } from '../../protocol/activities.js'
import { toMicros } from '../../protocol/time.js'
import type { ActivityDependencies } from '../activity.js'
import { readScheduledTime } from '../temporal-activity.js'
import type { ModelStep } from '../turn/model-step.js'
import { pricesOf } from '../turn/request-log.js'
import { endChargeOf, endOldCharges } from '../../store/budgets/charges.js'
import { haveBudgets } from '../../store/budgets/subjects.js'
import type { BudgetSources, StoredBudgets } from '../../store/budgets/subjects.js'
import type { Store, Writer } from '../../store/store.js'
import { deferTransaction, Unforeseen } from '../sequence.js'
import { charge, rememberRequest } from './charge.js'
import type { OverBudget } from './charge.js'
import type { ChargedCall } from './count-call.js'
import { takeAnswer } from './over-budget.js'

/** A request that does not fit into a budget: now, or at all. */
export class NoBudget extends Error {
  /** Null: it will fit if requests of other threads use less than they hold. */
  readonly over: OverBudget | null

  constructor(over: OverBudget | null) {
    super('A request does not fit into a budget.')
    this.over = over
  }
}

interface Requesting {
  readonly step: ModelStep
  /** Its name among the models of the plan. */
  readonly model: string
  readonly options: ModelRequest
  /** The estimate of its input. */
  readonly tokens: number
  readonly budgets: StoredBudgets
  /** Notes it in the log of its operation. */
  readonly begin: (store: Store) => Promise<void>
}

/** The steps whose requests were charged in this activity, with the id of the newest charge. */
const chargedSteps = new WeakMap<ModelStep, string>()

/**
 * Charges the next request of a step, and begins it. Returns the request as it may be sent: with a bound of its answer, and with a line
 * about what is left. Without a budget it only begins it.
 * @throws NoBudget
 */
export async function chargeRequest(
  { store, budgets: worker }: Pick<ActivityDependencies, 'store' | 'budgets'>,
  { step, model, options, tokens, budgets: stored, begin }: Requesting,
): Promise<ModelRequest> {
  const { input, operation, content, log, scope, now } = step
  const { budget: agent } = content
  const sources = { worker, agent, stored }
  if (!haveBudgets(sources)) {
    await begin(store)
    return options
  }
  const { threadId, run, frame } = input
  const taken = log.isFresh ? await takeAnswer(store, { threadId, now, scope, ...answerOf(step) }) : null
  if (taken?.denied != null) throw new NoBudget(taken.denied)
  const call = {
    ...{ threadId, run, operation: operation.id, number: log.number + 1 },
    need: needOf(content.models[model], { model, options, tokens, isStep: frame === null && step.isStep }),
    previous: log.last,
    waitedSince: taken?.waitedSince,
    scheduledAt: readScheduledTime(),
    now,
    scope,
  }
  const outcome = await chargeAndBegin(store, { call, sources, begin })
  if (outcome.kind !== 'charged') throw new NoBudget(outcome.kind === 'over' ? outcome.over : null)
  chargedSteps.set(step, outcome.id)
  return within(options, outcome)
}

/** The answer for which the call waited, which is taken with its first request. */
function answerOf({ input: { response }, operation: { id, attempt } }: ModelStep) {
  return { response, operation: attempt > 1 ? id : null }
}

interface ChargedBeginning {
  readonly call: ChargedCall
  readonly sources: BudgetSources
  /** Its first write begins the call. */
  readonly begin: (store: Store) => Promise<unknown>
}

type Charged = Awaited<ReturnType<typeof charge>>

/**
 * Charges a call to the budgets of its thread, and begins it if it fits: where the store locks no rows, in the same transaction.
 * @throws `Operation.Stale` for an attempt that was given up
 */
export async function chargeAndBegin(store: Store, beginning: ChargedBeginning): Promise<Charged> {
  const attempt = (): Promise<Charged> =>
    store.locksRows ? chargeThenBegin(store, beginning) : chargeWithBeginning(store, beginning)
  const outcome = await attempt()
  if (outcome.kind !== 'waits' || (await endOldCharges(store, beginning.call)) === 0) return outcome
  return attempt()
}

async function chargeThenBegin(store: Store, { call, sources, begin }: ChargedBeginning): Promise<Charged> {
  const outcome = await store.writeLocked((tx) => charge(tx, call, sources))
  if (outcome.kind === 'charged') await begin(store)
  return outcome
}

async function chargeWithBeginning(
  store: Store,
  { call, sources, begin }: ChargedBeginning,
): Promise<Charged> {
  let outcome: Charged | null = null
  const work = async (tx: Writer): Promise<Charged> => (outcome = await charge(tx, call, sources))
  try {
    await begin(deferTransaction(store, { work, isForeseen: ({ kind }) => kind === 'charged' }))
  } catch (error) {
    // The store that was given may have a deferred transaction of its own.
    if (!(error instanceof Unforeseen) || error.result !== outcome) throw error
  }
  if (outcome === null) throw new Error('Expected a call that begins with a write, got one without.')
  return outcome
}

type Asking = Pick<Requesting, 'model' | 'options' | 'tokens'> & { readonly isStep: boolean }

function needOf(content: ModelContent | undefined, { model, options, tokens, isStep }: Asking) {
  const inputTokens = Math.max(1, tokens + LINE_TOKENS)
  const { longInput, ...base } = pricesOf(content)
  // The estimate may be too low: the dearer price is held in time.
  const isLong = longInput !== undefined && inputTokens * 1.25 > longInput.above
  const { inputPrice, outputPrice } = isLong ? longInput : base
  return {
    kind: 'model',
    isStep,
    model,
    inputTokens,
    maxOutputTokens:
      options.maxOutputTokens === undefined ? null : options.maxOutputTokens + thinkingOf(options),
    prices: { input: inputPrice, output: outputPrice },
  } as const
}

/** The line about what is left. */
const LINE_TOKENS = textTokens(
  'Budget left before this answer: of several limits. Finish your work in time.'.repeat(2),
)

/** The model with what a charge changes in its requests: each attempt has its own. */
export function asCharged(
  model: LanguageModel,
  built: ModelRequest,
  charged: () => ModelRequest,
): LanguageModel {
  const request = (given: Parameters<LanguageModel['doStream']>[0]) => {
    const { prompt, maxOutputTokens, providerOptions } = charged()
    return {
      ...given,
      prompt,
      ...(maxOutputTokens !== undefined && { maxOutputTokens }),
      ...(providerOptions !== undefined && { providerOptions }),
    }
  }
  return {
    specificationVersion: model.specificationVersion,
    provider: model.provider,
    modelId: model.modelId,
    supportedUrls: model.supportedUrls,
    doGenerate: (given) => model.doGenerate(charged() === built ? given : request(given)),
    doStream: (given) => model.doStream(charged() === built ? given : request(given)),
  }
}

/** Tokens of thinking that Anthropic adds to the bound of an answer. */
function thinkingOf({ providerOptions }: ModelRequest): number {
  const thinking = providerOptions?.['anthropic']?.['thinking']
  if (!isObject(thinking) || thinking['type'] !== 'enabled') return 0
  return typeof thinking['budgetTokens'] === 'number' ? thinking['budgetTokens'] : 0
}

/** The bound of an answer is that of its thinking, too; where too little is left for both, it does not think. */
function withBound(options: ModelRequest, most: number): ModelRequest {
  const thinking = thinkingOf(options)
  if (thinking === 0) return { ...options, maxOutputTokens: most }
  if (most - thinking >= SHORTEST_ANSWER) return { ...options, maxOutputTokens: most - thinking }
  const { anthropic, ...others } = options.providerOptions ?? {}
  const providerOptions = { ...others, anthropic: { ...anthropic, thinking: { type: 'disabled' } } }
  return withPermittedThinking({ ...options, maxOutputTokens: most, providerOptions })
}

/** It follows all else, for it changes with each request, and what comes before it does not (T12). */
function within(
  options: ModelRequest,
  { maxOutputTokens, told }: Extract<Charged, { readonly kind: 'charged' }>,
): ModelRequest {
  const line =
    told === null
      ? []
      : [{ role: 'user' as const, content: [{ type: 'text' as const, text: SYSTEM_NOTE + told }] }]
  if (maxOutputTokens === null && line.length === 0) return options
  const bound = maxOutputTokens === null ? options : withBound(options, maxOutputTokens)
  return { ...bound, prompt: [...bound.prompt, ...line] }
}

/** Where no other call of the run follows, what the request holds is given back at once; otherwise the next charge does it. */
export async function endCharge(
  { store }: ActivityDependencies,
  step: ModelStep,
  answer: CallModelAnswer,
): Promise<void> {
  const chargeId = chargedSteps.get(step)
  if (chargeId === undefined) return
  const { input, startedAt, log } = step
  const { threadId } = input
  if (answer.type === 'answered' && answer.calls.length > 0) {
    if (log.last !== undefined) rememberRequest(threadId, chargeId, log.last)
    return
  }
  await endChargeOf(store, {
    threadId,
    at: toMicros(Math.round(input.now + performance.now() - startedAt)),
  })
}
