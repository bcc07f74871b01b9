import { expect, test } from 'vitest'

import { transcriptRow } from '../../../test/support/transcript-row.js'
import { assemblePrompt } from './assemble-prompt.js'
import { reasoningParts } from './reasoning-parts.js'

const signed = { text: 'Hm.', providerMetadata: { anthropic: { signature: 'sig' } } }
const row = transcriptRow({
  role: 'assistant',
  side: 'a',
  content: 'Yes.',
  prompt: 'desk',
  reasoning_content: 'Hm.',
  reasoning_details: JSON.stringify({ model: 'chat', parts: [signed] }),
})
const author = { prompt: 'desk', model: 'chat' }

test('K-21 reasoning goes back to its author once', () => {
  const prompt = assemblePrompt({
    system: '',
    messages: [transcriptRow({ content: 'Well?' }), row],
    perspective: { type: 'ai_human', side: 'a' },
    author,
  })
  expect(prompt[1]?.content).toEqual([
    { type: 'reasoning', text: 'Hm.', providerOptions: { anthropic: { signature: 'sig' } } },
    { type: 'text', text: 'Yes.' },
  ])
})

test('K-21 no other prompt or model gets it', () => {
  expect(reasoningParts(row, { ...author, prompt: 'other' })).toEqual([])
  expect(reasoningParts(row, { ...author, model: 'other' })).toEqual([])
  expect(reasoningParts(row, null)).toEqual([])
})

test('K-14 ids of what a provider keeps are not sent', () => {
  const openai = { itemId: 'rs_1', reasoningEncryptedContent: 'sealed' }
  const details = { model: 'chat', parts: [{ text: '', providerMetadata: { openai } }] }
  expect(reasoningParts({ ...row, reasoning_details: JSON.stringify(details) }, author)).toEqual([
    { type: 'reasoning', text: '', providerOptions: { openai: { reasoningEncryptedContent: 'sealed' } } },
  ])
})

test.each(['{', 'null', '{}', '{"model":"chat"}'])('details %s are none', (reasoning_details) => {
  expect(reasoningParts({ ...row, reasoning_details }, author)).toEqual([])
})
