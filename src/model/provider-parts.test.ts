import { expect, test } from 'vitest'
import { answeredCalls, providerPartOf, requestPartOf } from './provider-parts.js'

const result = { type: 'tool-result', toolCallId: 's', toolName: 'search', result: { found: 1 } } as const

test('a part of a provider is JSON, whatever its library gives, and a preview is none', () => {
  expect(providerPartOf({ ...result, preliminary: true })).toBeNull()
  expect(providerPartOf({ type: 'tool-call', toolCallId: 's', toolName: 'search', input: '{}' })).toBeNull()
  expect(providerPartOf({ ...result, toolName: 7 as never, result: 7n as never })).toEqual({
    ...{ type: 'result', id: 's', name: '', output: null, isError: false },
  })
  const broken = {
    type: 'tool-call',
    toolCallId: 's',
    toolName: 'search',
    input: '{"a',
    providerExecuted: true,
  }
  expect(providerPartOf(broken as never)).toEqual({ type: 'call', id: 's', name: 'search', input: '{"a' })
})

test('a call without its result does not go back, and an error goes back as one', () => {
  const call = { type: 'call', id: 's', name: 'search', input: {} } as const
  const failed = { type: 'result', id: 's', name: 'search', output: 'No.', isError: true } as const
  expect([...answeredCalls([call])]).toEqual([])
  expect([...answeredCalls([call, failed])]).toEqual(['s'])
  expect(requestPartOf(failed)).toMatchObject({ output: { type: 'error-json', value: 'No.' } })
  expect(requestPartOf({ type: 'source', id: 'a', url: 'https://a.example', title: null })).toBeNull()
})
