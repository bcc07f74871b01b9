import fc from 'fast-check'
import { expect, test } from 'vitest'
import { readTraceparent, traceparentOf } from './spans.js'

const SPAN = { traceId: '0af7651916cd43dd8448eb211c80319c', spanId: 'b7ad6b7169203331', traceFlags: 1 }

test('a trace context comes back as it was written', () => {
  const text = '00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01'
  expect(traceparentOf(SPAN)).toBe(text)
  expect(readTraceparent(text)).toEqual({ ...SPAN, isRemote: true })
  expect(readTraceparent(traceparentOf({ ...SPAN, traceFlags: 0 }))?.traceFlags).toBe(0)
})

test('a context of a later version is read by its first fields', () => {
  const later = '01-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01-more'
  expect(readTraceparent(later)).toMatchObject(SPAN)
})

test('what is no trace context is none', () => {
  const zeros = '00-00000000000000000000000000000000-b7ad6b7169203331-01'
  const invalid = [zeros, 'ff-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01', '', null, undefined]
  for (const text of [...invalid, '00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01-more'])
    expect(readTraceparent(text)).toBeNull()
  fc.assert(fc.property(fc.string(), (text) => readTraceparent(text) === null))
  expect(traceparentOf({ ...SPAN, spanId: '0000000000000000' })).toBeNull()
})
