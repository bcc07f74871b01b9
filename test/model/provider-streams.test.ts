import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { callWithRetries } from '../../src/model/call-model.js'
import type { ModelAttempt } from '../../src/model/call-model.js'
import type { AnswerDelta, LanguageModel } from '../../src/model/model-answer.js'
import { ModelAbortedError } from '../../src/model/model-error.js'
import { MODEL_LIMITS, streamAnswer } from '../../src/model/stream-answer.js'
import type { ModelLimits, ModelRequest } from '../../src/model/stream-answer.js'
import { startProviderMock } from '../support/provider-mock.js'
import type { ProviderMock } from '../support/provider-mock.js'
import { REAL_PROVIDERS } from './real-providers.js'

const question: ModelRequest = {
  prompt: [{ role: 'user', content: [{ type: 'text', text: 'How are you?' }] }],
  tools: [
    {
      type: 'function',
      name: 'look_up',
      inputSchema: { type: 'object', properties: { order: { type: 'string' } } },
    },
  ],
}

describe.each(REAL_PROVIDERS)('$name', ({ name, model: createModel }) => {
  let mock: ProviderMock
  let model: LanguageModel
  const deltas: AnswerDelta[] = []
  const attempts: ModelAttempt[] = []
  const pauses: number[] = []

  beforeAll(async () => {
    mock = await startProviderMock()
    model = createModel(mock.url)
  })
  afterAll(() => mock.close())

  const request = (limits: Partial<ModelLimits> = {}, signal = new AbortController().signal) => {
    for (const list of [deltas, attempts, pauses]) list.length = 0
    return {
      model,
      options: question,
      signal,
      limits: { ...MODEL_LIMITS, ...limits },
      onDelta: (delta: AnswerDelta) => void deltas.push(delta),
      onAttempt: (attempt: ModelAttempt) => void attempts.push(attempt),
      sleep: async (milliseconds: number) => void pauses.push(milliseconds),
      random: () => 0,
    }
  }

  test('AR-VA.2 text arrives in pieces and then whole', async () => {
    mock.reply({ text: 'I am well, thank you.' })
    const answer = await streamAnswer(request())
    expect(answer).toMatchObject({
      text: 'I am well, thank you.',
      reasoning: null,
      files: [],
      parts: [{ kind: 'text', from: 0, to: 21 }],
      toolCalls: [],
      finishReason: 'stop',
      usage: { inputTokens: 20, outputTokens: 7, cachedInputTokens: 4 },
      responseId: 'answer-1',
      responseModel: name === 'google' ? null : 'mock',
    })
    expect(deltas.length).toBeGreaterThan(1)
    expect(deltas.map(({ text }) => text).join('')).toBe(answer.text)
  })

  test('tool calls arrive in order with their raw arguments', async () => {
    const toolCalls = [
      { name: 'look_up', input: '{"order":"A-17"}' },
      { name: 'look_up', input: '{"order":"A-18"}' },
    ]
    mock.reply({ text: 'One moment.', toolCalls })
    const answer = await streamAnswer(request())
    expect(answer.finishReason).toBe('tool-calls')
    expect(answer.toolCalls).toMatchObject([
      // Google's calls have no ids: its library makes some.
      { ...(name === 'google' ? {} : { providerCallId: 'call-0' }), ...toolCalls[0] },
      { ...(name === 'google' ? {} : { providerCallId: 'call-1' }), ...toolCalls[1] },
    ])
  })

  test('429 is asked again after its retry-after', async () => {
    const refusal = { status: 429, message: 'Slow down.', headers: { 'retry-after': '3' } }
    mock.reply(refusal, { text: 'Here I am.' })
    const { answer, attempts: count } = await callWithRetries(request())
    expect([answer.text, count, pauses]).toEqual(['Here I am.', 2, [3000]])
    expect(attempts).toMatchObject([
      { attempt: 1 },
      { attempt: 1, error: { kind: 'rate_limited', retryable: true, retryAfter: 3000 } },
      { attempt: 2 },
    ])
  })

  test('a server error is asked again after a second', async () => {
    mock.reply({ status: 503, message: 'Overloaded.' }, { text: 'Here I am.' })
    const { answer } = await callWithRetries(request())
    expect([answer.text, pauses]).toEqual(['Here I am.', [1000]])
  })

  test.each([
    [500, 'unavailable'],
    [502, 'unavailable'],
    [408, 'unavailable'],
    [503, 'overloaded'],
    [529, 'overloaded'],
  ])('%i twice ends the call as %s', async (status, kind) => {
    mock.reply({ status, message: 'Not now.' }, { status, message: 'Not now.' })
    const call = callWithRetries(request())
    await expect(call).rejects.toMatchObject({ kind, retryable: true, retryAfter: null })
    expect([attempts.length, pauses]).toEqual([4, [1000]])
  })

  test.each([429, 503, 529])('%i for long is told and not waited for', async (status) => {
    mock.reply({ status, message: 'Later.', headers: { 'retry-after': '60' } })
    const call = callWithRetries(request())
    await expect(call).rejects.toMatchObject({ retryable: true, retryAfter: 60_000 })
    expect([attempts.length, pauses]).toEqual([2, []])
  })

  test.each([401, 403])('%i is asked only once', async (status) => {
    mock.reply({ status, message: 'No key of ours.' })
    const call = callWithRetries(request())
    await expect(call).rejects.toMatchObject({ kind: 'authentication', retryable: false })
    expect(attempts).toHaveLength(2)
  })

  test('a provider that cannot be reached is asked again', async () => {
    const nowhere = await startProviderMock()
    await nowhere.close()
    const call = callWithRetries({ ...request(), model: createModel(nowhere.url) })
    await expect(call).rejects.toMatchObject({ kind: 'unavailable', retryable: true })
    expect(attempts).toHaveLength(4)
  })

  test('an answer that a filter cut is no answer and costs', async () => {
    mock.reply({ text: 'I was about', endedBy: 'filter' })
    const call = callWithRetries(request())
    await expect(call).rejects.toMatchObject({
      kind: 'content_filter',
      retryable: false,
      usage: { inputTokens: 20, outputTokens: 7, cachedInputTokens: 4 },
    })
    expect(attempts).toHaveLength(2)
  })

  test('an answer that its length cut says so', async () => {
    mock.reply({ text: 'I was about', endedBy: 'length' })
    await expect(streamAnswer(request())).resolves.toMatchObject({
      text: 'I was about',
      finishReason: 'length',
    })
  })

  test('P4 a call that its length cut is kept as far as it came', async () => {
    // Google's arguments come as an object, whole or not at all.
    if (name === 'google') return
    mock.reply({ toolCalls: [{ name: 'look_up', input: '{"order":"A-1' }], endedBy: 'length' })
    await expect(streamAnswer(request())).resolves.toMatchObject({
      finishReason: 'length',
      toolCalls: [{ name: 'look_up', input: '{"order":"A-1' }],
    })
  })

  test('a bad request is asked only once', async () => {
    mock.reply({ status: 400, message: 'The maximum context length is 8192 tokens.' })
    const call = callWithRetries(request())
    await expect(call).rejects.toMatchObject({ kind: 'context_too_long', retryable: false })
    expect(attempts).toHaveLength(2)
  })

  test('a stream of headers only is a stalled attempt', async () => {
    mock.reply({ preamble: false, ending: 'silent' })
    const call = callWithRetries(request({ firstChunk: 150 }))
    await expect(call).rejects.toMatchObject({ kind: 'stalled' })
    expect(attempts).toHaveLength(2)
    await expect(mock.requests.at(-1)?.closed).resolves.toBe('left')
  })

  test('K-6 a preamble does not count as the first chunk', async () => {
    mock.reply({ ending: 'silent' })
    // The tight limit would cut at once if the preamble counted.
    const started = performance.now()
    const call = streamAnswer(request({ firstChunk: 400, stall: 20 }))
    await expect(call).rejects.toMatchObject({ kind: 'stalled' })
    expect(performance.now() - started).toBeGreaterThan(390)
    expect(deltas).toEqual([])
  })

  test('silence in the midst of an answer is a stalled attempt', async () => {
    mock.reply({ text: 'I was about to', ending: 'silent' })
    const call = streamAnswer(request({ stall: 1_000 }))
    await expect(call).rejects.toMatchObject({ kind: 'stalled' })
    expect(deltas).not.toEqual([])
  })

  test('an answer that falls silent is asked for again', async () => {
    mock.reply({ text: 'The refund is', ending: 'silent' }, { text: 'The refund is 80 euros.' })
    const { answer, attempts: count } = await callWithRetries(request({ stall: 1_000 }))
    expect([answer.text, count]).toEqual(['The refund is 80 euros.', 2])
    expect(attempts[1]).toMatchObject({ attempt: 1, error: { kind: 'stalled' } })
  })

  test.each([
    [400, 'Your credit balance is too low to access the API.'],
    [402, 'Insufficient Balance'],
    [429, 'You exceeded your current quota (insufficient_quota).'],
  ])('%i for want of credit is asked only once', async (status, message) => {
    mock.reply({ status, message })
    const call = callWithRetries(request())
    await expect(call).rejects.toMatchObject({ kind: 'out_of_credit', retryable: false })
    expect(attempts).toHaveLength(2)
  })

  test('a corrupt first chunk is asked for again', async () => {
    mock.reply({ corrupt: 'first', text: 'The refund is' }, { text: 'The refund is 80 euros.' })
    const { answer, attempts: count } = await callWithRetries(request())
    expect([answer.text, count]).toEqual(['The refund is 80 euros.', 2])
  })

  test('a corrupt chunk in an answer is asked for again', async () => {
    mock.reply({ corrupt: 'middle', text: 'The refund is' }, { text: 'The refund is 80 euros.' })
    const { answer, attempts: count } = await callWithRetries(request())
    expect([answer.text, count]).toEqual(['The refund is 80 euros.', 2])
  })

  test.each(['destroyed', 'closed'] as const)(
    'a stream %s before its end is never an answer',
    async (ending) => {
      const cuts = [
        { ending },
        { text: 'The refund is', ending },
        { toolCalls: [{ name: 'look_up', input: '{"order":"A-17"}' }], ending },
      ]
      for (const cut of cuts) {
        mock.reply(cut)
        const call = streamAnswer(request())
        await expect(call).rejects.toMatchObject({ name: 'ModelError', retryable: true })
      }
    },
  )

  test('a cut stream is asked again', async () => {
    mock.reply({ text: 'The refund is', ending: 'closed' }, { text: 'The refund is 80 euros.' })
    const { answer, attempts: count } = await callWithRetries(request())
    expect([answer.text, count]).toEqual(['The refund is 80 euros.', 2])
  })

  test('an abort reaches the provider and keeps the partial text', async () => {
    mock.reply({ text: 'I was about to', ending: 'silent' })
    const controller = new AbortController()
    const call = streamAnswer({
      ...request({}, controller.signal),
      onDelta: ({ text }) => {
        if (text.includes('to')) controller.abort('stop')
      },
    })
    const error: unknown = await call.catch((thrown: unknown) => thrown)
    expect(ModelAbortedError.isInstance(error) && error.partial).toEqual({
      text: 'I was about to',
      reasoning: null,
      files: [],
    })
    const started = performance.now()
    await expect(mock.requests.at(-1)?.closed).resolves.toBe('left')
    expect(performance.now() - started).toBeLessThan(10_000)
  })

  test('an abort before the first chunk reaches the provider', async () => {
    const count = mock.requests.length
    mock.reply({ preamble: false, ending: 'silent' })
    const controller = new AbortController()
    const call = callWithRetries(request({}, controller.signal)).catch((error: unknown) => error)
    await expect.poll(() => mock.requests.length).toBe(count + 1)
    controller.abort('stop')
    expect(ModelAbortedError.isInstance(await call)).toBe(true)
    await expect(mock.requests.at(-1)?.closed).resolves.toBe('left')
    expect(attempts).toEqual([{ attempt: 1 }])
  })
})
