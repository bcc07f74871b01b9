import { expect, test } from 'vitest'
import { findInventory, getPlan, listAgents, putAgents, putPlan } from '../../../src/store/agents.js'
import { findError, recordError } from '../../../src/store/errors.js'
import { getValue, listValues, setValue } from '../../../src/store/threads/variables.js'
import { NOW } from './with-store.js'
import type { WithStore } from './with-store.js'

const ERROR = { id: 'e', threadId: 't', at: NOW, type: 'TypeError', message: 'words', stack: null }

export function recordConformance(withStore: WithStore): void {
  test(
    'values belong to a thread; undefined deletes',
    withStore(async (store) => {
      const set = (threadId: string, key: string, value: Parameters<typeof setValue>[1]['value']) =>
        store.write((tx) => setValue(tx, { threadId, key, value }))
      await set('t', 'b', { deep: [1, null] })
      await set('t', 'a', 1)
      await set('t', 'a', null)
      await set('other', 'a', 'x')
      expect(await store.read((db) => getValue(db, 't', 'a'))).toBeNull()
      expect(await store.read((db) => getValue(db, 't', 'none'))).toBeUndefined()
      expect(await store.read((db) => listValues(db, 't'))).toEqual({ a: null, b: { deep: [1, null] } })
      await set('t', 'a', undefined)
      await set('t', 'none', undefined)
      expect(await store.read((db) => listValues(db, 't'))).toEqual({ b: { deep: [1, null] } })
      expect(await store.read((db) => getValue(db, 'other', 'a'))).toBe('x')
    }),
  )

  test(
    'an agent is written again only where it differs, and lists leave its inventory out',
    withStore(async (store) => {
      const listed = { type: 'ai_human', title: null, description: null, icon: null, expose_as_tool: true }
      const put = (now: number, ...agents: readonly [name: string, inventory: unknown][]) =>
        store.write((tx) =>
          putAgents(tx, { now, agents: agents.map(([name, inventory]) => ({ ...listed, name, inventory })) }),
        )
      const find = (name: string) => store.read((db) => findInventory(db, name))
      await put(NOW, ['a', { tools: ['é', '\0'] }], ['b', {}])
      await put(NOW + 1, ['a', { tools: ['é', '\0'] }], ['b', { tools: [] }])
      expect(await find('a')).toEqual({ inventory: { tools: ['é', '\0'] }, recordedAt: NOW })
      expect(await find('b')).toEqual({ inventory: { tools: [] }, recordedAt: NOW + 1 })
      expect(await find('c')).toBeNull()
      const all = await store.read((db) => listAgents(db, { after: null, limit: 10 }))
      expect(all).toEqual(['a', 'b'].map((name) => ({ ...listed, name })))
    }),
  )

  test(
    'texts come back with every character that they had',
    withStore(async (store) => {
      const texts = ['a\0b', '\0', '\uFDD0', '\uFDD00\uFDD01\0', '\uFFFE 👩‍👩‍👧 \u202E é', '\'\\";--']
      for (const [index, text] of texts.entries()) {
        await store.write((tx) => recordError(tx, { ...ERROR, id: `e${index}`, message: text }))
        expect((await store.read((db) => findError(db, `e${index}`)))?.message).toBe(text)
      }
    }),
  )

  test(
    'a plan stays as it was first put',
    withStore(async (store) => {
      await store.write((tx) => putPlan(tx, { digest: 'd', content: { prompt: 'one' }, now: NOW }))
      await store.write((tx) => putPlan(tx, { digest: 'd', content: { prompt: 'two' }, now: NOW }))
      expect(await store.read((db) => getPlan(db, 'd'))).toEqual({ prompt: 'one' })
      expect(await store.read((db) => getPlan(db, 'none'))).toBeNull()
    }),
  )

  test(
    'T5: the words of an error stay under its id',
    withStore(async (store) => {
      await store.write((tx) => recordError(tx, ERROR))
      await store.write((tx) => recordError(tx, { ...ERROR, message: 'again' }))
      expect(await store.read((db) => findError(db, 'e'))).toEqual(ERROR)
      expect(await store.read((db) => findError(db, 'none'))).toBeNull()
    }),
  )

  test(
    'T5: the words of an error are stored without keys',
    withStore(async (store) => {
      const words = { message: 'Refused sk-abcdefghijklmnop1.', stack: 'at a (Bearer abcdefghijkl1)' }
      await store.write((tx) => recordError(tx, { ...ERROR, ...words }))
      expect(await store.read((db) => findError(db, 'e'))).toMatchObject({
        message: 'Refused [secret].',
        stack: 'at a (Bearer [secret])',
      })
    }),
  )
}
