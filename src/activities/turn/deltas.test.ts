import { expect, test } from 'vitest'
import { createWaitingText } from './deltas.js'

const message = { threadId: 't', messageId: 'm' }

test('a character that comes in two pieces is one piece of text', () => {
  const waiting = createWaitingText(message)
  waiting.add('text', 'Hi \u{1f642}'.slice(0, -1))
  expect(waiting.take()).toMatchObject([{ offset: 0, text: 'Hi ' }])
  waiting.add('reasoning', 'So')
  waiting.add('text', '\u{1f642}!'.slice(1))
  expect(waiting.take()).toMatchObject([
    { kind: 'reasoning', offset: 0, text: 'So' },
    { kind: 'text', offset: 3, text: '\u{1f642}!' },
  ])
})

test('half a character of a request that failed is not in the next one', () => {
  const waiting = createWaitingText(message)
  waiting.add('text', '\ud83d')
  expect(waiting.length).toBe(0)
  waiting.begin(2)
  waiting.add('text', 'Hi')
  expect(waiting.take()).toMatchObject([{ attempt: 2, offset: 0, text: 'Hi' }])
})
