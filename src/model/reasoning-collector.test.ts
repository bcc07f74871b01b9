import { expect, test } from 'vitest'

import { ReasoningCollector } from './reasoning-collector.js'

test('each part keeps its text and its latest metadata', () => {
  const collector = new ReasoningCollector()
  collector.take({ type: 'reasoning-start', id: '0' })
  collector.take({ type: 'reasoning-delta', id: '0', delta: 'First' })
  collector.take({ type: 'reasoning-start', id: '1', providerMetadata: { anthropic: { redactedData: 'x' } } })
  collector.take({ type: 'reasoning-delta', id: '0', delta: ' thought' })
  collector.take({
    type: 'reasoning-delta',
    id: '0',
    delta: '',
    providerMetadata: { anthropic: { signature: 's' } },
  })
  collector.take({ type: 'reasoning-end', id: '0' })
  collector.take({ type: 'reasoning-start', id: '2' })
  collector.take({ type: 'reasoning-end', id: '2' })
  expect(collector.parts()).toEqual([
    { text: 'First thought', providerMetadata: { anthropic: { signature: 's' } } },
    { text: '', providerMetadata: { anthropic: { redactedData: 'x' } } },
  ])
})

test('what the end says joins what the start said', () => {
  const collector = new ReasoningCollector()
  const openai = { itemId: 'rs_1', reasoningEncryptedContent: null }
  collector.take({ type: 'reasoning-start', id: '0', providerMetadata: { openai } })
  collector.take({
    type: 'reasoning-end',
    id: '0',
    providerMetadata: { openai: { reasoningEncryptedContent: 'x' } },
  })
  expect(collector.parts()).toEqual([
    { text: '', providerMetadata: { openai: { itemId: 'rs_1', reasoningEncryptedContent: 'x' } } },
  ])
})
