import type { LanguageModelV4FinishReason, LanguageModelV4StreamPart } from '@ai-sdk/provider'
import { describe, expect, test } from 'vitest'
import {
  AnswerCollector,
  argumentsOf,
  metadataOf,
  PART_METADATA_BYTES,
  PartCollector,
  PARTS_PER_ANSWER,
  textOf,
  tokensOf,
} from './answer-collector.js'
import type { AnswerDelta } from './model-answer.js'

function collect(parts: readonly LanguageModelV4StreamPart[], answerBytes = 1000) {
  const deltas: AnswerDelta[] = []
  const collector = new AnswerCollector({ answerBytes, onDelta: (delta) => void deltas.push(delta) })
  for (const part of parts) collector.take(part)
  return { collector, deltas }
}

const tokens = { total: 7, noCache: undefined, cacheRead: undefined, cacheWrite: undefined }
const usage = { inputTokens: tokens, outputTokens: { total: 2, text: undefined, reasoning: undefined } }
const stop: LanguageModelV4FinishReason = { unified: 'stop', raw: 'stop' }

function finish(finishReason = stop) {
  return { type: 'finish', finishReason, usage } as const
}

describe('an answer', () => {
  test('joins the parts of reasoning as paragraphs, and passes them on so', () => {
    const reasoning = (id: string): LanguageModelV4StreamPart[] => [
      { type: 'reasoning-start', id },
      { type: 'reasoning-delta', id, delta: `Thought ${id}.` },
      { type: 'reasoning-end', id },
    ]
    const said: LanguageModelV4StreamPart = { type: 'text-delta', id: 'text', delta: 'Yes.' }
    const { collector, deltas } = collect([...reasoning('1'), ...reasoning('2'), said])
    const expected = 'Thought 1.\n\nThought 2.'
    expect(collector.answer(finish()).reasoning).toBe(expected)
    const passed = deltas.flatMap(({ kind, text }) => (kind === 'reasoning' ? [text] : []))
    expect(passed.join('')).toBe(expected)
  })

  test('keeps the calls that the provider ran itself apart from those to run', () => {
    const call = { type: 'tool-call', toolName: 'search', input: '{}' } as const
    const providerMetadata = { google: { thoughtSignature: 's' } }
    const { collector } = collect([
      { ...call, toolCallId: '1', providerExecuted: true },
      { ...call, toolCallId: '2', providerMetadata },
    ])
    const { toolCalls, parts } = collector.answer(finish())
    expect(toolCalls).toEqual([{ providerCallId: '2', name: 'search', input: '{}' }])
    const search = { type: 'call', id: '1', name: 'search', input: {} }
    expect(parts).toEqual([
      { kind: 'provider', part: search },
      { kind: 'call', index: 0, providerMetadata },
    ])
  })

  test('counts the bytes of tool arguments once', () => {
    const parts: readonly LanguageModelV4StreamPart[] = [
      { type: 'tool-input-delta', id: '1', delta: '{"a":1}' },
      { type: 'tool-call', toolCallId: '1', toolName: 'search', input: '{"a":1}' },
    ]
    expect(collect(parts, 7).collector.answer(finish())).toMatchObject({ finishReason: 'stop' })
    expect(() => collect(parts, 6)).toThrow(expect.objectContaining({ kind: 'too_large' }) as Error)
  })
})

describe('a finish', () => {
  test.each<[string, LanguageModelV4FinishReason]>([
    ['interrupted', { unified: 'interrupted' as never, raw: undefined }],
    ['error', { unified: 'error', raw: 'error' }],
    ['other without a raw reason', { unified: 'other', raw: undefined }],
  ])('of %s is a failed attempt, whose cost is known', (_title, finishReason) => {
    const cost = { inputTokens: 7, outputTokens: 2, cachedInputTokens: 0 }
    expect(() => collect([]).collector.answer(finish(finishReason))).toThrow(
      expect.objectContaining({ kind: 'incomplete', retryable: true, usage: cost }) as Error,
    )
  })

  test('by a content filter makes no answer, whatever text came before', () => {
    const { collector } = collect([{ type: 'text-delta', id: '1', delta: 'The re' }])
    expect(() => collector.answer(finish({ unified: 'content-filter', raw: 'refusal' }))).toThrow(
      expect.objectContaining({ kind: 'content_filter', retryable: false }) as Error,
    )
  })
})

test.each([
  ['bytes', new Uint8Array(3)],
  ['a number', 7],
  ['nothing', undefined],
])('T10 text that arrives as %s fails the attempt, and nobody receives it', (_what, delta) => {
  for (const type of ['text-delta', 'reasoning-delta'] as const) {
    const { collector, deltas } = collect([])
    expect(() => collector.take({ type, id: '1', delta } as never)).toThrow(
      expect.objectContaining({ kind: 'incomplete', retryable: true }) as Error,
    )
    expect(deltas).toEqual([])
  }
})

const reasoning = 'First thought\n\nSecond'

test('each part keeps its place and its latest metadata', () => {
  const collector = new PartCollector()
  const openai = { itemId: 'rs_1', reasoningEncryptedContent: null }
  collector.take({ type: 'reasoning-start', id: '0' })
  collector.take({ type: 'reasoning-delta', id: '0', delta: 'First' })
  collector.take({ type: 'reasoning-start', id: '1', providerMetadata: { anthropic: { redactedData: 'x' } } })
  collector.take({ type: 'reasoning-delta', id: '0', delta: ' thought' })
  collector.take({
    ...{ type: 'reasoning-delta', id: '0', delta: '' },
    providerMetadata: { anthropic: { signature: 's' } },
  })
  collector.take({ type: 'reasoning-end', id: '0' })
  collector.take({ type: 'reasoning-start', id: '2' })
  collector.take({ type: 'text-start', id: '2' })
  collector.take({ type: 'text-delta', id: '2', delta: 'Yes.' })
  collector.add('call', 0, { google: { thoughtSignature: 'c' } })
  collector.take({ type: 'reasoning-start', id: '3', providerMetadata: { openai } })
  collector.take({ type: 'reasoning-delta', id: '3', delta: 'Second' })
  collector.take({
    ...{ type: 'reasoning-end', id: '3' },
    providerMetadata: { openai: { reasoningEncryptedContent: 'e' } },
  })
  expect(collector.collect({ text: 'Yes.', reasoning }).parts).toEqual([
    { kind: 'reasoning', from: 0, to: 13, providerMetadata: { anthropic: { signature: 's' } } },
    { kind: 'reasoning', from: 13, to: 13, providerMetadata: { anthropic: { redactedData: 'x' } } },
    { kind: 'text', from: 0, to: 4 },
    { kind: 'call', index: 0, providerMetadata: { google: { thoughtSignature: 'c' } } },
    {
      ...{ kind: 'reasoning', from: 15, to: 21 },
      providerMetadata: { openai: { itemId: 'rs_1', reasoningEncryptedContent: 'e' } },
    },
  ])
})

test('metadata that does not fit is left out whole', () => {
  const collector = new PartCollector()
  const half = 'x'.repeat(PART_METADATA_BYTES * 0.6)
  collector.add('call', 0, { google: { thoughtSignature: half } })
  collector.add('call', 1, { google: { thoughtSignature: half } })
  collector.add('call', 2, { google: { thoughtSignature: 'small' } })
  const { parts, metadataLeftOut } = collector.collect({ text: '', reasoning: '' })
  expect(parts.map((part) => part.providerMetadata !== undefined)).toEqual([true, false, true])
  expect(metadataLeftOut).toBe(1)
})

test('an answer of endless parts is refused', () => {
  const collector = new PartCollector()
  const more = (): void => collector.take({ type: 'text-start', id: 'again' })
  for (let part = 0; part < PARTS_PER_ANSWER; part += 1) more()
  expect(more).toThrow(expect.objectContaining({ kind: 'too_large', retryable: false }) as Error)
})

const ring: { self?: unknown } = {}
ring.self = ring

test.each([
  ['raw text', '{broken', '{broken'],
  ['a parsed object', { a: 1 }, '{"a":1}'],
  ['nothing', undefined, ''],
  ['a ring', ring, ''],
  ['a BigInt', 7n, ''],
])('arguments that are %s are a text', (_what, given, text) => {
  expect(argumentsOf(given)).toBe(text)
})

test('what is no text is an empty one', () => {
  expect([7, null, {}, 'name'].map(textOf)).toEqual(['', '', '', 'name'])
})

test('tokens are whole numbers from zero on', () => {
  const given = [7, 1.6, -5, Number.NaN, Infinity, '7', 7n, null, undefined]
  expect(given.map(tokensOf)).toEqual([7, 2, 0, 0, 1e12, 0, 0, 0, 0])
})

test('metadata is what of it is JSON, by provider', () => {
  expect(metadataOf({ anthropic: { signature: 's' }, other: null, list: [1] })).toEqual({
    anthropic: { signature: 's' },
  })
  expect([metadataOf({ a: ring }), metadataOf({ a: null }), metadataOf('text'), metadataOf(null)]).toEqual([
    undefined,
    undefined,
    undefined,
    undefined,
  ])
})
