import { afterEach, beforeEach, expect, test, vi } from 'vitest'

import { createWatchdog, STEP_LIMITS } from '../../chaos/driver/watchdog.js'

beforeEach(() => void vi.useFakeTimers())
afterEach(() => void vi.useRealTimers())

const LIMIT = STEP_LIMITS.check

test('a step that takes too long is named', () => {
  const bark = vi.fn()
  createWatchdog(bark).begin('check', { detail: 'thread 7', more: 1_000 })
  vi.advanceTimersByTime(LIMIT + 999)
  expect(bark).not.toHaveBeenCalled()
  vi.advanceTimersByTime(1)
  expect(bark).toHaveBeenCalledExactlyOnceWith('hung in the step "check (thread 7)" for 901 s')
})

test('a step that ends, by another one or with the run, is no hang', () => {
  const bark = vi.fn()
  const watchdog = createWatchdog(bark)
  watchdog.begin('check')
  vi.advanceTimersByTime(LIMIT - 1)
  watchdog.begin('check')
  vi.advanceTimersByTime(LIMIT - 1)
  watchdog.end()
  vi.advanceTimersByTime(LIMIT)
  expect(bark).not.toHaveBeenCalled()
  expect(watchdog.step()).toBeNull()
})

test('a failure is told of its step, whatever tidies up behind it', () => {
  const watchdog = createWatchdog(vi.fn())
  watchdog.begin('check')
  watchdog.fail()
  watchdog.begin('end the servers')
  watchdog.fail()
  expect(watchdog.step()).toBe('check')
  watchdog.end()
})
