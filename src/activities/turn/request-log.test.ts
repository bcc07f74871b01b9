import { expect, test } from 'vitest'

import { ModelError } from '../../model/model-error.js'
import { pricesOf, RequestLog } from './request-log.js'

const PRICES = { inputPrice: 1, outputPrice: 2, cachedPrice: 0.5 }
const USAGE = { inputTokens: 10, outputTokens: 5, cachedInputTokens: 4 }

function failure(usage: typeof USAGE | null = null): ModelError {
  return new ModelError({ kind: 'incomplete', message: 'Cut.', retryable: true, usage })
}

test('the sum holds failed requests at the prices of their models', () => {
  const log = new RequestLog({ plan: 'p' })
  log.begin({ model: 'chat', prices: PRICES })
  log.recordFailure(failure(USAGE))
  log.begin({ model: 'backup', prices: { ...PRICES, inputPrice: 100 } })
  const own = log.recordAnswer(USAGE)
  expect(own).toEqual({ ...USAGE, cost: 612 })
  expect(log.sumUnreportedUsage()).toEqual({
    inputTokens: 20,
    outputTokens: 10,
    cachedInputTokens: 8,
    cost: 630,
  })
})

test('one unknown price makes the cost unknown', () => {
  const log = new RequestLog({ plan: 'p' })
  log.begin({ model: 'chat', prices: PRICES })
  log.recordFailure(failure(USAGE))
  log.begin({ model: 'backup', prices: { ...PRICES, outputPrice: null } })
  log.recordAnswer(USAGE)
  expect(log.sumUnreportedUsage()).toMatchObject({ inputTokens: 20, cost: null })
})

test('a failed request without usage costs nothing known', () => {
  const log = new RequestLog({ plan: 'p' })
  log.begin({ model: 'chat', prices: PRICES })
  log.recordFailure(failure())
  expect(log.sumUnreportedUsage()).toBeNull()
  expect(log.detail().requests).toMatchObject([{ model: 'chat', usage: null, error: 'incomplete' }])
})

test('the next attempt goes on with numbers, waits and all else', () => {
  const log = new RequestLog({ plan: 'p' })
  log.begin({ model: 'chat', prices: PRICES })
  log.recordFailure(failure(USAGE))
  log.recordWait(60_000)
  log.begin({ model: 'chat', prices: PRICES })
  const kept = JSON.parse(JSON.stringify({ ...log.detail(), more: 1 })) as ReturnType<typeof log.detail>
  const next = new RequestLog(kept)
  expect([next.number, next.isFresh, next.waits, next.waited, next.failures]).toEqual([
    2,
    true,
    1,
    60_000,
    [],
  ])
  expect(next.detail()).toMatchObject({ more: 1, requests: [{ error: 'incomplete' }, { error: 'lost' }] })
  // The second answer does not report the usage of the first one again.
  next.begin({ model: 'chat', prices: PRICES })
  next.recordAnswer(USAGE)
  expect(next.sumUnreportedUsage()).toEqual({ ...USAGE, cost: 18 })
})

test('a long input has its own prices, for the whole request', () => {
  const longInput = { above: 9, inputPrice: 2, outputPrice: 4, cachedPrice: null }
  const prices = pricesOf({ ...PRICES, longInput })
  const log = new RequestLog({ plan: 'p' })
  log.begin({ model: 'chat', prices })
  expect(log.recordAnswer(USAGE).cost).toBe(10 * 2 + 5 * 4)
  log.begin({ model: 'chat', prices })
  expect(log.recordAnswer({ ...USAGE, inputTokens: 9 }).cost).toBe(5 * 1 + 4 * 0.5 + 5 * 2)
  // Kept with the request, so that a later attempt counts alike.
  const kept = JSON.parse(JSON.stringify(log.detail())) as ReturnType<typeof log.detail>
  expect(kept.requests[0]?.prices).toEqual(prices)
})

test('a request that has ended has its time', () => {
  const log = new RequestLog({ plan: 'p' })
  log.begin({ model: 'chat', prices: PRICES })
  expect(log.requests[0]).not.toHaveProperty('took')
  log.recordFailure(failure())
  expect(log.requests[0]?.took).toBeGreaterThanOrEqual(0)
})
