import { expect, test } from 'vitest'
import { PART_METADATA_BYTES, PartCollector, PARTS_PER_ANSWER } from './answer-collector.js'

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
  expect(collector.collected({ text: 'Yes.', reasoning }).parts).toEqual([
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
  const { parts, metadataLeftOut } = collector.collected({ text: '', reasoning: '' })
  expect(parts.map((part) => part.providerMetadata !== undefined)).toEqual([true, false, true])
  expect(metadataLeftOut).toBe(1)
})

test('an answer of endless parts is refused', () => {
  const collector = new PartCollector()
  const more = (): void => collector.take({ type: 'text-start', id: 'again' })
  for (let part = 0; part < PARTS_PER_ANSWER; part += 1) more()
  expect(more).toThrow(expect.objectContaining({ kind: 'too_large', retryable: false }) as Error)
})
