/**
 * Whether a call fits into the budgets of its thread.
 * Owns: what a call takes from a budget before it begins, how much a model may answer, and what is worth a warning.
 * Does not own: the limits (`budget.ts`), and the rows of what was used (`store/budgets`).
 * Invariants:
 * - Numbers of steps and calls are exact: a call that would be one too many does not begin.
 * - Of tokens and dollars as much is held before a request as it may use, by the estimate of its input and by the bound of its
 *   output: requests of other threads at the same time leave that alone. What was really used takes its place.
 */
import type { BudgetLimit, BudgetPeriod, BudgetScope } from '../protocol/event-codes.js'
import type { Limit } from './budget.js'

/** What was used. */
export interface Spent {
  readonly steps: number
  readonly modelCalls: number
  readonly toolCalls: number
  /** Milliseconds. */
  readonly runtime: number
  readonly inputTokens: number
  readonly outputTokens: number
  /** Millionths of a dollar. */
  readonly cost: number
}

/** What requests in flight may still use. */
export type Held = Pick<Spent, 'inputTokens' | 'outputTokens' | 'cost'>

export const NOTHING_SPENT: Spent = {
  steps: 0,
  modelCalls: 0,
  toolCalls: 0,
  runtime: 0,
  inputTokens: 0,
  outputTokens: 0,
  cost: 0,
}

export const NOTHING_HELD: Held = { inputTokens: 0, outputTokens: 0, cost: 0 }

/** One subject of budgets, with what it has used. */
export interface Account {
  readonly scope: BudgetScope
  readonly period: BudgetPeriod
  readonly limits: readonly Limit[]
  readonly spent: Spent
  /** By requests in flight of all threads. */
  readonly held: Held
}

/** A request to a model that is about to be sent. */
export interface ModelNeed {
  readonly kind: 'model'
  /** It is the first request of a step. */
  readonly isStep: boolean
  readonly model: string
  /** The estimate of its input. */
  readonly inputTokens: number
  /** The most that its definition lets it answer; null: unknown. */
  readonly maxOutputTokens: number | null
  /** Dollars for a million tokens; null: unknown. */
  readonly prices: { readonly input: number | null; readonly output: number | null }
}

export type Need = ModelNeed | { readonly kind: 'tool' }

/** A limit that a call does not fit into. */
export interface Exceeded {
  readonly scope: BudgetScope
  readonly period: BudgetPeriod
  readonly limit: Limit
  /** What was used, in the unit of the limit. */
  readonly used: number
  /** The model without a price, for which no cost can be known. */
  readonly unpriced?: string
}

export type BudgetJudgement =
  | {
      readonly kind: 'fits'
      readonly held: Held
      /** The most tokens of the answer; null: the budgets do not bound it further. */
      readonly maxOutputTokens: number | null
    }
  | { readonly kind: 'exceeded'; readonly exceeded: Exceeded }
  /** It will fit if requests in flight use less than they may. */
  | { readonly kind: 'waits' }

/** Providers refuse requests for shorter answers. */
export const SHORTEST_ANSWER = 16

/** What an answer may take if its model's definition does not say. */
const USUAL_ANSWER = 16_384

/** The same for each subject. */
export function judgeBudgets(need: Need, accounts: readonly Account[]): BudgetJudgement {
  let waits = false
  let bound = Infinity
  for (const account of accounts)
    for (const limit of account.limits) {
      const { left, now } = roomFor(need, account, limit)
      if (left <= 0) return { kind: 'exceeded', exceeded: exceededBy(need, account, limit) }
      if (now <= 0) waits = true
      bound = Math.min(bound, now)
    }
  if (waits) return { kind: 'waits' }
  if (need.kind === 'tool') return { kind: 'fits', held: NOTHING_HELD, maxOutputTokens: null }
  const natural = need.maxOutputTokens ?? USUAL_ANSWER
  const outputTokens = Math.min(natural, bound)
  const { input, output } = need.prices
  const cost = Math.ceil(need.inputTokens * (input ?? 0) + outputTokens * (output ?? 0))
  const held = { inputTokens: need.inputTokens, outputTokens, cost }
  return { kind: 'fits', held, maxOutputTokens: bound < natural ? outputTokens : null }
}

/** How many tokens the answer of a call may have by a limit: without those in flight, and beside them; 0: it does not fit. */
interface Room {
  readonly left: number
  readonly now: number
}

const ENOUGH: Room = { left: Infinity, now: Infinity }
const NONE: Room = { left: 0, now: 0 }

/** Whether one of these limits can refuse a call of a tool: only then is it charged. */
export function limitTools(limits: readonly Pick<Limit, 'name'>[]): boolean {
  return limits.some(({ name }) => name === 'maxToolCalls' || name === 'maxRuntimeSeconds')
}

function roomFor(need: Need, { spent, held }: Account, { name, most }: Limit): Room {
  if (name === 'maxRuntimeSeconds') return spent.runtime < most * 1000 ? ENOUGH : NONE
  if (name === 'maxToolCalls') return need.kind !== 'tool' || spent.toolCalls < most ? ENOUGH : NONE
  if (need.kind === 'tool') return ENOUGH
  switch (name) {
    case 'maxSteps':
      return !need.isStep || spent.steps < most ? ENOUGH : NONE
    case 'maxModelCalls':
      return spent.modelCalls < most ? ENOUGH : NONE
    case 'maxInputTokens': {
      const fits = (used: number): number => (used + need.inputTokens <= most ? Infinity : 0)
      return { left: fits(spent.inputTokens), now: fits(spent.inputTokens + held.inputTokens) }
    }
    case 'maxOutputTokens': {
      const left = most - spent.outputTokens
      return { left: answerOf(left), now: answerOf(left - held.outputTokens) }
    }
    case 'maxCost': {
      const left = most * 1_000_000 - spent.cost
      return { left: affordable(need, left), now: affordable(need, left - held.cost) }
    }
  }
}

/** An answer of so many tokens, or none. */
function answerOf(tokens: number): number {
  return tokens < SHORTEST_ANSWER ? 0 : tokens
}

function affordable({ inputTokens, prices: { input, output } }: ModelNeed, money: number): number {
  if (input === null || output === null) return 0
  const left = money - inputTokens * input
  if (left < 0) return 0
  return output === 0 ? Infinity : answerOf(Math.floor(left / output))
}

function exceededBy(need: Need, { scope, period, spent }: Account, limit: Limit): Exceeded {
  const isUnpriced =
    limit.name === 'maxCost' &&
    need.kind === 'model' &&
    (need.prices.input === null || need.prices.output === null)
  return {
    scope,
    period,
    limit,
    used: usedOf(spent, limit.name),
    ...(isUnpriced && { unpriced: need.model }),
  }
}

/** What was used of a limit, in its unit. */
export function usedOf(spent: Spent, name: BudgetLimit): number {
  switch (name) {
    case 'maxSteps':
      return spent.steps
    case 'maxModelCalls':
      return spent.modelCalls
    case 'maxToolCalls':
      return spent.toolCalls
    case 'maxRuntimeSeconds':
      return Math.floor(spent.runtime) / 1000
    case 'maxInputTokens':
      return spent.inputTokens
    case 'maxOutputTokens':
      return spent.outputTokens
    case 'maxCost':
      return spent.cost / 1_000_000
  }
}

/** The limits of which so much is used that it is worth a warning. */
export function nearLimits({ limits, spent }: Pick<Account, 'limits' | 'spent'>): readonly Limit[] {
  return limits.filter(({ name, most, warnAt }) => usedOf(spent, name) >= most * warnAt)
}
