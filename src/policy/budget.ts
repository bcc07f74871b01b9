/**
 * Budgets: how much of what a run, a thread, a tree of threads, a user or an account may use.
 * Owns: the shape of a budget, its checks, and which limits several budgets of one subject make together.
 * Does not own: whether a call fits (`budget-judgement.ts`), what was used (`store/budgets`), and what happens at a limit
 * (`activities/budget`).
 * Invariant: another source can only make a limit lower.
 */
import type { BudgetLimit, BudgetPeriod } from '../protocol/event-codes.js'
import { utf8Length } from '../protocol/values.js'
import { approvalRuleProblem, combineApprovalRules, demandsMore } from './approval.js'
import type { ApprovalRule, CombinedApproval } from './approval.js'

/** The most that may be used. A limit that is left out does not limit. */
export interface Budget {
  /** Steps: a model call with the tool calls that follow from its answer. */
  readonly maxSteps?: number
  /** Requests to models, those that failed included. */
  readonly maxModelCalls?: number
  /** Calls of tools, agents and prompts that a model has made. */
  readonly maxToolCalls?: number
  /** Seconds of work of runs; the time in which a run waits for a person does not count. It is looked at before each call. */
  readonly maxRuntimeSeconds?: number
  /** Tokens of requests, those from a cache included. */
  readonly maxInputTokens?: number
  readonly maxOutputTokens?: number
  /** US dollars. All models that are called need prices. */
  readonly maxCost?: number
  /**
   * `end`: the run ends with reason `budget_exceeded`. `ask`: a person is asked, who may raise the limit, and the same run goes on.
   * In a thread that is not interactive it ends.
   * @default 'end'
   */
  readonly onExceeded?: 'end' | 'ask'
  /** Who may raise it. @default everybody who may answer requests of the thread */
  readonly approval?: Pick<ApprovalRule, 'roles' | 'fourEyes'>
  /** The share of a limit at which an event warns, once. @default 0.8 */
  readonly warnAt?: number
  /**
   * True: a line at the end of each request tells the model what is left, so that it comes to an end in time.
   * @default false
   */
  readonly tellModel?: boolean
}

/** The budgets of a thread: of each of its runs, of itself, and, on a root thread, of itself with all of its subagents. */
export interface Budgets {
  readonly run?: Budget
  readonly thread?: Budget
  readonly tree?: Budget
}

/** The budgets of an account or a user: in all, and for each hour, day and month of UTC. */
export interface OwnerBudgets {
  readonly total?: Budget
  readonly hour?: Budget
  readonly day?: Budget
  readonly month?: Budget
}

/** What is limited. */
export const BUDGET_LIMITS: readonly BudgetLimit[] = [
  'maxSteps',
  'maxModelCalls',
  'maxToolCalls',
  'maxRuntimeSeconds',
  'maxInputTokens',
  'maxOutputTokens',
  'maxCost',
]

export const BUDGET_PERIODS: readonly BudgetPeriod[] = ['total', 'hour', 'day', 'month']

/** One limit of a subject, of one of its budgets. */
export interface Limit {
  readonly name: BudgetLimit
  /** In the limit's own unit: a number, seconds, or dollars. */
  readonly most: number
  readonly onExceeded: 'end' | 'ask'
  readonly warnAt: number
  readonly tellModel: boolean
  readonly approval: CombinedApproval
}

const WARN_AT = 0.8

/**
 * The limits of all budgets of one subject, the lowest of each kind first, and of equal ones the one that ends. All of them hold: a limit
 * that a person raises leaves those of others as they are.
 */
export function limitsOf(budgets: readonly (Budget | undefined)[]): readonly Limit[] {
  const rank = ({ onExceeded }: Limit): number => Number(onExceeded === 'ask')
  return budgets
    .flatMap((budget) => (budget === undefined ? [] : ownLimits(budget)))
    .toSorted((one, other) => one.most - other.most || rank(one) - rank(other))
}

/** The lowest of these limits of each kind. */
export function lowestOf(limits: readonly Limit[]): Readonly<Partial<Record<BudgetLimit, number>>> {
  const lowest = new Map<BudgetLimit, number>()
  for (const { name, most } of limits) lowest.set(name, Math.min(most, lowest.get(name) ?? most))
  return Object.fromEntries(lowest)
}

/** A limit that a person has raised. */
export interface RaisedLimit {
  readonly most: number
  /** Who could raise it. */
  readonly approval: CombinedApproval
}

export type RaisedLimits = Readonly<Partial<Record<BudgetLimit, RaisedLimit>>>

/** The limits as persons have raised them: only those that ask, and whose rule asks for nobody else than the one that was answered. */
export function raiseLimits(limits: readonly Limit[], raised: RaisedLimits): readonly Limit[] {
  if (Object.keys(raised).length === 0) return limits
  return limits.map((limit) => {
    const { most, approval } = raised[limit.name] ?? {}
    if (most === undefined || limit.onExceeded !== 'ask') return limit
    if (demandsMore(limit.approval, approval ?? {})) return limit
    return { ...limit, most: Math.max(limit.most, most) }
  })
}

function ownLimits(budget: Budget): readonly Limit[] {
  const { onExceeded = 'end', warnAt = WARN_AT, tellModel = false, approval } = budget
  return BUDGET_LIMITS.flatMap((name) => {
    const most = budget[name]
    if (most === undefined) return []
    return [{ name, most, onExceeded, warnAt, tellModel, approval: combineApprovalRules([approval]) }]
  })
}

/** Sums of a year of the largest accounts fit into 53 bits, in millionths of a dollar. */
const HIGHEST = 1_000_000_000

const OPTIONS: readonly string[] = [...BUDGET_LIMITS, 'onExceeded', 'approval', 'warnAt', 'tellModel']

/** What is wrong with a budget; undefined is nothing. */
export function budgetProblem(budget: unknown): string | undefined {
  if (typeof budget !== 'object' || budget === null || Array.isArray(budget))
    return `expected a budget such as { maxCost: 0.5 }, got ${show(budget)}`
  const unknown = Object.keys(budget).find((name) => !OPTIONS.includes(name))
  if (unknown !== undefined) return `expected ${OPTIONS.join(', ')} only, got "${unknown.slice(0, 60)}"`
  const given = budget as Readonly<Record<string, unknown>>
  const wrong = BUDGET_LIMITS.map((name) => limitProblem(name, given[name])).find(
    (problem) => problem !== undefined,
  )
  if (wrong !== undefined) return wrong
  if (BUDGET_LIMITS.every((name) => given[name] === undefined))
    return `expected one of ${BUDGET_LIMITS.join(', ')}, got none`
  return optionProblem(given)
}

/** Numbers of calls and tokens are whole; seconds and dollars need not be. */
const DIVISIBLE: ReadonlySet<string> = new Set<BudgetLimit>(['maxRuntimeSeconds', 'maxCost'])

/** What is wrong with the value of a limit. */
export function limitProblem(name: BudgetLimit, value: unknown): string | undefined {
  if (value === undefined) return undefined
  const isRight =
    typeof value === 'number' &&
    value > 0 &&
    value <= HIGHEST &&
    (DIVISIBLE.has(name) || Number.isInteger(value))
  if (isRight) return undefined
  const kind = DIVISIBLE.has(name) ? 'a number above 0' : 'a whole number from 1'
  return `expected ${name} to be ${kind}, at most ${HIGHEST}, got ${show(value)}`
}

function optionProblem({
  onExceeded,
  warnAt,
  tellModel,
  approval,
}: Readonly<Record<string, unknown>>): string | undefined {
  if (onExceeded !== undefined && onExceeded !== 'end' && onExceeded !== 'ask')
    return `expected onExceeded to be "end" or "ask", got ${show(onExceeded)}`
  if (warnAt !== undefined && !(typeof warnAt === 'number' && warnAt > 0 && warnAt <= 1))
    return `expected warnAt to be a share above 0, at most 1, got ${show(warnAt)}`
  if (tellModel !== undefined && typeof tellModel !== 'boolean')
    return `expected tellModel to be true or false, got ${show(tellModel)}`
  const wrong = approvalRuleProblem(approval)
  return wrong === undefined ? undefined : `approval: ${wrong}`
}

/** The sources of a worker, an agent and a thread are in the row of a thread. */
const MOST_BYTES = 16_384

/** What is wrong with the budgets of a thread. */
export function budgetsProblem(budgets: unknown): string | undefined {
  return partsProblem(budgets, ['run', 'thread', 'tree'])
}

/**
 * What is wrong with the budgets of an account or a user. A user of the thread must not raise what holds for the whole account, so
 * one that asks names who may.
 */
export function ownerBudgetsProblem(budgets: unknown): string | undefined {
  const wrong = partsProblem(budgets, BUDGET_PERIODS)
  if (wrong !== undefined) return wrong
  // Checked in the line above.
  const open = Object.entries(budgets as OwnerBudgets).find(
    ([, budget]: readonly [string, Budget | undefined]) =>
      budget?.onExceeded === 'ask' && budget.approval?.roles === undefined,
  )
  return open === undefined
    ? undefined
    : `${open[0]}: expected approval.roles beside onExceeded: "ask", which say who may raise it, got none`
}

function partsProblem(budgets: unknown, names: readonly string[]): string | undefined {
  if (budgets === undefined) return undefined
  if (typeof budgets !== 'object' || budgets === null || Array.isArray(budgets))
    return `expected budgets such as { ${names[0] ?? ''}: { maxCost: 0.5 } }, got ${show(budgets)}`
  const entries = Object.entries(budgets as Readonly<Record<string, unknown>>)
  const unknown = entries.find(([name]) => !names.includes(name))
  if (unknown !== undefined) return `expected ${names.join(', ')} only, got "${unknown[0].slice(0, 60)}"`
  for (const [name, budget] of entries) {
    const problem = budget === undefined ? undefined : budgetProblem(budget)
    if (problem !== undefined) return `${name}: ${problem}`
  }
  const bytes = utf8Length(JSON.stringify(budgets))
  return bytes > MOST_BYTES
    ? `expected budgets of at most ${MOST_BYTES} bytes of JSON, got ${bytes}`
    : undefined
}

function show(value: unknown): string {
  if (value === null || Array.isArray(value)) return value === null ? 'null' : 'an array'
  if (typeof value === 'string') return JSON.stringify(value.slice(0, 60))
  return typeof value === 'number' ? String(value) : typeof value
}
