import { expect, test } from 'vitest'
import { answerBody } from './file-response.js'

test('a quiet stream is let go at once when nobody takes it', async () => {
  let reason: unknown
  const quiet = new ReadableStream<Uint8Array>({ cancel: (given) => void (reason = given) })
  const reader = answerBody(quiet, () => undefined).getReader()
  const waiting = reader.read()
  await reader.cancel('gone')
  expect(await waiting).toEqual({ done: true, value: undefined })
  expect(reason).toBe('gone')
})

test('a generator is let go when nobody takes it', async () => {
  let ended = false
  async function* endless(): AsyncGenerator<Uint8Array> {
    try {
      for (;;) yield new Uint8Array(1)
    } finally {
      ended = true
    }
  }
  const reader = answerBody(endless(), () => undefined).getReader()
  await reader.read()
  await reader.cancel()
  expect(ended).toBe(true)
})
