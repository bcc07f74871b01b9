/**
 * The subjects of budgets that a call of a thread is charged to.
 * Owns: which budgets the store has for a thread, the names of subjects, and their order, in which their rows are locked.
 * Does not own: the budgets of worker and agent, which are code, and the rows of what was used (`spending.ts`).
 */
import { sql } from 'kysely'
import { BUDGET_PERIODS, limitsOf } from '../../policy/budget.js'
import type { Budget, Budgets, Limit, OwnerBudgets } from '../../policy/budget.js'
import type { BudgetPeriod, BudgetScope } from '../../protocol/event-codes.js'
import type { ThreadPermissions } from '../../policy/judge.js'
import type { Reader, Writer } from '../store.js'
import { prepared } from '../transaction.js'

/**
 * A column that is 1 if the store has a budget for a thread. It is part of the statement that reads the thread's row, so that
 * without budgets there is no statement more.
 */
export const HAS_BUDGETS = sql<number>`case when threads.budgets is not null
  or exists (select 1 from threads root where root.id = threads.root_thread_id and root.budgets is not null)
  or exists (select 1 from owner_budgets owner where owner.account = coalesce(threads.account, '')
    and owner.user_id in ('', coalesce(threads.user_id, ''))) then 1 else 0 end`

/** Budgets that the code of a worker gives: of itself, for every thread, and of the agent, for each of its runs. */
export interface DefinedBudgets {
  readonly worker: Budgets | undefined
  readonly agent: Budget | undefined
}

/** One subject of budgets in a period. */
export interface BudgetSubject {
  readonly scope: BudgetScope
  readonly period: BudgetPeriod
  /** Unique among subjects. */
  readonly owner: string
  /** The thread with which what it has used is deleted. */
  readonly threadId: string | null
  readonly limits: readonly Limit[]
}

interface BudgetedRun {
  readonly threadId: string
  readonly run: number
}

type Json = string | null

/** Budgets of others that hold for a thread; as text, for building the statement would cost more than running it. */
const OTHERS = [
  sql<Json>`(select root.budgets from threads root where root.id = threads.root_thread_id)`.as('of_root'),
  sql<Json>`(select owner.budgets from owner_budgets owner
    where owner.account = threads.account and owner.user_id = '')`.as('of_account'),
  sql<Json>`(select owner.budgets from owner_budgets owner
    where owner.account = coalesce(threads.account, '') and owner.user_id = threads.user_id)`.as('of_user'),
] as const

interface BudgetsOfRun {
  /** From the widest to the narrowest; empty without any budget. */
  readonly subjects: readonly BudgetSubject[]
  /** The user for whom the thread works. */
  readonly requester: string | null
  /** False: nobody can be asked. */
  readonly isInteractive: boolean
}

/** The subjects whose budgets hold for a run. */
export async function readSubjects(
  db: Reader,
  run: BudgetedRun,
  defined: DefinedBudgets,
): Promise<BudgetsOfRun> {
  return subjectsOf(run, defined, await selectBudgets(db, run.threadId).executeTakeFirst())
}

/** The same for a call that is about to be charged. */
export async function readChargedSubjects(
  tx: Writer,
  run: BudgetedRun,
  defined: DefinedBudgets,
): Promise<BudgetsOfRun> {
  const [row] = await readBudgets(tx, [run.threadId])
  return subjectsOf(run, defined, row)
}

function selectBudgets(db: Reader, threadId: string) {
  return db
    .selectFrom('threads')
    .select(['root_thread_id', 'account', 'user_id', 'budgets', 'permissions', ...OTHERS])
    .where('id', '=', threadId)
}

const readBudgets = prepared(([threadId], tx) => selectBudgets(tx, String(threadId)))

type BudgetRow = Awaited<ReturnType<typeof readBudgets>>[number]

function subjectsOf(
  { threadId, run }: BudgetedRun,
  { worker, agent }: DefinedBudgets,
  row: BudgetRow | undefined,
): BudgetsOfRun {
  if (row === undefined) return { subjects: [], requester: null, isInteractive: true }
  const { root_thread_id: rootThreadId, account, user_id: userId } = row
  const own = readJson<Budgets>(row.budgets)
  const root = readJson<Budgets>(row.of_root)
  const subjects = [
    ...ownerSubjects('account', accountOwner(account), readJson<OwnerBudgets>(row.of_account)),
    ...ownerSubjects('user', userOwner(account, userId), readJson<OwnerBudgets>(row.of_user)),
    ...subject('tree', treeOwner(rootThreadId), rootThreadId, [worker?.tree, root?.tree]),
    ...subject('thread', threadOwner(threadId), threadId, [worker?.thread, own?.thread]),
    ...subject('run', runOwner(threadId, run), threadId, [worker?.run, agent, own?.run]),
  ]
  const { interactive = true } = readJson<ThreadPermissions>(row.permissions) ?? {}
  return { subjects, requester: userId, isInteractive: interactive }
}

/** The owners whose budgets can hold for a run, from the widest to the narrowest, with or without any. */
export async function ownersOf(
  db: Reader,
  { threadId, run }: BudgetedRun,
): Promise<readonly Pick<BudgetSubject, 'scope' | 'period' | 'owner'>[]> {
  const row = await db
    .selectFrom('threads')
    .select(['root_thread_id', 'account', 'user_id'])
    .where('id', '=', threadId)
    .executeTakeFirst()
  if (row === undefined) return []
  const { root_thread_id: root, account, user_id: userId } = row
  const of = (scope: 'account' | 'user', owner: string) =>
    BUDGET_PERIODS.map((period) => ({ scope, period, owner }))
  return [
    ...(account === null ? [] : of('account', accountOwner(account))),
    ...(userId === null ? [] : of('user', userOwner(account, userId))),
    { scope: 'tree', period: 'total', owner: treeOwner(root) },
    { scope: 'thread', period: 'total', owner: threadOwner(threadId) },
    { scope: 'run', period: 'total', owner: runOwner(threadId, run) },
  ]
}

/** The name of an account or a user among owners. */
export function ownerName({
  account,
  userId,
}: {
  readonly account?: string
  readonly userId?: string
}): string {
  return userId === undefined ? accountOwner(account ?? null) : userOwner(account ?? null, userId)
}

/** Parts are encoded, so that no two owners have one name. */
function accountOwner(account: string | null): string {
  return `account:${encodeURIComponent(account ?? '')}`
}

function userOwner(account: string | null, userId: string | null): string {
  return `user:${encodeURIComponent(account ?? '')}:${encodeURIComponent(userId ?? '')}`
}

function treeOwner(rootThreadId: string): string {
  return `tree:${rootThreadId}`
}

function threadOwner(threadId: string): string {
  return `thread:${threadId}`
}

function runOwner(threadId: string, run: number): string {
  return `run:${run}:${threadId}`
}

function ownerSubjects(
  scope: 'account' | 'user',
  owner: string,
  budgets: OwnerBudgets | null,
): readonly BudgetSubject[] {
  return BUDGET_PERIODS.flatMap((period) => {
    const limits = limitsOf([budgets?.[period]])
    return limits.length === 0 ? [] : [{ scope, period, owner, threadId: null, limits }]
  })
}

function subject(
  scope: 'tree' | 'thread' | 'run',
  owner: string,
  threadId: string,
  budgets: readonly (Budget | undefined)[],
): readonly BudgetSubject[] {
  const limits = limitsOf(budgets)
  return limits.length === 0 ? [] : [{ scope, period: 'total', owner, threadId, limits }]
}

/** Columns that this store has written: its boundary. */
function readJson<Value>(text: string | null): Value | null {
  return text === null ? null : (JSON.parse(text) as Value)
}
