import type { LanguageModelV4StreamPart } from '@ai-sdk/provider'
import { expect, test } from 'vitest'
import type { AnswerDelta, LanguageModel } from '../../src/model/model-answer.js'
import { ModelAbortedError } from '../../src/model/model-error.js'
import { MODEL_LIMITS, streamAnswer } from '../../src/model/stream-answer.js'
import type { ModelLimits } from '../../src/model/stream-answer.js'
import { fakeStreamModel, FINISH } from '../support/fake-stream-model.js'

type Part = LanguageModelV4StreamPart | 'never'

function text(delta: string): LanguageModelV4StreamPart {
  return { type: 'text-delta', id: 'text', delta }
}

function ask(
  parts: Iterable<Part>,
  limits: Partial<ModelLimits> = {},
  signal = new AbortController().signal,
) {
  const deltas: AnswerDelta[] = []
  const answer = streamAnswer({
    model: fakeStreamModel(() => parts),
    options: { prompt: [] },
    signal,
    limits: { ...MODEL_LIMITS, ...limits },
    onDelta: (delta) => void deltas.push(delta),
  })
  return { answer, deltas }
}

test('an empty answer is returned as it is', async () => {
  await expect(ask([FINISH]).answer).resolves.toEqual({
    text: '',
    reasoning: null,
    parts: [],
    files: [],
    metadataLeftOut: 0,
    toolCalls: [],
    finishReason: 'stop',
    usage: { inputTokens: 0, outputTokens: 0, cachedInputTokens: 0 },
    responseId: null,
    responseModel: null,
  })
})

test('a stream without a finish is a failed attempt', async () => {
  await expect(ask([text('The refund')]).answer).rejects.toMatchObject({ kind: 'incomplete' })
})

test('an error part is a failed attempt', async () => {
  const call = ask([text('The'), { type: 'error', error: { type: 'overloaded_error' } }, FINISH]).answer
  await expect(call).rejects.toMatchObject({ kind: 'overloaded', retryable: true })
})

test('an answer over its bytes aborts the stream', async () => {
  const call = ask([text('€€€'), text('€'), 'never'], { answerBytes: 10 }).answer
  await expect(call).rejects.toMatchObject({ kind: 'too_large', retryable: false })
})

test('a provider that ignores its abort signal cannot hang', async () => {
  const call = ask([text('The refund'), 'never'], { stall: 20 }).answer
  await expect(call).rejects.toMatchObject({ kind: 'stalled', retryable: true })
})

test('pings and empty deltas do not begin an answer', async () => {
  const call = ask([{ type: 'ping' }, text(''), { type: 'text-start', id: '1' }, 'never'], {
    firstChunk: 500,
    stall: 1,
  }).answer
  await expect(call).rejects.toThrow('did not begin')
})

test('a stream that never ends is cut at the total', async () => {
  const endless = function* (): Generator<Part> {
    for (;;) yield text('more ')
  }
  const call = ask(endless(), { total: 30 }).answer
  await expect(call).rejects.toThrow('did not finish')
})

test('a stop by the caller keeps what arrived', async () => {
  const controller = new AbortController()
  const parts = function* (): Generator<Part> {
    yield text('The refund')
    yield { type: 'reasoning-delta', id: '1', delta: 'Hm.' }
    controller.abort('stop')
    yield 'never'
  }
  const error: unknown = await ask(parts(), {}, controller.signal).answer.catch((thrown: unknown) => thrown)
  expect(ModelAbortedError.isInstance(error)).toBe(true)
  expect(error).toMatchObject({ cause: 'stop' })
  expect((error as ModelAbortedError).partial.text).toBe('The refund')
})

test('a caller that stopped before asks nothing', async () => {
  const model = fakeStreamModel(() => [FINISH])
  const call = streamAnswer({
    model,
    options: { prompt: [] },
    signal: AbortSignal.abort(),
    onDelta: () => undefined,
  })
  await expect(call).rejects.toMatchObject({ name: 'ModelAbortedError' })
  expect(model.calls).toBe(0)
})

/** A provider whose request or stream never lets go, whatever is asked of it. */
function stubbornModel(stuck: 'request' | 'cleanup'): LanguageModel {
  const never = new Promise<never>(() => undefined)
  const stream = new ReadableStream<LanguageModelV4StreamPart>({ pull: () => never, cancel: () => never })
  return {
    ...fakeStreamModel(),
    doStream: () => (stuck === 'request' ? never : Promise.resolve({ stream })),
  }
}

test.each(['request', 'cleanup'] as const)('K-7 a %s that never settles is left at once', async (stuck) => {
  const controller = new AbortController()
  const call = streamAnswer({
    model: stubbornModel(stuck),
    options: { prompt: [] },
    signal: controller.signal,
    onDelta: () => undefined,
  })
  const started = performance.now()
  setTimeout(() => controller.abort('stop'), 20)
  await expect(call).rejects.toMatchObject({ name: 'ModelAbortedError' })
  expect(performance.now() - started).toBeLessThan(10_000)
})

test('K-7 an answer that comes after its caller left is let go', async () => {
  let cancelled = false
  const stream = new ReadableStream<LanguageModelV4StreamPart>({
    cancel() {
      cancelled = true
      throw new Error('It does not want to.')
    },
  })
  let answer = (): void => undefined
  const late = new Promise<{ stream: typeof stream }>((resolve) => {
    answer = () => resolve({ stream })
  })
  const controller = new AbortController()
  const call = streamAnswer({
    model: { ...fakeStreamModel(), doStream: () => late },
    options: { prompt: [] },
    signal: controller.signal,
    onDelta: () => undefined,
  })
  controller.abort('stop')
  await expect(call).rejects.toMatchObject({ name: 'ModelAbortedError' })
  answer()
  await expect.poll(() => cancelled).toBe(true)
})
