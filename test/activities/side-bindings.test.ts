import { describe, expect, test } from 'vitest'

import { findChild, insertChild } from '../../src/store/children.js'
import { insertThread } from '../../src/store/threads.js'
import { withDesk } from './activity-desk.js'
import type { ActivityDesk } from './activity-desk.js'

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

describe('a status tool', () => {
  async function becomeChild(desk: ActivityDesk): Promise<void> {
    await desk.store.write(async (tx) => {
      await insertThread(tx, { id: 'p', agent: 'clerk', created_at: 1 })
      await tx.updateTable('threads').set({ parent_thread_id: 'p' }).where('id', '=', 't').execute()
      await insertChild(tx, {
        ...{ parent_thread_id: 'p', reference: 't', call_id: 'c', agent: 'clerk', name: 'clerk' },
        ...{ description: '', resumable: false, blocking: true, created_at: 1, status: 'running' },
      })
    })
  }

  test('shows its words in the registry of the parent', () =>
    withDesk({}, async (desk) => {
      const input = await desk.call('set_status', { text: `Half done. ${'x'.repeat(600)}` })
      await becomeChild(desk)
      expect(await desk.run(input)).toEqual({ type: 'result', outcome: 'succeeded' })
      const child = await desk.store.read((db) => findChild(db, 'p', 't'))
      expect(child?.status).toMatch(/^Half done\. x+$/)
      expect(child?.status).toHaveLength(500)
      const told = (await desk.events('p')).filter(({ type }) => type === 'subagent.status')
      expect(told.map(({ payload }) => payload)).toEqual([{ reference: 't', name: 'clerk' }])
    }))

  test('is an ordinary tool without a parent', () =>
    withDesk({}, async (desk) => {
      const input = await desk.call('set_status', { text: 'Half done.' })
      expect(await desk.run(input)).toEqual({ type: 'result', outcome: 'succeeded' })
      expect(await desk.told('subagent.status')).toEqual([])
    }))
})
