import { ApplicationFailure } from '@temporalio/common'
import { describe, expect, test } from 'vitest'

import { FAILURES, failure, failureTypes, hasFailureType, otherStoreFailure } from './failures.js'
import type { FailureType } from './failures.js'

// Wire format: a type is never renamed, and whether it is retried never changes.
const KEPT: Readonly<Record<FailureType, boolean>> = {
  'Thread.InvalidStart': false,
  'Thread.UnknownLevel': true,
  'Thread.OtherStore': true,
  'Request.NotFound': false,
  'Request.Invalid': false,
  'Item.NotFound': false,
  'Item.Invalid': false,
  'Definition.Missing': true,
  'Operation.Lost': false,
  'Operation.Stale': true,
  'Answer.TooLarge': false,
  'Worker.Shutdown': true,
  'Worker.Died': true,
  'Store.Unavailable': true,
  'Activity.Failed': true,
}

describe('what leaves as a failure', () => {
  test('the table has these types and no other', () => {
    expect(Object.keys(FAILURES)).toEqual(Object.keys(KEPT))
  })

  test.each(Object.entries(KEPT))('%s is retryable: %s', (name, retryable) => {
    const type = name as FailureType
    const made = failure(type)
    expect(made).toMatchObject({ type, message: FAILURES[type].message, nonRetryable: !retryable })
  })

  test('a refused attempt is repeated at once, then ever more rarely', () => {
    const pauses = [1, 2, 10, 20, 30, 10_000].map((attempt) => otherStoreFailure(attempt).nextRetryDelay)
    expect(pauses).toEqual([50, 65, 530, 7310, 10_000, 10_000])
  })

  test('T5 a failure has neither stack nor cause nor details', () => {
    const made = failure('Activity.Failed', 'id-1')
    expect([made.stack, made.cause, made.details]).toEqual(['', undefined, undefined])
    expect(made.message).toBe('The activity failed. (error id-1)')
  })
})

describe('what is behind an error', () => {
  const inner = ApplicationFailure.create({ type: 'Operation.Lost' })

  test('the types are found through causes, nearest first', () => {
    const outer = ApplicationFailure.create({
      type: 'Activity.Failed',
      cause: new Error('between', { cause: inner }),
    })
    expect([...failureTypes(outer)]).toEqual(['Activity.Failed', 'Operation.Lost'])
    expect(hasFailureType(outer, 'Operation.Lost')).toBe(true)
    expect(hasFailureType(outer, 'Store.Unavailable')).toBe(false)
  })

  test('the types are found inside aggregates', () => {
    const errors = new AggregateError([new Error('x'), new AggregateError([inner])], 'two')
    expect([...failureTypes(errors)]).toEqual(['Operation.Lost'])
  })

  test('a ring of causes is walked once', () => {
    const first = new Error('first')
    const second = new Error('second', { cause: first })
    const ring = new AggregateError([second, inner])
    first.cause = ring
    expect([...failureTypes(second)]).toEqual(['Operation.Lost'])
  })

  test.each([[undefined], [null], ['text'], [{ type: 'Activity.Failed' }], [new Error('plain')]])(
    '%j has no type',
    (error) => {
      expect([...failureTypes(error)]).toEqual([])
    },
  )
})
