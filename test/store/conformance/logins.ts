import { expect, test } from 'vitest'

import { deleteLogin, findLogin, listLogins, putLogin } from '../../../src/store/calls/logins.js'
import type { LoginPlace } from '../../../src/store/calls/logins.js'
import { createSecretBox, secretKeys } from '../../../src/store/secret-box.js'
import type { Store } from '../../../src/store/store.js'
import type { WithStore } from './with-store.js'

const [first = '', second = ''] = ['1f', '2e'].map((byte) => byte.repeat(32))
const box = createSecretBox(secretKeys({ secretKey: first }))
const MIA: LoginPlace = { account: 'acme', user: 'mia', source: 'tracker' }

const put = (store: Store, place: LoginPlace, text: string, version: number | null) =>
  store.write((tx) => putLogin(tx, box, { place, text, version }))
const find = (store: Store, place: LoginPlace) => store.read((db) => findLogin(db, box, place))

export function loginConformance(withStore: WithStore): void {
  test(
    'a login is of one person at one source, and is listed without what it holds',
    withStore(async (store) => {
      const places = [
        ...[MIA, { ...MIA, source: 'mail' }, { ...MIA, account: null }, { ...MIA, account: 'globex' }],
        ...[
          { ...MIA, user: null },
          { account: null, user: null, source: 'tracker' },
        ],
      ]
      for (const [index, place] of places.entries())
        expect(await put(store, place, `secret ${index}`, null)).toBe(true)
      for (const [index, place] of places.entries())
        expect(await find(store, place)).toMatchObject({ text: `secret ${index}` })
      expect(await find(store, { ...MIA, user: 'tom' })).toBeNull()
      const listed = await store.read((db) => listLogins(db, MIA))
      expect(listed.map(({ source }) => source)).toEqual(['mail', 'tracker'])
      const rows = JSON.stringify([
        listed,
        await store.read((db) => db.selectFrom('logins').selectAll().execute()),
      ])
      expect(rows).not.toContain('secret')
    }),
  )

  test(
    'of two writes that have read the same version one is refused, and no version comes again',
    withStore(async (store) => {
      await put(store, MIA, 'one', null)
      const read = (await find(store, MIA))?.version ?? 0
      const both = await Promise.all([put(store, MIA, 'two', read), put(store, MIA, 'three', read)])
      expect(both.filter((isWritten) => isWritten)).toHaveLength(1)
      expect(await put(store, MIA, 'four', null)).toBe(false)
      expect(await store.write((tx) => deleteLogin(tx, MIA))).toBe(true)
      expect(await store.write((tx) => deleteLogin(tx, MIA))).toBe(false)
      expect(await put(store, MIA, 'five', read)).toBe(false)
      await put(store, MIA, 'six', null)
      // A worker that has read before the deletion changes nothing.
      expect(await put(store, MIA, 'seven', read)).toBe(false)
      expect(await find(store, MIA)).toMatchObject({ text: 'six' })
    }),
  )

  test(
    'a login that was moved to another person cannot be opened, nor with another key',
    withStore(async (store) => {
      await put(store, MIA, 'one', null)
      const other = createSecretBox(secretKeys({ secretKey: second }))
      await expect(store.read((db) => findLogin(db, other, MIA))).rejects.toMatchObject({ code: 'no_key' })
      const both = createSecretBox(secretKeys({ secretKey: `${second},${first}` }))
      expect(await store.read((db) => findLogin(db, both, MIA))).toMatchObject({ text: 'one' })
      await store.write((tx) => tx.updateTable('logins').set({ user_id: 'tom' }).execute())
      await expect(find(store, { ...MIA, user: 'tom' })).rejects.toMatchObject({ code: 'corrupt' })
      const none = createSecretBox([])
      await expect(
        store.write((tx) => putLogin(tx, none, { place: MIA, text: 'x', version: null })),
      ).rejects.toMatchObject({ code: 'no_key' })
    }),
  )
}
