import { describe, expect, test } from 'vitest'

import { withDesk } from './activity-desk.js'

describe('the words of a stop tool', () => {
  test.each<readonly [string, unknown, unknown, string]>([
    ['its arguments', 'ok', { words: 'Goodbye.' }, 'Goodbye.'],
    ['its result before its arguments', { words: 'So long.' }, { words: 'Goodbye.' }, 'So long.'],
  ])('come from %s', (_what, result, args, words) =>
    withDesk({ work: () => ({ status: 'success', result }) }, async (desk) => {
      const answer = await desk.run(await desk.call('finish', args))
      expect(answer).toEqual({ type: 'result', outcome: 'succeeded', text: true })
      const [row, message] = (await desk.transcript()).slice(-2)
      expect(row).toMatchObject({ role: 'tool', name: 'finish' })
      expect(message).toMatchObject({ role: 'assistant', content: words, prompt: 'clerk', silent: false })
    }),
  )

  test('a call that failed has none', () =>
    withDesk({ work: () => ({ status: 'error', error: 'No.' }) }, async (desk) => {
      const answer = await desk.run(await desk.call('finish', { words: 'Goodbye.' }))
      expect(answer).not.toHaveProperty('text')
      expect((await desk.transcript()).at(-1)).toMatchObject({ role: 'tool' })
    }))

  test('without the property there are none', () =>
    withDesk({}, async (desk) => {
      expect(await desk.run(await desk.call('finish'))).toEqual({ type: 'result', outcome: 'succeeded' })
      expect((await desk.transcript()).at(-1)).toMatchObject({ role: 'tool' })
    }))
})
