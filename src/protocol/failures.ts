/**
 * Every failure that leaves an activity or a workflow is built here, from one table. A failure is readable in the
 * history, so it holds only a type, a fixed sentence and an error id; the real error, with its text and stack, is in the
 * store under that id (T5). Types are wire format: never renamed, only added.
 */
import { ApplicationFailure, ApplicationFailureCategory } from '@temporalio/common'
import type { ApplicationFailureOptions } from '@temporalio/common'

interface FailureKind {
  readonly retryable: boolean
  /** This package logs a more precise line itself, so the SDK logs the failure only at DEBUG. */
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
    message: 'The queue has no removable item of this id.',
  },
  'Item.Invalid': {
    retryable: false,
    message: 'Expected a removal with the id of a queued item.',
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
  'Worker.Died': { retryable: true, message: 'The worker died; another one takes the task.' },
  'Store.Unavailable': { retryable: true, message: 'The store cannot be used.' },
  'Activity.Failed': { retryable: true, message: 'The activity failed.' },
} as const satisfies Record<string, FailureKind>

export type FailureType = keyof typeof FAILURES

/** Builds an `ApplicationFailure` without stack and cause, which would put prompts and keys into the history. */
export function failure(type: FailureType, errorId?: string): ApplicationFailure {
  const { message } = FAILURES[type]
  return withoutStack(type, { message: errorId === undefined ? message : `${message} (error ${errorId})` })
}

/**
 * Milliseconds before the next attempt. Of two workers on one task queue the right one gets it after an attempt or two;
 * Temporal's server rounds each shorter pause up to a second. Without a right worker an attempt is made every ten
 * seconds, so a hundred such threads cost ten attempts a second.
 */
const OTHER_STORE_PAUSES = { first: 50, growth: 1.3, last: 10_000 }

/**
 * Builds the refusal of a worker whose store is not the thread's. If a worker of the right store polls the same task
 * queue, it gets one of the next attempts within seconds; otherwise the attempts become rare. The worker logs the
 * refusal once itself, so the SDK does not log each attempt.
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

/** True if an error, or one of its causes, is a failure of this type. */
export function hasFailureType(error: unknown, type: FailureType): boolean {
  return failureTypes(error).has(type)
}

/** The types of all failures behind an error, nearest first. Follows `cause` and aggregates, even in a cycle. */
export function failureTypes(error: unknown): ReadonlySet<string> {
  const types = new Set<string>()
  const seen = new Set<unknown>()
  const waiting: unknown[] = [error]
  // A failure without a cause adds an undefined before the other entries.
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
