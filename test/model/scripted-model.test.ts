import { expect, test } from 'vitest'
import type { AnswerDelta, LanguageModel } from '../../src/model/model-answer.js'
import { scriptedModel } from '../../src/model/scripted-model.js'
import type { ScriptedReply } from '../../src/model/scripted-model.js'
import { streamAnswer } from '../../src/model/stream-answer.js'
import type { ModelRequest } from '../../src/model/stream-answer.js'

const request: ModelRequest = {
  prompt: [
    { role: 'system', content: 'Be brief.' },
    { role: 'user', content: [{ type: 'text', text: 'Refund A-17.' }] },
    {
      role: 'assistant',
      content: [
        { type: 'text', text: 'One moment.' },
        { type: 'tool-call', toolCallId: '1', toolName: 'refund', input: { order: 'A-17' } },
      ],
    },
    {
      role: 'tool',
      content: [
        {
          type: 'tool-result',
          toolCallId: '1',
          toolName: 'refund',
          output: { type: 'error-text', value: 'Not today.' },
        },
      ],
    },
  ],
  tools: [{ type: 'function', name: 'refund', description: 'Refunds.', inputSchema: { type: 'object' } }],
  providerOptions: { everthread: { prompt: 'desk', side: 'a', threadId: 'thread-1' } },
}

function ask(
  model: LanguageModel,
  onDelta: (delta: AnswerDelta) => void = () => undefined,
  signal?: AbortSignal,
) {
  return streamAnswer({ model, options: request, signal: signal ?? new AbortController().signal, onDelta })
}

test('replies come in order, streamed by words', async () => {
  const model = scriptedModel([
    { text: 'Well, yes. ', reasoning: 'Why not?', usage: { inputTokens: 99 } },
    {
      toolCalls: [
        { name: 'refund', args: { order: 'A-17' } },
        { name: 'refund', args: '{"order":' },
        { name: 'list' },
      ],
    },
  ])
  const deltas: AnswerDelta[] = []
  await expect(ask(model, (delta) => void deltas.push(delta))).resolves.toEqual({
    text: 'Well, yes. ',
    reasoning: 'Why not?',
    parts: [
      { kind: 'reasoning', from: 0, to: 8 },
      { kind: 'text', from: 0, to: 11 },
    ],
    files: [],
    metadataLeftOut: 0,
    toolCalls: [],
    finishReason: 'stop',
    usage: { inputTokens: 99, outputTokens: 5, cachedInputTokens: 0 },
    responseId: 'scripted-1',
    responseModel: null,
  })
  expect(deltas.map(({ text }) => text)).toEqual(['Why', ' not?', 'Well,', ' yes. '])
  expect(model.remaining).toBe(1)
  expect((await ask(model)).toolCalls.map(({ name, input }) => [name, input])).toEqual([
    ['refund', '{"order":"A-17"}'],
    ['refund', '{"order":'],
    ['list', '{}'],
  ])
  expect(model.remaining).toBe(0)
})

test('a request is shown in simple words', async () => {
  const model = scriptedModel([
    async (asked) => ({ text: `${asked.prompt} ${asked.side} ${asked.threadId}` }),
  ])
  expect((await ask(model)).text).toBe('desk a thread-1')
  expect(model.requests).toMatchObject([
    {
      system: 'Be brief.',
      messages: [
        { role: 'user', text: 'Refund A-17.' },
        {
          role: 'assistant',
          text: 'One moment.',
          toolCalls: [{ id: '1', name: 'refund', args: { order: 'A-17' } }],
        },
        {
          role: 'tool',
          text: 'Not today.',
          toolResults: [{ id: '1', name: 'refund', text: 'Not today.', isError: true }],
        },
      ],
      tools: [{ name: 'refund', description: 'Refunds.', inputSchema: { type: 'object' } }],
      raw: { providerOptions: request.providerOptions },
    },
  ])
})

test('a request beyond the script says what was asked', async () => {
  const model = scriptedModel([{ text: 'Yes.' }])
  await ask(model)
  const call = ask(model)
  await expect(call).rejects.toMatchObject({ name: 'ModelError', retryable: false })
  await expect(call).rejects.toThrow(
    'Expected at most 1 requests of this scripted model, got one more: prompt "desk", side "a", thread "thread-1", last message "tool": "Not today."',
  )
  expect(model.requests).toHaveLength(2)
})

test('a generator or a function can be a script', async () => {
  function* replies(): Generator<ScriptedReply> {
    yield { text: 'One.' }
    yield () => ({ text: 'Two.' })
  }
  const generated = scriptedModel(replies())
  expect([(await ask(generated)).text, (await ask(generated)).text]).toEqual(['One.', 'Two.'])
  expect(generated.remaining).toBe(Infinity)
  await expect(ask(generated)).rejects.toThrow('Expected at most 2 requests')
  expect(generated.remaining).toBe(0)
  const endless = scriptedModel(({ messages }) => ({ text: `${messages.length} messages` }))
  expect((await ask(endless)).text).toBe('3 messages')
  expect((await ask(endless)).text).toBe('3 messages')
})

test('a scripted error fails like a provider', async () => {
  const error = { status: 429, message: 'Slow down.', headers: { 'retry-after': '4' } }
  await expect(ask(scriptedModel([{ error }]))).rejects.toMatchObject({
    kind: 'rate_limited',
    retryAfter: 4000,
  })
})

test.each<[string, ScriptedReply]>([
  ['before the answer', { text: 'Too late.', delay: 60_000 }],
  ['in the midst of it', { text: 'Too late.', wordDelay: 60_000 }],
])('an abort ends a delay %s', async (_title, reply) => {
  const controller = new AbortController()
  const model = scriptedModel([reply])
  const call = ask(model, undefined, controller.signal)
  await expect.poll(() => model.requests.length).toBe(1)
  controller.abort()
  await expect(call).rejects.toMatchObject({ name: 'ModelAbortedError' })
})

test('a call without streaming gets the same answer', async () => {
  const model = scriptedModel([{ text: 'Yes.', toolCalls: [{ name: 'refund', args: {} }] }])
  await expect(model.doGenerate(request)).resolves.toMatchObject({
    content: [
      { type: 'text', text: 'Yes.' },
      { type: 'tool-call', toolName: 'refund', input: '{}' },
    ],
    finishReason: { unified: 'tool-calls' },
  })
})
