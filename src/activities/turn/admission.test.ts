import { setImmediate as nextTurn } from 'node:timers/promises'

import { expect, test } from 'vitest'

import type { Registry } from '../../definitions/known-definitions.js'
import type { ModelDefinition } from '../../definitions/model.js'
import { ModelError } from '../../model/model-error.js'
import type { ModelErrorKind } from '../../model/model-error.js'
import { LIMITS } from '../../protocol/limits.js'
import { createAdmission, growWait, shortestWait } from './admission.js'
import type { ModelStep } from './model-step.js'

function failed(kind: ModelErrorKind, retryAfter: number | null = null, retryable = true) {
  return { model: 'chat', error: new ModelError({ kind, message: 'No.', retryable, retryAfter }) }
}

test.each([
  [0, 2000],
  [3, 16_000],
  [40, LIMITS.longestProviderWait],
])('after %i waits a provider that names no time is left alone for %i ms', (waits, asked) => {
  expect(shortestWait([failed('rate_limited')], waits)).toEqual({ asked, isOwn: false })
  expect(growWait(0, waits)).toBe(asked)
})

test('a provider that refuses again is not asked before the time that it names', () => {
  expect(shortestWait([failed('overloaded', 9000)], 1)?.asked).toBe(9000)
  expect(shortestWait([failed('overloaded', 9000)], 4)?.asked).toBe(32_000)
})

test("a wait of this worker's own limit is no refusal of the provider, and does not grow", () => {
  expect(shortestWait([failed('throttled', 700)], 5)).toEqual({ asked: 700, isOwn: true })
})

test('of several models the one that is free first decides, and a final refusal has no wait', () => {
  const failures = [
    failed('rate_limited', 60_000),
    failed('paused', 5000),
    failed('bad_request', null, false),
  ]
  expect(shortestWait(failures, 0)).toEqual({ asked: 5000, isOwn: true })
  expect(shortestWait([failed('bad_request', null, false)], 0)).toBeNull()
})

test('all definitions of one provider share the strictest of their limits', async () => {
  const provider = {} as ModelDefinition['provider']
  const models: Readonly<Record<string, ModelDefinition>> = {
    loose: { name: 'loose', provider, model: 'large', rateLimit: { concurrency: 5 } },
    strict: { name: 'strict', provider, model: 'small', rateLimit: { concurrency: 1 } },
  }
  const registry = {
    names: () => ({ models: Object.keys(models) }),
    model: (name: string) => models[name],
  } as unknown as Registry
  const log: string[] = []
  let release = (): void => undefined
  const open = new Promise<void>((resolve) => (release = resolve))
  const request = (threadId: string, name: 'loose' | 'strict') => {
    const step = { input: { threadId, now: 0 }, operation: { id: 'o' }, content: {}, startedAt: 0 }
    const caller = { step: step as ModelStep, model: models[name] as ModelDefinition }
    const { signal } = new AbortController()
    return createAdmission(registry, { ...caller, signal }).run(async () => {
      log.push(`${threadId} begins`)
      await open
    })
  }
  const both = [request('first', 'loose'), request('second', 'strict')]
  await nextTurn()
  expect(log).toEqual(['first begins'])
  release()
  await Promise.all(both)
  expect(log).toEqual(['first begins', 'second begins'])
})
