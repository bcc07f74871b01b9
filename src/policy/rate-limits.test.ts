import { expect, test } from 'vitest'

import { checkRateLimits, DEFAULT_RATE_LIMITS } from './rate-limits.js'

test('limits that are left out or whole are no problem', () => {
  for (const limits of [undefined, {}, DEFAULT_RATE_LIMITS, { requestsPerMinute: 1 }])
    expect(() => checkRateLimits(limits)).not.toThrow()
})

test.each([
  [null, 'got null'],
  [5, 'got number'],
  [{ requestsPerMinute: 0 }, 'got 0'],
  [{ tokensPerMinute: -1 }, 'got -1'],
  [{ toolCallsPerMinute: 1.5 }, 'got 1.5'],
  [{ messagesPerMinute: Number.NaN }, 'got NaN'],
  [{ messagesPerMinute: Infinity }, 'got Infinity'],
  [{ concurrentSessions: 1e9 }, 'got 1000000000'],
  [{ concurrentSessions: '50' }, 'got "50"'],
  [{ requests: 100 }, 'got "requests"'],
])('%j is refused with one sentence', (limits, got) => {
  const check = () => checkRateLimits(limits)
  expect(check).toThrow(/^1 problem\n1\. Expected "rateLimits[^\n]*$/)
  expect(check).toThrow(got)
})
