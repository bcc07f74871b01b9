import { expect, test } from 'vitest'
import { requestsLine, usageLines } from './usage-lines.js'

const NO_TIMES = { count: 0, mean: null, p50: null, p95: null, max: null }
const REQUESTS = {
  ...{ requests: 3, failedRequests: 1, inputTokens: 1200, outputTokens: 40, cachedInputTokens: 1000 },
  ...{ cost: 12_300, knownCost: 12_300 },
  answerTime: { count: 2, mean: 800, p50: 700, p95: 900, max: 900 },
}
const USAGE = {
  ...{ threads: 1, messages: 5, runs: 1, steps: 2, toolCalls: 0, failedToolCalls: 0, toolTime: NO_TIMES },
  ...REQUESTS,
  models: [{ model: 'chat', ...REQUESTS }],
}

test('requests are one line, with what they cost', () => {
  expect(requestsLine(REQUESTS)).toBe(
    '3 requests (1 failed) in 700 ms (half), 900 ms (95 %), 1200 input (1000 cached) and 40 output tokens, $0.0123',
  )
})

test('a cost that is not known is not zero', () => {
  const none = { ...REQUESTS, requests: 1, failedRequests: 0, cachedInputTokens: 0, answerTime: NO_TIMES }
  expect(requestsLine({ ...none, cost: null, knownCost: 0 })).toBe(
    '1 request, 1200 input and 40 output tokens, cost unknown',
  )
  expect(requestsLine({ ...none, cost: null, knownCost: 2_500_000 })).toContain(
    '$2.50 and a part that is unknown',
  )
})

test('a thread has its counts, a tree its threads, and several models a line each', () => {
  expect(usageLines(USAGE)).toEqual(['5 messages, 1 run, 2 steps, 0 tool calls', requestsLine(REQUESTS)])
  const models = ['chat', 'spare'].map((model) => ({ model, ...REQUESTS }))
  const toolTime = { count: 2, mean: 20, p50: 10, p95: 30, max: 30 }
  expect(usageLines({ ...USAGE, threads: 2, toolCalls: 2, failedToolCalls: 1, toolTime, models })).toEqual([
    '2 threads',
    '5 messages, 1 run, 2 steps, 2 tool calls (1 failed) in 10 ms (half), 30 ms (95 %)',
    requestsLine(REQUESTS),
    `chat: ${requestsLine(REQUESTS)}`,
    `spare: ${requestsLine(REQUESTS)}`,
  ])
})
