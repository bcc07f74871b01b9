import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, expect, test } from 'vitest'
import type { ClientContext } from '../../src/client/client-context.js'
import { claimCall } from '../../src/client/remote-calls.js'
import { ConfigError } from '../../src/protocol/errors.js'
import { findLogin, putLogin } from '../../src/store/calls/logins.js'
import { closeOpenCalls } from '../../src/store/calls/open-calls.js'
import {
  findRemoteCall,
  finishRemoteCall,
  insertRemoteCall,
  isAnswered,
  openRemoteVariables,
  openResult,
  remoteSecretPlace,
  sealResult,
} from '../../src/store/calls/remote-calls.js'
import type { RemoteKey } from '../../src/store/calls/remote-calls.js'
import { insertToolCalls } from '../../src/store/calls/tool-calls.js'
import { openStore, shareStore } from '../../src/store/open-store.js'
import type { Store } from '../../src/store/store.js'
import { insertThread } from '../../src/store/threads/threads.js'
import { findVariables, openVariable, putVariable, rotateSecrets } from '../../src/store/threads/variables.js'

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

test('a rotation seals logins, and their version stays', async () => {
  const old = await openWith(first)
  const place = { account: null, user: 'mia', source: 'tracker' }
  await old.write((tx) => putLogin(tx, old.secrets, { place, text: 'tokens', version: null }))
  const before = await old.read((db) => findLogin(db, old.secrets, place))
  const both = await openWith(`${second}, ${first}`)
  expect((await refusal(openWith(second))).message).toContain('to hold the key')
  expect(await rotateSecrets(both)).toBe(1)
  expect(await rotateSecrets(both)).toBe(0)
  const { secrets, read: from } = await openWith(second)
  expect(await from((db) => findLogin(db, secrets, place))).toEqual(before)
})

test('a rotation seals what remote calls under way have sealed', async () => {
  const old = await openWith(first)
  for (const callId of ['waiting', 'answered']) await sendSealed(old, { threadId: 't', callId })
  const both = await openWith(`${second}, ${first}`)
  expect((await refusal(openWith(second))).message).toContain('to hold the key')
  expect(await rotateSecrets(both)).toBe(3)
  expect(await rotateSecrets(both)).toBe(0)
  const { secrets, read: from } = await openWith(second)
  for (const callId of ['waiting', 'answered']) {
    const key = { threadId: 't', callId }
    const record = await from((db) => findRemoteCall(db, key))
    if (record === null) throw new Error('Expected a remote call.')
    const values = openRemoteVariables(secrets, key, record).map(({ value }) => value)
    expect(values).toEqual(['of the service', 'Bern'])
    if (isAnswered(record) && record.answer.result !== null)
      expect(openResult(secrets, key, record.answer.result)).toEqual({ status: 'success' })
    expect(isAnswered(record)).toBe(callId === 'answered')
  }
})

test('what remote calls have sealed is forgotten with the end of their run', async () => {
  const old = await openWith(first)
  const keys = ['waiting', 'answered'].map((callId) => ({ threadId: 't', callId }))
  await old.write((tx) => insertThread(tx, { id: 't', agent: 'support', created_at: 1 }))
  for (const key of keys) await sendSealed(old, key)
  await old.write((tx) => closeOpenCalls(tx, { threadId: 't', outcome: 'cancelled', now: 2 }))
  for (const key of keys) {
    const record = await old.read((db) => findRemoteCall(db, key))
    expect(record?.variables).toEqual({ CITY: { value: 'Bern', keyId: null } })
    expect(JSON.stringify(record)).not.toContain('sealed')
  }
  expect(await old.read((db) => findRemoteCall(db, { threadId: 't', callId: 'answered' }))).toMatchObject({
    answer: { type: 'answered', result: null },
  })
  await openWith(second)
})

test('a claim whose secrets do not open is none', async () => {
  const [worker, server] = [await openWith(first, shareStore), await openWith('', shareStore)]
  const key = { threadId: 't', callId: 'waiting' }
  await worker.write((tx) => insertThread(tx, { id: 't', agent: 'support', created_at: 1 }))
  await sendSealed(worker, key)
  const claim = (store: Store, claimId: string) =>
    claimCall({ store: async () => store } as unknown as ClientContext, {
      ...key,
      claimId,
      taskQueues: ['q'],
    })
  expect((await refusal(claim(server, 'first'))).message).toContain('got another one or none')
  expect(await worker.read((db) => findRemoteCall(db, key))).toMatchObject({ claim: null, attempt: 0 })
  expect(await claim(worker, 'second')).toMatchObject({ variables: { KEY: 'of the service' }, attempt: 1 })
})

/** A call of a tool with a secret and a text; the one called `answered` has its result. */
async function sendSealed({ secrets, write }: Store, key: RemoteKey): Promise<void> {
  const variables = {
    KEY: secrets.seal('of the service', remoteSecretPlace(key, 'KEY')),
    CITY: { value: 'Bern', keyId: null },
  }
  const known = { tool: 'draw', taskQueue: 'q', timeout: 1, idempotent: false, args: {} }
  const call = { ...known, variables, traceparent: null }
  const place = { run: 1, step: 1, call_index: 0, side: 'a', provider_call_id: 'p', arguments: '{}' } as const
  await write(async (tx) => {
    const row = { thread_id: key.threadId, id: key.callId, message_id: 'm', name: 'draw', ...place }
    await insertToolCalls(tx, [row])
    await insertRemoteCall(tx, key, { call, now: 1 })
    const record = await findRemoteCall(tx, key)
    if (record === null || key.callId !== 'answered') return
    const result = sealResult(secrets, key, { variables, result: { status: 'success' } })
    await finishRemoteCall(tx, key, { record, answer: { type: 'answered', digest: '', result }, now: 1 })
  })
}

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
