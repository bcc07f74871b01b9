import { afterEach, expect, test, vi } from 'vitest'
import { createWatchers } from './changes.js'

afterEach(() => void vi.useRealTimers())

test('a watch that another listener ends is not called any more', () => {
  const watchers = createWatchers()
  const told: string[] = []
  const ends: (() => void)[] = []
  for (const name of ['first', 'second'])
    ends.push(
      watchers.add('t', () => {
        told.push(name)
        for (const end of ends) end()
      }),
    )
  watchers.notify(['t', 't'])
  watchers.notifyAll()
  expect(told).toEqual(['first'])
  expect(watchers.idle).toBe(true)
})

test('a listener that throws ends the process, and does not stop the other listeners', () => {
  vi.useFakeTimers({ toFake: ['setImmediate'] })
  const watchers = createWatchers()
  let told = 0
  watchers.add('t', () => {
    throw new Error('a bug')
  })
  watchers.add('t', () => void (told += 1))
  watchers.notify(['t'])
  expect(told).toBe(1)
  expect(() => vi.runAllTimers()).toThrow('a bug')
})
