import { expect, test } from 'vitest'
import { z } from 'zod'
import { contextShape } from './context-shape.js'

const shape = z.strictObject(contextShape)
const isAllowed = (value: unknown): boolean => shape.safeParse(value).success

test('a window and a compaction have bounds', () => {
  const window = (messages: unknown) => isAllowed({ window: { messages } })
  expect([2, 40, 500].map(window)).toEqual([true, true, true])
  expect([1, 501, 2.5, '40', Infinity].map(window)).toEqual([false, false, false, false, false])
  expect(isAllowed({ compaction: {} })).toBe(true)
  for (const wrong of [{ threshold: 1 }, { keep: 0 }, { keepResults: -1 }, { model: '' }, { treshold: 0.5 }])
    expect(isAllowed({ compaction: wrong }), JSON.stringify(wrong)).toBe(false)
})
