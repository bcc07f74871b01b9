import type { Client } from '@temporalio/client'
import { expect, test } from 'vitest'
import { TemporalUnavailableError } from '../protocol/errors.js'
import { isRefusal, listRegisteredSearchAttributes } from './connection.js'

const [UNIMPLEMENTED, PERMISSION_DENIED, UNAVAILABLE, UNAUTHENTICATED] = [12, 7, 14, 16]

test('a call is refused where the server does not have it or does not allow it', () => {
  expect([UNIMPLEMENTED, PERMISSION_DENIED].map((code) => isRefusal(grpcError(code)))).toEqual([true, true])
  expect(isRefusal(grpcError(UNAVAILABLE))).toBe(false)
  // The credentials may be renewed: nothing is decided for good.
  expect(isRefusal(grpcError(UNAUTHENTICATED))).toBe(false)
  expect(isRefusal(new Error('of our own'))).toBe(false)
})

test('an error that was translated is the same refusal', () => {
  const wrapped = new Error('of the SDK', { cause: grpcError(PERMISSION_DENIED) })
  const unavailability = { address: 'a', problem: 'a refusal' }
  expect(isRefusal(new TemporalUnavailableError('t', unavailability, wrapped))).toBe(true)
})

test('a server that refuses to list search attributes has none', async () => {
  expect(await listRegisteredSearchAttributes(clientOf(grpcError(UNIMPLEMENTED)), 't')).toEqual([])
})

test('without credentials it is not known which search attributes are registered', async () => {
  const registered = listRegisteredSearchAttributes(clientOf(grpcError(UNAUTHENTICATED)), 't')
  await expect(registered).rejects.toThrow('check TEMPORAL_API_KEY and TLS')
})

function grpcError(code: number): Error {
  return Object.assign(new Error('of a test'), { code, details: 'of a test', metadata: {} })
}

function clientOf(error: Error): Client {
  const operatorService = { listSearchAttributes: () => Promise.reject(error) }
  return { options: { namespace: 'default' }, connection: { operatorService } } as unknown as Client
}
