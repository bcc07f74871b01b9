/**
 * The subjects of budgets that a call of a thread is charged to.
 * Owns: which budgets the store has for a thread, the names of subjects, and their order, in which their rows are locked.
 * Does not own: the budgets of worker and agent, which are code, and the rows of what was used (`spending.ts`).
 */
import { sql } from 'kysely'
import { limitTools } from '../../policy/budget-judgement.js'
import { BUDGET_PERIODS, limitsOf, lowestOf } from '../../policy/budget.js'
import type { Budget, Budgets, Limit, OwnerBudgets } from '../../policy/budget.js'
import type { BudgetPeriod, BudgetScope } from '../../protocol/event-codes.js'
import type { ThreadPermissions } from '../../policy/judge.js'
import type { Reader } from '../store.js'
import { prepared } from '../transaction.js'
import { keepUpTo } from './keep-up-to.js'

type Json = string | null

/**
 * The columns with the budgets that the store has for a thread: its own, and those of its root, its account and its user. They are part of
 * the statement that reads the thread's row, so that budgets need no statement more. As text, for building it would cost more than running it.
 */
export const BUDGET_COLUMNS = [
  'threads.root_thread_id as budgets_root_id',
  'threads.account as budgets_account',
  'threads.user_id as budgets_user_id',
  'threads.budgets as budgets_of_thread',
  sql<Json>`case when threads.root_thread_id = threads.id then null else
    (select root.budgets from threads root where root.id = threads.root_thread_id) end`.as('budgets_of_root'),
  sql<Json>`(select owner.budgets from owner_budgets owner
    where owner.account = threads.account and owner.user_id = '')`.as('budgets_of_account'),
  sql<Json>`(select owner.budgets from owner_budgets owner
    where owner.account = coalesce(threads.account, '') and owner.user_id = threads.user_id)`.as(
    'budgets_of_user',
  ),
] as const

/** Their names. */
const BUDGET_FIELDS = [
  ...(['budgets_root_id', 'budgets_account', 'budgets_user_id'] as const),
  ...(['budgets_of_thread', 'budgets_of_root', 'budgets_of_account', 'budgets_of_user'] as const),
] as const

type BudgetRow = Readonly<Record<(typeof BUDGET_FIELDS)[number], Json>> & { readonly budgets_root_id: string }

/** What the store has for a thread. `unread`: whoever needs it reads it. */
export type StoredBudgets = BudgetRow | 'unread'

/** Where the budgets of a run are: in the code of its worker, for every thread, and of its agent, for each of its runs, and in the store. */
export interface BudgetSources {
  readonly worker: Budgets | undefined
  readonly agent: Budget | undefined
  readonly stored: StoredBudgets
}

/** Whether any of these can have a budget for the thread. */
export function haveBudgets({ worker, agent, stored }: BudgetSources): boolean {
  if (stored === 'unread' || worker !== undefined || agent !== undefined) return true
  const { budgets_of_thread: thread, budgets_of_root: root, budgets_of_account: account } = stored
  return (thread ?? root ?? account ?? stored.budgets_of_user) !== null
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
  /** The lowest of each kind. */
  readonly lowest: ReturnType<typeof lowestOf>
}

/** The subjects of a run, from the widest to the narrowest. */
export interface Subjects {
  readonly all: readonly BudgetSubject[]
  /** Those whose limits can refuse a call of a tool. */
  readonly ofTools: readonly BudgetSubject[]
}

const NOBODY: Subjects = { all: [], ofTools: [] }

interface BudgetedRun {
  readonly threadId: string
  readonly run: number
}

/** The subjects whose budgets hold for a run; none without any budget. */
export async function readSubjects(
  db: Reader,
  { threadId, run }: BudgetedRun,
  { worker, agent, stored }: BudgetSources,
): Promise<Subjects> {
  const row = stored === 'unread' ? (await readBudgets(db, [threadId]))[0] : stored
  return row === undefined ? NOBODY : knownSubjects({ threadId, run, worker, agent, row })
}

/** All that the subjects of a run are made of. */
interface Making extends BudgetedRun, Pick<BudgetSources, 'worker' | 'agent'> {
  readonly row: BudgetRow
}

/** The subjects of the newest calls of threads: those of the next call are nearly always the same. */
const made = new Map<string, { readonly of: Making; readonly subjects: Subjects }>()
const MOST_MADE = 2_000

function knownSubjects(making: Making): Subjects {
  const known = made.get(making.threadId)
  if (known !== undefined && isSame(known.of, making)) return known.subjects
  const all = makeSubjects(making)
  const subjects = { all, ofTools: all.filter(({ limits }) => limitTools(limits)) }
  keepUpTo(MOST_MADE, made, making.threadId, { of: making, subjects })
  return subjects
}

/** By value what the store has, which is text, and by identity what is code. */
function isSame(one: Making, other: Making): boolean {
  const { row } = one
  if (one.run !== other.run || one.worker !== other.worker || one.agent !== other.agent) return false
  return BUDGET_FIELDS.every((name) => row[name] === other.row[name])
}

function makeSubjects({ threadId, run, worker, agent, row }: Making): readonly BudgetSubject[] {
  const { budgets_account: account, budgets_user_id: userId, budgets_root_id: rootThreadId } = row
  const own = readJson<Budgets>(row.budgets_of_thread)
  const root = rootThreadId === threadId ? own : readJson<Budgets>(row.budgets_of_root)
  return [
    ...ownerSubjects('account', accountOwner(account), readJson<OwnerBudgets>(row.budgets_of_account)),
    ...ownerSubjects('user', userOwner(account, userId), readJson<OwnerBudgets>(row.budgets_of_user)),
    ...subject('tree', treeOwner(rootThreadId), rootThreadId, [worker?.tree, root?.tree]),
    ...subject('thread', threadOwner(threadId), threadId, [worker?.thread, own?.thread]),
    ...subject('run', runOwner(threadId, run), threadId, [worker?.run, agent, own?.run]),
  ]
}

const readBudgets = prepared<BudgetRow>(([threadId], db) =>
  db.selectFrom('threads').select(BUDGET_COLUMNS).where('threads.id', '=', String(threadId)),
)

/** Whom a thread works for, and whether anybody can be asked. */
export async function readPeople(
  db: Reader,
  threadId: string,
): Promise<{ readonly requester: string | null; readonly isInteractive: boolean }> {
  const row = await db
    .selectFrom('threads')
    .select(['user_id', 'permissions'])
    .where('id', '=', threadId)
    .executeTakeFirst()
  const { interactive = true } = readJson<ThreadPermissions>(row?.permissions ?? null) ?? {}
  return { requester: row?.user_id ?? null, isInteractive: interactive }
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

/** The row of a thread, which has its charge, whether it has a budget or not. It is locked before those of all other subjects. */
export function threadSubject(
  threadId: string,
): Pick<BudgetSubject, 'owner' | 'threadId'> & { readonly period: 'total' } {
  return { owner: threadOwner(threadId), period: 'total', threadId }
}

function ownerSubjects(
  scope: 'account' | 'user',
  owner: string,
  budgets: OwnerBudgets | null,
): readonly BudgetSubject[] {
  return BUDGET_PERIODS.flatMap((period) => {
    const limits = limitsOf([budgets?.[period]])
    return limits.length === 0
      ? []
      : [{ scope, period, owner, threadId: null, limits, lowest: lowestOf(limits) }]
  })
}

function subject(
  scope: 'tree' | 'thread' | 'run',
  owner: string,
  threadId: string,
  budgets: readonly (Budget | undefined)[],
): readonly BudgetSubject[] {
  const limits = limitsOf(budgets)
  return limits.length === 0
    ? []
    : [{ scope, period: 'total', owner, threadId, limits, lowest: lowestOf(limits) }]
}

/** Columns that this store has written: its boundary. */
function readJson<Value>(text: string | null): Value | null {
  return text === null ? null : (JSON.parse(text) as Value)
}
