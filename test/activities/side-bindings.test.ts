import { describe, expect, test } from 'vitest'

import { findChild, insertChild } from '../../src/store/children.js'
import { insertThread } from '../../src/store/threads.js'
import { payloads, withOffice } from './office.js'
import type { Office } from './office.js'

describe('the words of a stop tool', () => {
  test.each<readonly [string, unknown, unknown, string]>([
    ['its arguments', 'ok', { words: 'Goodbye.' }, 'Goodbye.'],
    ['its result before its arguments', { words: 'So long.' }, { words: 'Goodbye.' }, 'So long.'],
  ])('come from %s', (_what, result, args, words) =>
    withOffice({ work: () => ({ status: 'success', result }) }, async (office) => {
      const answer = await office.run(await office.call('finish', args))
      expect(answer).toEqual({ type: 'result', outcome: 'succeeded', text: true })
      const [row, message] = (await office.transcript()).slice(-2)
      expect(row).toMatchObject({ role: 'tool', name: 'finish' })
      expect(message).toMatchObject({ role: 'assistant', content: words, prompt: 'front', silent: false })
    }),
  )

  test('a call that failed has none', () =>
    withOffice({ work: () => ({ status: 'error', error: 'No.' }) }, async (office) => {
      const answer = await office.run(await office.call('finish', { words: 'Goodbye.' }))
      expect(answer).not.toHaveProperty('text')
      expect((await office.transcript()).at(-1)).toMatchObject({ role: 'tool' })
    }))

  test('without the property there are none', () =>
    withOffice({}, async (office) => {
      expect(await office.run(await office.call('finish'))).toEqual({ type: 'result', outcome: 'succeeded' })
      expect((await office.transcript()).at(-1)).toMatchObject({ role: 'tool' })
    }))
})

describe('a status tool', () => {
  async function becomeChild(office: Office): Promise<void> {
    await office.store.write(async (tx) => {
      await insertThread(tx, { id: 'p', agent: 'front', created_at: 1 })
      await tx.updateTable('threads').set({ parent_thread_id: 'p' }).where('id', '=', 't').execute()
      await insertChild(tx, {
        ...{ parent_thread_id: 'p', reference: 't', call_id: 'c', agent: 'front', name: 'front' },
        ...{ description: '', resumable: false, blocking: true, created_at: 1, status: 'running' },
      })
    })
  }

  test('shows its words in the registry of the parent', () =>
    withOffice({}, async (office) => {
      const input = await office.call('set_status', { text: `Half done. ${'x'.repeat(600)}` })
      await becomeChild(office)
      expect(await office.run(input)).toEqual({ type: 'result', outcome: 'succeeded' })
      const child = await office.store.read((db) => findChild(db, 'p', 't'))
      expect(child?.status).toMatch(/^Half done\. x+$/)
      expect(child?.status).toHaveLength(500)
      const told = (await office.events('p')).filter(({ type }) => type === 'subagent.status')
      expect(told.map(({ payload }) => payload)).toEqual([{ reference: 't', name: 'front' }])
    }))

  test('is an ordinary tool without a parent', () =>
    withOffice({}, async (office) => {
      const input = await office.call('set_status', { text: 'Half done.' })
      expect(await office.run(input)).toEqual({ type: 'result', outcome: 'succeeded' })
      expect(await payloads(office, 'subagent.status')).toEqual([])
    }))
})
