import { setTimeout as sleepFor } from 'node:timers/promises'
import { expect, test } from 'vitest'
import { callWithRetries } from '../../src/model/call-model.js'
import type { CallWithRetriesOptions, ModelAttempt } from '../../src/model/call-model.js'
import type { LanguageModel } from '../../src/model/model-answer.js'
import { scriptedModel } from '../../src/model/scripted-model.js'
import { MODEL_LIMITS } from '../../src/model/stream-answer.js'
import { fakeStreamModel, FINISH } from '../support/fake-stream-model.js'

function call(model: LanguageModel, rest: Partial<CallWithRetriesOptions> = {}) {
  const attempts: ModelAttempt[] = []
  const pauses: number[] = []
  const outcome = callWithRetries({
    model,
    options: { prompt: [] },
    signal: new AbortController().signal,
    onAttempt: (attempt) => void attempts.push(attempt),
    onDelta: () => undefined,
    sleep: async (milliseconds) => void pauses.push(milliseconds),
    random: () => 0,
    ...rest,
  })
  return { outcome, attempts, pauses }
}

function refusal(status: number, headers: Record<string, string> = {}) {
  return { error: { status, message: 'No.', headers } }
}

test('a first answer takes one attempt', async () => {
  const { outcome, attempts } = call(scriptedModel([{ text: 'Yes.' }]))
  await expect(outcome).resolves.toMatchObject({ answer: { text: 'Yes.' }, attempts: 1 })
  expect(attempts).toEqual([{ attempt: 1 }])
})

test('a model is asked at most twice', async () => {
  const model = scriptedModel([refusal(500), refusal(502), { text: 'Too late.' }])
  const { outcome, attempts, pauses } = call(model)
  await expect(outcome).rejects.toThrow('502')
  expect(attempts.map(({ attempt, error }) => [attempt, error?.kind])).toEqual([
    [1, undefined],
    [1, 'unavailable'],
    [2, undefined],
    [2, 'unavailable'],
  ])
  expect(pauses).toEqual([1000])
  expect(model.remaining).toBe(1)
})

test('an error that is not retryable ends the call', async () => {
  const model = scriptedModel([refusal(401), { text: 'Yes.' }])
  await expect(call(model).outcome).rejects.toMatchObject({ kind: 'authentication' })
  expect(model.remaining).toBe(1)
})

test('a retry-after over ten seconds is not waited for', async () => {
  const model = scriptedModel([refusal(429, { 'retry-after': '11' }), { text: 'Yes.' }])
  const { outcome, pauses } = call(model)
  await expect(outcome).rejects.toMatchObject({ kind: 'rate_limited', retryable: true, retryAfter: 11_000 })
  expect([pauses, model.remaining]).toEqual([[], 1])
})

test('a retry-after of ten seconds is waited for', async () => {
  const { outcome, pauses } = call(scriptedModel([refusal(429, { 'retry-after': '10' }), { text: 'Yes.' }]))
  await expect(outcome).resolves.toMatchObject({ attempts: 2 })
  expect(pauses).toEqual([10_000])
})

test('a pause is longer by a random part', async () => {
  const model = scriptedModel([refusal(429, { 'retry-after': '4' }), { text: 'Yes.' }])
  const { outcome, pauses } = call(model, { random: () => 0.5 })
  await outcome
  expect(pauses).toEqual([4500])
})

test('a pause beyond the patience is not waited for', async () => {
  const model = scriptedModel([refusal(429, { 'retry-after': '4' }), { text: 'Yes.' }])
  const { outcome, pauses } = call(model, { patience: 3000 })
  await expect(outcome).rejects.toMatchObject({ kind: 'rate_limited', retryAfter: 4000 })
  expect([pauses, model.remaining]).toEqual([[], 1])
})

test('each refusal is told to the other threads', async () => {
  const told: number[] = []
  const admission = {
    run: <T>(work: () => Promise<T>) => work(),
    notePause: (milliseconds: number) => void told.push(milliseconds),
  }
  const model = scriptedModel([refusal(429, { 'retry-after': '4' }), refusal(529)])
  await expect(call(model, { admission }).outcome).rejects.toMatchObject({ kind: 'overloaded' })
  await expect(call(scriptedModel([refusal(401)]), { admission }).outcome).rejects.toThrow()
  expect(told).toEqual([4000, 2000])
})

test('a model that falls silent in its answer is asked again', async () => {
  const words = { type: 'text-delta', id: '1', delta: 'I was' } as const
  const model = fakeStreamModel(
    () => [words, 'never'],
    () => [{ ...words, delta: 'Whole.' }, FINISH],
  )
  const { outcome, attempts } = call(model, { limits: { ...MODEL_LIMITS, stall: 1_000 } })
  await expect(outcome).resolves.toMatchObject({ answer: { text: 'Whole.' }, attempts: 2 })
  expect(attempts[1]).toMatchObject({ attempt: 1, error: { kind: 'stalled' } })
})

test('a model that falls silent is left for its fallback', async () => {
  const model = fakeStreamModel(() => [{ type: 'text-delta', id: '1', delta: 'I was' }, 'never'])
  const { outcome } = call(model, { limits: { ...MODEL_LIMITS, stall: 500 }, hasFallback: true })
  await expect(outcome).rejects.toMatchObject({ kind: 'stalled' })
  expect(model.calls).toBe(1)
})

test('a silent model is not asked again', async () => {
  const model = fakeStreamModel(() => ['never'])
  const { outcome } = call(model, { limits: { ...MODEL_LIMITS, firstChunk: 20 } })
  await expect(outcome).rejects.toMatchObject({ kind: 'stalled' })
  expect(model.calls).toBe(1)
})

test('all attempts share the time of one call', async () => {
  const model = fakeStreamModel(
    () => [],
    () => ['never'],
  )
  // Of the time of the call one second is left behind it; an attempt with a time of its own would have three.
  const sleep = (): Promise<void> => sleepFor(2_000)
  const started = performance.now()
  const { outcome } = call(model, { limits: { ...MODEL_LIMITS, total: 3_000 }, sleep })
  await expect(outcome).rejects.toMatchObject({ kind: 'stalled' })
  expect(performance.now() - started).toBeLessThan(4_900)
  expect(model.calls).toBe(2)
})

test('a pause beyond the time of the call is not begun', async () => {
  const model = fakeStreamModel(() => [])
  const { outcome, pauses } = call(model, { limits: { ...MODEL_LIMITS, total: 500 } })
  await expect(outcome).rejects.toMatchObject({ kind: 'incomplete' })
  expect(pauses).toEqual([])
})

test('a stop during the answer is not retried', async () => {
  const controller = new AbortController()
  const model = fakeStreamModel(function* () {
    yield { type: 'text-delta', id: '1', delta: 'Well' }
    controller.abort()
    yield 'never'
  })
  const { outcome, attempts } = call(model, { signal: controller.signal })
  await expect(outcome).rejects.toMatchObject({ name: 'ModelAbortedError', partial: { text: 'Well' } })
  expect([attempts, model.calls]).toEqual([[{ attempt: 1 }], 1])
})

test('a stop during the pause ends the call', async () => {
  const controller = new AbortController()
  const model = fakeStreamModel(
    () => [],
    () => [FINISH],
  )
  const outcome = callWithRetries({
    model,
    options: { prompt: [] },
    signal: controller.signal,
    onAttempt: ({ error }) => {
      if (error) setImmediate(() => controller.abort())
    },
    onDelta: () => undefined,
  })
  await expect(outcome).rejects.toMatchObject({ name: 'ModelAbortedError', partial: { text: '' } })
  expect(model.calls).toBe(1)
})
