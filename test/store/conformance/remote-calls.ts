import { expect, test } from 'vitest'
import {
  findRemoteCall,
  finishRemoteCall,
  insertRemoteCall,
  putStagedFile,
} from '../../../src/store/calls/remote-calls.js'
import type { RemoteKey, RemoteRecord } from '../../../src/store/calls/remote-calls.js'
import { finishToolCall, insertToolCalls } from '../../../src/store/calls/tool-calls.js'
import { putFile, removeFile } from '../../../src/store/files/files.js'
import type { Store } from '../../../src/store/store.js'
import { sweepBlobs } from '../../../src/store/threads/retention.js'
import { makeThread, NOW } from './with-store.js'
import type { WithStore } from './with-store.js'

const KEY = { threadId: 't', callId: 'call_1' } as const

export function remoteCallConformance(withStore: WithStore): void {
  test(
    'bytes that an open remote call has staged are kept',
    withStore(async (store) => {
      await makeThread(store, 't')
      await sendCall(store)
      const untold = await stage(store, '/untold.txt', 'staged, and nowhere else')
      const dropped = await stage(store, '/dropped.txt', 'staged, and once a file')
      await nameOnce(store, dropped)
      const answer = { type: 'unanswered', taken: true } as const
      await store.write(async (tx) =>
        finishRemoteCall(tx, KEY, { record: await present(store, KEY), answer, now: NOW }),
      )
      const sweep = { before: Date.now() + 60_000, dryRun: false }
      expect(await sweepBlobs(store, sweep)).toBe(0)
      expect(await store.blobs.read(untold)).not.toBeNull()
      expect(await store.blobs.read(dropped)).not.toBeNull()
      await store.write((tx) => finishToolCall(tx, { ...KEY, status: 'succeeded', now: NOW }))
      expect(await sweepBlobs(store, sweep)).toBe(2)
    }),
  )
}

async function sendCall(store: Store): Promise<void> {
  const known = { tool: 'draw', taskQueue: 'q', timeout: 1, idempotent: false, args: {}, variables: {} }
  const call = { ...known, traceparent: null }
  const place = { run: 1, step: 1, call_index: 0, side: 'a', provider_call_id: 'p', arguments: '{}' } as const
  await store.write(async (tx) => {
    const row = { thread_id: KEY.threadId, id: KEY.callId, message_id: 'm', name: 'draw', ...place }
    await insertToolCalls(tx, [row])
    await insertRemoteCall(tx, KEY, { call, now: NOW })
  })
}

async function present(store: Store, key: RemoteKey): Promise<RemoteRecord> {
  const record = await store.read((db) => findRemoteCall(db, key))
  if (record === null) throw new Error('Expected a remote call.')
  return record
}

async function stage(store: Store, path: string, text: string): Promise<string> {
  const blob = await store.blobs.write(new TextEncoder().encode(text))
  const file = { ...blob, mimeType: 'text/plain' }
  const record = await present(store, KEY)
  await store.write((tx) => putStagedFile(tx, KEY, { record, path, file }))
  return blob.digest
}

/** The bytes of a file that is gone again. */
async function nameOnce(store: Store, blob: string): Promise<void> {
  const entry = { threadId: 't', path: '/once.txt', mimeType: 'text/plain', size: 23, blob, now: NOW }
  await store.write((tx) => putFile(tx, entry))
  await store.write((tx) => removeFile(tx, 't', '/once.txt'))
}
