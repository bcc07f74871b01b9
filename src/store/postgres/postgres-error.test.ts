import { expect, test } from 'vitest'

import { StoreError } from '../store-error.js'
import {
  asStoreError,
  isConflict,
  isLost,
  isOutdatedPlan,
  isPassing,
  isUnknownTransaction,
} from './postgres-error.js'

const coded = (code: string): Error => Object.assign(new Error('from PostgreSQL'), { code })

test.each([
  ['ECONNREFUSED', 'unavailable', 'start the server'],
  ['ENOTFOUND', 'unavailable', 'host that is not known'],
  ['28P01', 'unavailable', 'password'],
  ['3D000', 'unavailable', 'createdb'],
  ['42501', 'unavailable', 'as the owner of the schema'],
  ['25006', 'unavailable', 'primary'],
  ['53300', 'unavailable', 'max_connections'],
  ['53100', 'unavailable', 'full disk'],
  ['55P03', 'busy', 'keeps locked'],
  ['57014', 'busy', 'in time'],
  ['40001', 'busy', 'try again'],
  ['XX001', 'corrupt', 'backup'],
])('the code %s is %s, with what to do', (code, kind, words) => {
  const error = asStoreError(coded(code), 'postgres://me@db/threads')
  expect(StoreError.isInstance(error) && error.code).toBe(kind)
  expect(String(error)).toContain(`The database postgres://me@db/threads`)
  expect(String(error)).toContain(words)
})

test.each([
  ['timeout exceeded when trying to connect', 'busy'],
  ['Connection terminated unexpectedly', 'unavailable'],
  ['Client has encountered a connection error and is not queryable', 'unavailable'],
  ['Client was closed and is not queryable', 'unavailable'],
  ['The server does not support SSL connections', 'unavailable'],
])('an error of pg without a code is recognized: %s', (message, kind) => {
  expect(asStoreError(new Error(message), 'db')).toMatchObject({ code: kind })
})

test('a violated constraint is a bug and stays unchanged', () => {
  for (const bug of [coded('23505'), coded('42601'), new Error('other'), 'text']) {
    expect(asStoreError(bug, 'db')).toBe(bug)
    expect(isPassing(bug)).toBe(false)
  }
})

test('conflicts and lost connections are tried again', () => {
  expect(isConflict(coded('40001')) && isConflict(coded('40P01'))).toBe(true)
  expect(isLost(coded('57P01')) && isLost(new Error('Connection terminated unexpectedly'))).toBe(true)
  expect(isLost(coded('28P01'))).toBe(false)
  expect(isPassing(coded('ENOTFOUND'))).toBe(false)
})

test('a plan from before a migration is passing, an unsupported feature is not', () => {
  const outdated = Object.assign(coded('0A000'), { routine: 'RevalidateCachedQuery' })
  expect([isOutdatedPlan(outdated), isPassing(outdated)]).toEqual([true, true])
  expect([isOutdatedPlan(coded('0A000')), isPassing(coded('0A000'))]).toEqual([false, false])
})

test('only a transaction that the server never began is unknown to it', () => {
  expect(isUnknownTransaction(coded('22023'))).toBe(true)
  // A lost connection or a server that restarts decides nothing about a commit.
  for (const undecided of [coded('57P01'), coded('08006'), new Error('22023'), '22023'])
    expect(isUnknownTransaction(undecided)).toBe(false)
})
