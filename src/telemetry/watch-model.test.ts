import { expect, test } from 'vitest'
import { providerName } from './watch-model.js'

test('providers have the names of the conventions', () => {
  const names = ['openai.responses', 'anthropic.messages', 'google.generative-ai', 'amazon-bedrock', 'ours']
  expect(names.map(providerName)).toEqual(['openai', 'anthropic', 'gcp.gemini', 'aws.bedrock', 'ours'])
})
