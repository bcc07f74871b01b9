import { describe, expect, test, vi } from 'vitest'

import type { Store } from '../../store/store.js'
import { StoreError } from '../../store/store-error.js'
import { createWaitingText, writeDeltas } from './deltas.js'
import type { ModelStep } from './model-step.js'

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

describe('a stream into the store', () => {
  // A stream needs no more of them.
  const step = { messageId: 'm', input: { threadId: 't' } } as ModelStep

  function streamInto(write: () => Promise<unknown>) {
    const writing = vi.fn(write)
    return { deltas: writeDeltas({ write: writing } as unknown as Store, step), write: writing }
  }

  test('writes the first text at once, and the text that comes during the write as one batch', async () => {
    const { deltas, write } = streamInto(async () => [])
    for (const text of ['One', ' two', ' three', ' four']) deltas.add({ kind: 'text', text })
    expect(write).toHaveBeenCalledTimes(1)
    await deltas.finish()
    expect(write).toHaveBeenCalledTimes(2)
  })

  test('ends with a store that cannot take it: the whole message follows', async () => {
    const { deltas, write } = streamInto(() => Promise.reject(new StoreError('unavailable', 'Gone.')))
    deltas.add({ kind: 'text', text: 'One' })
    deltas.add({ kind: 'text', text: ' two' })
    await deltas.finish()
    expect(write).toHaveBeenCalledTimes(1)
  })

  test('does not hide a bug', async () => {
    const { deltas } = streamInto(() => Promise.reject(new TypeError('A bug.')))
    deltas.add({ kind: 'text', text: 'One' })
    await expect(deltas.finish()).rejects.toThrow('A bug.')
  })
})
