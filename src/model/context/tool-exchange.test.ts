import type { LanguageModelV4Message, LanguageModelV4Prompt } from '@ai-sdk/provider'
import { expect, test } from 'vitest'
import { pairToolMessages } from './tool-exchange.js'

const said: LanguageModelV4Message = { role: 'user', content: [{ type: 'text', text: 'Hello' }] }

function asked(...ids: readonly string[]): LanguageModelV4Message {
  const content = ids.map(
    (id) => ({ type: 'tool-call', toolCallId: id, toolName: 'look', input: {} }) as const,
  )
  return { role: 'assistant', content }
}

function answered(...ids: readonly string[]): LanguageModelV4Message {
  const output = { type: 'text', value: 'Found.' } as const
  const content = ids.map(
    (toolCallId) => ({ type: 'tool-result', toolCallId, toolName: 'look', output }) as const,
  )
  return { role: 'tool', content }
}

function idsOf(prompt: LanguageModelV4Prompt): readonly unknown[] {
  return prompt.map(({ role, content }) =>
    typeof content === 'string'
      ? role
      : [
          role,
          ...content.map((part) => ('output' in part ? `${part.toolCallId}=${part.output.type}` : part.type)),
        ],
  )
}

test('a prompt whose pairs are whole stays as it is', () => {
  const prompt = [said, asked('1', '2'), answered('1', '2'), said]
  expect(pairToolMessages(prompt)).toEqual(prompt)
})

test('K-17 a call that lost its result gets a failed one', () => {
  expect(idsOf(pairToolMessages([said, asked('1', '2'), answered('2'), asked('3'), said]))).toEqual([
    ['user', 'text'],
    ['assistant', 'tool-call', 'tool-call'],
    ['tool', '1=error-text', '2=text'],
    ['assistant', 'tool-call'],
    ['tool', '3=error-text'],
    ['user', 'text'],
  ])
})

test('K-17 a result that lost its call goes', () => {
  expect(pairToolMessages([said, answered('1'), asked('2'), answered('2', '9'), said])).toEqual([
    said,
    asked('2'),
    answered('2'),
    said,
  ])
})
