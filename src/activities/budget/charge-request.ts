/**
 * The charge of a request to a model.
 * Owns: what such a request needs, the bound of its answer and the line about what is left, and the end of its charge where no other
 * call of the run follows.
 * Does not own: the charge itself (`charge.ts`), and what is committed where a request does not fit (`turn/answer-commit.ts`).
 */
import type { ModelContent } from '../../definitions/plan/plan-content.js'
import { SYSTEM_NOTE } from '../../model/context/assemble-prompt.js'
import { textTokens } from '../../model/context/row-tokens.js'
import type { ModelRequest } from '../../model/stream-answer.js'
import type { CallModelAnswer } from '../../protocol/activities.js'
import type { ActivityDependencies } from '../activity.js'
import { readScheduledTime } from '../temporal-activity.js'
import type { ModelStep } from '../turn/model-step.js'
import { pricesOf } from '../turn/request-log.js'
import { endChargeOf } from '../../store/budgets/charges.js'
import { chargeCall } from './charge.js'
import type { OverBudget } from './charge.js'
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
  /** Whether the store has budgets for the thread. */
  readonly hasBudgets: boolean
}

/** The steps whose requests were charged in this activity. */
const charged = new WeakSet<ModelStep>()

/**
 * Charges the next request of a step. Returns the request as it may be sent: with a bound of its answer, and with a line about what is left.
 * Without a budget it does nothing.
 * @throws NoBudget
 */
export async function chargeRequest(
  { store, budgets: worker }: ActivityDependencies,
  { step, model, options, tokens, hasBudgets }: Requesting,
): Promise<ModelRequest> {
  const { input, operation, content, log, scope, now } = step
  const { budget: agent } = content
  if (!hasBudgets && worker === undefined && agent === undefined) return options
  const { threadId, run, frame } = input
  const waitedSince = await takeAnswer(store, { threadId, now, scope, response: answerOf(step) })
  const call = {
    ...{ threadId, run, operation: operation.id, number: log.number + 1 },
    need: needOf(content.models[model], { model, options, tokens, isStep: frame === null && step.isStep }),
    previous: log.last,
    waitedSince,
    scheduledAt: readScheduledTime(),
    now,
    scope,
  }
  const outcome = await chargeCall(store, call, { worker, agent })
  if (outcome.kind !== 'charged') throw new NoBudget(outcome.kind === 'over' ? outcome.over : null)
  charged.add(step)
  return within(options, outcome)
}

/** The answer for which the call waited is taken with its first request only. */
function answerOf({ input, log }: ModelStep): ModelStep['input']['response'] {
  return log.isFresh ? input.response : undefined
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
    maxOutputTokens: options.maxOutputTokens ?? null,
    prices: { input: inputPrice, output: outputPrice },
  } as const
}

/** The line about what is left. */
const LINE_TOKENS = textTokens(
  'Budget: of several limits something is left. Finish your work in time.'.repeat(2),
)

/** It follows all else, for it changes with each request, and what comes before it does not (T12). */
function within(
  options: ModelRequest,
  { maxOutputTokens, told }: Extract<Awaited<ReturnType<typeof chargeCall>>, { readonly kind: 'charged' }>,
): ModelRequest {
  const line =
    told === null
      ? []
      : [{ role: 'user' as const, content: [{ type: 'text' as const, text: SYSTEM_NOTE + told }] }]
  return {
    ...options,
    ...(maxOutputTokens !== null && { maxOutputTokens }),
    prompt: [...options.prompt, ...line],
  }
}

/** Where no other call of the run follows, what the request holds is given back at once. */
export async function endCharge(
  { store }: ActivityDependencies,
  step: ModelStep,
  answer: CallModelAnswer,
): Promise<void> {
  if (!charged.has(step) || (answer.type === 'answered' && answer.calls.length > 0)) return
  await endChargeOf(store, { threadId: step.input.threadId, operation: step.operation.id })
}
