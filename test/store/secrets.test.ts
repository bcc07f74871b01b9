import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'

import { afterEach, beforeEach, expect, test } from 'vitest'

import { ConfigError } from '../../src/protocol/config-error.js'
import { shareStore } from '../../src/store/share-store.js'
import { openStore } from '../../src/store/store.js'
import type { Store } from '../../src/store/store.js'
import { findVariables, openVariable, putVariable, rotateSecrets } from '../../src/store/variables.js'

const [first, second] = ['1f'.repeat(32), Buffer.alloc(32, 7).toString('base64')] as const

let folder = ''
const opened: Store[] = []

beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'everthread-secrets-'))
})
afterEach(async () => {
  for (const store of opened.splice(0)) await store.close()
  await rm(folder, { recursive: true, force: true })
})

async function openWith(secretKey: string, open = openStore): Promise<Store> {
  const store = await open({ database: join(folder, 'a.db'), blobs: join(folder, 'blobs'), secretKey })
  opened.push(store)
  return store
}

async function put(store: Store, count: number): Promise<void> {
  await store.write(async (tx) => {
    for (let number = 0; number < count; number += 1)
      await putVariable(tx, store.secrets, { threadId: 't', name: `S${number}`, value: `v${number}`, now: 1 })
  })
}

async function read(store: Store, name: string): Promise<string | undefined> {
  const [row] = await store.read((db) => findVariables(db, 't', [name]))
  return row === undefined ? undefined : openVariable(store.secrets, row)
}

async function refusal(opening: Promise<unknown>): Promise<Error> {
  const error: unknown = await opening.then(
    () => undefined,
    (thrown: unknown) => thrown,
  )
  if (error instanceof Error) return error
  throw new Error('Expected a refusal.')
}

test('a store without secrets needs no key', async () => {
  const store = await openWith('')
  const text = { threadId: 't', name: 'CITY', value: 'Bern', type: 'text', now: 1 } as const
  await store.write((tx) => putVariable(tx, store.secrets, text))
  expect(await read(await openWith(''), 'CITY')).toBe('Bern')
})

test.each([['openStore'], ['shareStore']])('%s refuses to open secrets without their key', async (how) => {
  const open = how === 'openStore' ? openStore : shareStore
  await put(await openWith(first), 1)
  const none = await refusal(openWith('', open))
  expect(none).toSatisfy(ConfigError.isInstance)
  expect(none.message).toContain('got no key: add it')
  const wrong = await refusal(openWith(second, open))
  expect(wrong.message).toMatch(/to hold the key [0-9a-f]{12}, .+ got the keys [0-9a-f]{12}: add it/)
  expect(wrong.message).not.toContain(second)
  expect(await read(await openWith(first, open), 'S0')).toBe('v0')
})

test('those who share a store use their own keys', async () => {
  const worker = await openWith(first, shareStore)
  const reader = await openWith('', shareStore)
  await put(worker, 1)
  expect(await read(worker, 'S0')).toBe('v0')
  expect((await refusal(read(reader, 'S0'))).message).toContain('got another one or none')
  expect((await refusal(put(reader, 1))).message).toContain('Expected a key to seal the secret "S0"')
})

test('a rotation seals all with the first key, and the other can go', async () => {
  await put(await openWith(first), 450)
  const both = await openWith(`${second}, ${first}`)
  expect(await read(both, 'S449')).toBe('v449')
  expect((await refusal(openWith(second))).message).toContain('to hold the key')
  expect(await rotateSecrets(both)).toBe(450)
  expect(await rotateSecrets(both)).toBe(0)
  expect(await read(await openWith(second), 'S449')).toBe('v449')
  expect((await refusal(openWith(first))).message).toContain('to hold the key')
})

test('a secret that was changed or moved does not open', async () => {
  const store = await openWith(first)
  await put(store, 2)
  const [row] = await store.read((db) => findVariables(db, 't', ['S0']))
  if (row === undefined) throw new Error('Expected a row.')
  expect(() => openVariable(store.secrets, { ...row, name: 'S1' })).toThrow('set it again')
  expect(() => openVariable(store.secrets, { ...row, thread_id: 'u' })).toThrow('set it again')
  const bytes = Buffer.from(row.value, 'base64')
  bytes[bytes.length - 1] = (bytes.at(-1) ?? 0) ^ 1
  expect(() => openVariable(store.secrets, { ...row, value: bytes.toString('base64') })).toThrow(
    'set it again',
  )
  expect(() => openVariable(store.secrets, { ...row, value: '' })).toThrow('set it again')
})
