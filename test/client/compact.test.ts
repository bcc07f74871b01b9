import { beforeEach, expect, test } from 'vitest'
import { insertThread } from '../../src/store/threads/threads.js'
import { servedFixture } from './client-fixture.js'

const fixture = servedFixture()

beforeEach(async () => {
  await fixture.store.write((tx) => insertThread(tx, { id: 't', agent: 'support', created_at: 1 }))
})

test('compact asks once for each key, and once until a step has done it', async () => {
  const thread = fixture.threads.get('t')
  expect(await thread.once('k').compact({ focus: 'names' })).toEqual({ status: 'requested' })
  expect(await thread.once('k').compact({ focus: 'names' })).toEqual({ status: 'requested' })
  expect(await thread.compact()).toEqual({ status: 'no_op' })
  expect(await thread.boundaries()).toMatchObject([
    { reason: 'request', position: 0, dropped: 0, summary: null },
  ])
  await expect(thread.once('k').compact()).rejects.toThrow(/key "k"/)
})

test('compact refuses what it cannot use', async () => {
  const thread = fixture.threads.get('t')
  for (const focus of ['', ' ', 'x'.repeat(2001), 7 as never])
    await expect(thread.compact({ focus })).rejects.toThrow(/Expected focus to be a text of 1 to 2000/)
  await expect(thread.compact({ side: 'c' as never })).rejects.toThrow(/Expected side/)
  await expect(fixture.threads.get('none').compact()).rejects.toMatchObject({ name: 'ThreadNotFoundError' })
  expect(await thread.boundaries()).toEqual([])
})
