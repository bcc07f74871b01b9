import {
  APICallError,
  EmptyResponseBodyError,
  InvalidPromptError,
  JSONParseError,
  LoadAPIKeyError,
  UnsupportedFunctionalityError,
} from '@ai-sdk/provider'
import { describe, expect, test } from 'vitest'
import { retryAfterOf } from '../egress/retry-after.js'
import { classifyModelError } from './classify-model-error.js'
import { ModelError } from './model-error.js'

function apiError(
  statusCode: number | undefined,
  rest: Partial<ConstructorParameters<typeof APICallError>[0]> = {},
) {
  return new APICallError({
    message: 'It failed.',
    url: 'http://provider',
    requestBodyValues: {},
    ...(statusCode !== undefined && { statusCode }),
    ...rest,
  })
}

function withCode(code: string): Error {
  return Object.assign(new Error('connect failed'), { code })
}

describe('an HTTP status', () => {
  test.each([
    [400, 'bad_request', false],
    [401, 'authentication', false],
    [403, 'authentication', false],
    [404, 'bad_request', false],
    [408, 'unavailable', true],
    [409, 'unavailable', true],
    [413, 'context_too_long', false],
    [422, 'bad_request', false],
    [429, 'rate_limited', true],
    [500, 'unavailable', true],
    [402, 'out_of_credit', false],
    [503, 'overloaded', true],
    [529, 'overloaded', true],
    [200, 'incomplete', true],
  ] as const)('%i is %s, retryable: %s', (status, kind, retryable) => {
    expect(classifyModelError(apiError(status))).toMatchObject({ kind, retryable, retryAfter: null })
  })

  test('429 is retryable and keeps retry-after', () => {
    const error = classifyModelError(apiError(429, { responseHeaders: { 'retry-after': '20' } }))
    expect(error).toMatchObject({ kind: 'rate_limited', retryable: true, retryAfter: 20_000 })
    expect(error.message).toBe('The provider answered 429: It failed.')
  })

  test.each([
    [429, '{"error":{"code":"insufficient_quota"}}'],
    [400, '{"error":{"message":"Your credit balance is too low to access the Anthropic API."}}'],
    [400, '{"error":{"code":"billing_hard_limit_reached"}}'],
    [402, '{"error":{"message":"Insufficient Balance"}}'],
    [403, '{"error":"Your team has used all available credits."}'],
  ])('%i with %s says that somebody has to pay', (status, responseBody) => {
    const error = classifyModelError(apiError(status, { responseBody }))
    expect(error).toMatchObject({ kind: 'out_of_credit', retryable: false, retryAfter: null })
  })

  test('429 of Google keeps the delay that its body names', () => {
    const detail = { '@type': 'type.googleapis.com/google.rpc.RetryInfo', retryDelay: '34.5s' }
    const responseBody = JSON.stringify({ error: { code: 429, details: [detail] } }, null, 2)
    const error = classifyModelError(apiError(429, { responseBody }))
    expect(error).toMatchObject({ kind: 'rate_limited', retryable: true, retryAfter: 34_500 })
  })

  test.each([
    ["This model's maximum context length is 8192 tokens.", 'context_too_long'],
    ['prompt is too long: 210000 tokens > 200000 maximum', 'context_too_long'],
    ['The input token count exceeds the maximum number of tokens allowed.', 'context_too_long'],
    ["The response was filtered by Azure OpenAI's content management policy.", 'content_filter'],
    ['messages.1: tool_use ids must have results', 'bad_request'],
  ] as const)('400 with "%s" is %s', (message, kind) => {
    expect(classifyModelError(apiError(400, { message }))).toMatchObject({ kind, retryable: false })
  })
})

describe('an error without a status', () => {
  test.each([
    ['a failed fetch', new TypeError('fetch failed', { cause: withCode('ECONNREFUSED') })],
    ['a reset connection', withCode('ECONNRESET')],
    ['a socket of undici', new TypeError('terminated', { cause: withCode('UND_ERR_SOCKET') })],
    ['an unknown host', withCode('ENOTFOUND')],
    ['a retryable call without an answer', apiError(undefined, { isRetryable: true })],
    ['a timeout of the provider', new DOMException('too slow', 'TimeoutError')],
  ])('%s is unavailable and retryable', (_what, error) => {
    expect(classifyModelError(error)).toMatchObject({ kind: 'unavailable', retryable: true })
  })

  test.each([
    [new LoadAPIKeyError({ message: 'no key' }), 'authentication', false],
    [new UnsupportedFunctionalityError({ functionality: 'streams' }), 'bad_request', false],
    [new InvalidPromptError({ prompt: '', message: 'bad' }), 'bad_request', false],
    [new JSONParseError({ text: '{', cause: new Error('end') }), 'incomplete', true],
    [new EmptyResponseBodyError(), 'incomplete', true],
    [new Error('Expected a normalized Anthropic stream error'), 'incomplete', true],
    [new RangeError('a bug'), 'unknown', false],
  ] as const)('%s is %s', (error, kind, retryable) => {
    expect(classifyModelError(error)).toMatchObject({ kind, retryable })
  })
})

describe('an error part of a stream', () => {
  test.each([
    [{ type: 'overloaded_error', message: 'busy' }, 'overloaded', true],
    [{ type: 'server_error', message: 'broken' }, 'unavailable', true],
    [{ type: 'rate_limit_error', message: 'slow' }, 'rate_limited', true],
    [{ error: { type: 'invalid_request_error', message: 'no' } }, 'bad_request', false],
    [{ message: 'over', code: 'context_length_exceeded', statusCode: 400 }, 'context_too_long', false],
    [
      { message: 'pay', code: 'insufficient_quota', statusCode: 429, isRetryable: false },
      'out_of_credit',
      false,
    ],
    ['gone', 'unavailable', true],
    [undefined, 'unavailable', true],
  ] as const)('%o is %s', (error, kind, retryable) => {
    expect(classifyModelError(error)).toMatchObject({ kind, retryable })
  })
})

describe('a wrapped error', () => {
  test('a retry error is judged by its last attempt', () => {
    const wrapper = Object.assign(new Error('Failed after 2 attempts.'), {
      errors: [apiError(500), apiError(401)],
    })
    expect(classifyModelError(wrapper)).toMatchObject({ kind: 'authentication' })
  })

  test('a circle of causes comes to an end', () => {
    const first = new Error('first')
    const second = new Error('second', { cause: first })
    first.cause = second
    expect(classifyModelError(first)).toMatchObject({ kind: 'unknown', message: 'first' })
  })

  test('a model error stays what it is', () => {
    const error = new ModelError({ kind: 'stalled', message: 'silent', retryable: false })
    expect(classifyModelError(new Error('outer', { cause: error }))).toBe(error)
    expect(ModelError.isInstance(error)).toBe(true)
    expect(ModelError.isInstance(new Error('other'))).toBe(false)
  })
})

describe('retry-after', () => {
  const now = Date.parse('2026-01-01T00:00:00Z')
  test.each([
    [{ 'retry-after': '2' }, 2000],
    [{ 'retry-after': '0.5' }, 500],
    [{ 'retry-after-ms': '120', 'retry-after': '9' }, 120],
    [{ 'retry-after': 'Thu, 01 Jan 2026 00:00:07 GMT' }, 7000],
    [{ 'retry-after': 'Wed, 31 Dec 2025 00:00:00 GMT' }, 0],
    [{ 'retry-after': 'soon' }, null],
    [{}, null],
    [undefined, null],
  ])('%o is %s ms', (headers, expected) => {
    expect(retryAfterOf(headers, now)).toBe(expected)
  })
})

const inItself: { error?: unknown } = {}
inItself.error = inItself
const fails = () => expect.fail('It was read.')

test.each([
  ['throws when it is read', new Proxy({}, { get: fails })],
  ['contains itself', inItself],
  ['has a message that throws', Object.defineProperty(new Error('x'), 'message', { get: fails })],
])('an error that %s is an error all the same', (_what, error) => {
  expect(classifyModelError(error).message).toMatch(/^The provider reported an error/)
})
