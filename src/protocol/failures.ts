/**
 * Every failure that leaves an activity or a workflow is built here, from one table. A failure lands in history in
 * plain sight, so it holds a type, a fixed sentence and an error id; the real error, with its text and stack, is in the
 * store under that id (T5). Types are wire format: never renamed, only added.
 */
import { ApplicationFailure, ApplicationFailureCategory } from '@temporalio/common'
import type { ApplicationFailureOptions } from '@temporalio/common'

interface FailureKind {
  readonly retryable: boolean
  /** Our own line of the log says more than the SDK's, which is then a line of DEBUG. */
  readonly isLogged?: true
  readonly message: string
}

export const FAILURES = {
  'Thread.InvalidStart': { retryable: false, message: 'The start input is not valid.' },
  'Thread.UnknownLevel': {
    retryable: true,
    message: 'This worker is older than the thread. A newer worker will take the task.',
  },
  'Thread.OtherStore': {
    retryable: true,
    isLogged: true,
    message: 'The thread belongs to another store. A worker of that store will take the task.',
  },
  'Request.NotFound': { retryable: false, message: 'No request of this id waits for an answer.' },
  'Request.Invalid': { retryable: false, message: 'The answer does not fit its request.' },
  'Item.NotFound': {
    retryable: false,
    message: 'Nothing of this id waits in the queue and can be taken back.',
  },
  'Item.Invalid': {
    retryable: false,
    message: 'A removal names what waits by its id, and this one does not.',
  },
  'Definition.Missing': {
    retryable: true,
    isLogged: true,
    message: 'This worker does not have the definition.',
  },
  'Operation.Lost': { retryable: false, message: 'Another attempt holds this operation.' },
  'Operation.Stale': { retryable: true, message: 'A later attempt holds this operation.' },
  'Answer.TooLarge': { retryable: false, message: 'The answer of the activity is larger than 64 KB.' },
  'Worker.Shutdown': { retryable: true, message: 'The worker shut down; another one takes the task.' },
  'Store.Unavailable': { retryable: true, message: 'The store cannot be used.' },
  'Activity.Failed': { retryable: true, message: 'The activity failed.' },
} as const satisfies Record<string, FailureKind>

export type FailureType = keyof typeof FAILURES

/** An `ApplicationFailure` without stack and cause: both would put prompts and keys into history. */
export function failure(type: FailureType, errorId?: string): ApplicationFailure {
  const { message } = FAILURES[type]
  return withoutStack(type, { message: errorId === undefined ? message : `${message} (error ${errorId})` })
}

/**
 * Milliseconds before the next attempt. Of two workers on one task queue the right one has it after an attempt or two;
 * Temporal's server makes a second of each shorter pause. Where there is no right worker, it is looked for every ten
 * seconds: a hundred threads that wait so cost ten attempts a second.
 */
const OTHER_STORE_PAUSES = { first: 50, growth: 1.3, last: 10_000 }

/**
 * The refusal of a worker whose store is not the thread's. Where a worker of the right store polls the same task queue,
 * it takes one of the next attempts within seconds; where there is none, the attempts become rare. The worker says it
 * once by itself, so the SDK does not log each attempt.
 */
export function otherStoreFailure(attempt: number): ApplicationFailure {
  const { first, growth, last } = OTHER_STORE_PAUSES
  const { message } = FAILURES['Thread.OtherStore']
  const nextRetryDelay = Math.round(Math.min(first * growth ** (attempt - 1), last))
  return withoutStack('Thread.OtherStore', {
    message,
    nextRetryDelay,
  })
}

function withoutStack(type: FailureType, options: ApplicationFailureOptions): ApplicationFailure {
  const { retryable, isLogged }: FailureKind = FAILURES[type]
  const made = ApplicationFailure.create({
    ...options,
    type,
    nonRetryable: !retryable,
    ...(isLogged === true && { category: ApplicationFailureCategory.BENIGN }),
  })
  made.stack = ''
  return made
}

/** Whether an error, or anything that it was caused by, is a failure of this type. */
export function hasFailureType(error: unknown, type: FailureType): boolean {
  return failureTypes(error).has(type)
}

/** The types of all failures behind an error, nearest first; walks `cause` and aggregates, also where they form a ring. */
export function failureTypes(error: unknown): ReadonlySet<string> {
  const types = new Set<string>()
  const seen = new Set<unknown>()
  const waiting: unknown[] = [error]
  // A failure without a cause puts an undefined in line, with others behind it.
  while (waiting.length > 0) {
    const next = waiting.shift()
    if (!(next instanceof Error) || seen.has(next)) continue
    seen.add(next)
    if (next instanceof ApplicationFailure && typeof next.type === 'string') types.add(next.type)
    waiting.push(next.cause)
    if (next instanceof AggregateError) waiting.push(...next.errors)
  }
  return types
}
