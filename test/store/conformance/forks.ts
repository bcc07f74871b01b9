import { expect, test } from 'vitest'
import { putFile } from '../../../src/store/files/files.js'
import { insertBoundary, lastBoundary } from '../../../src/store/messages/context-boundaries.js'
import { appendMessage } from '../../../src/store/messages/delivery.js'
import { readTranscript } from '../../../src/store/messages/transcript.js'
import { findToolCall, insertToolCalls } from '../../../src/store/calls/tool-calls.js'
import { agentAt, copyForkedRows, lastPlace } from '../../../src/store/threads/forked-rows.js'
import { insertThread } from '../../../src/store/threads/threads.js'
import { makeThread, NOW } from './with-store.js'
import type { WithStore } from './with-store.js'

export function forkConformance(withStore: WithStore): void {
  test(
    'the rows of a fork are those up to the cut, and a call without its result is interrupted in it',
    withStore(async (store) => {
      await makeThread(store, 't')
      const row = { threadId: 't', content: 'x', createdAt: NOW, sentBy: 'client' } as const
      const call = (id: string, message: string) => ({
        ...{ thread_id: 't', id, message_id: message, run: 1, step: 1, call_index: 0, side: 'a' as const },
        ...{ name: 'look', provider_call_id: id, arguments: '{}' },
      })
      await store.write(async (tx) => {
        for (const id of ['m1', 'm2', 'm3', 'm4'])
          await appendMessage(tx, { ...row, id, role: id === 'm2' ? 'tool' : 'user' })
        const ended = { status: 'succeeded', result_message_id: 'm2', finished_at: NOW } as const
        const later = { status: 'succeeded', result_message_id: 'm4', finished_at: NOW } as const
        await insertToolCalls(tx, [
          { ...call('c1', 'm1'), ...ended },
          { ...call('c3', 'm3'), ...later },
          { ...call('c4', 'm4'), ...later },
        ])
        const file = { threadId: 't', mimeType: 'text/plain', size: 1, blob: 'a'.repeat(64), now: NOW }
        await putFile(tx, { ...file, path: '/folder/a.txt' })
        const cut = { opening: null, clipped: null, dropped: 0, cuts: 0 }
        for (const position of [2, 4])
          await insertBoundary(tx, {
            ...{ threadId: 't', side: 'a', kind: 'window', operation: 'o', detail: cut, position },
            ...{ tokensBefore: 2, tokensAfter: 1, createdAt: NOW },
          })
      })
      await store.write(async (tx) => {
        await insertThread(tx, { id: 'f', agent: 'support', created_at: NOW, last_position: 3 })
        const cut = await lastPlace(tx, 't', 3)
        expect(cut).toEqual({ position: 3, messageId: 'm3' })
        await copyForkedRows(tx, store.secrets, { from: 't', to: 'f', cut, now: NOW })
      })
      await store.read(async (db) => {
        const rows = await readTranscript(db, 'f')
        expect(rows.map(({ id, position }) => [id, position]).slice(0, 3)).toEqual([
          ['m1', 1],
          ['m2', 2],
          ['m3', 3],
        ])
        expect(rows.slice(3)).toMatchObject([{ role: 'tool', tool_call_id: 'c3', position: 4 }])
        expect(await findToolCall(db, 'f', 'c1')).toMatchObject({ status: 'succeeded', finished_at: NOW })
        expect(await findToolCall(db, 'f', 'c3')).toMatchObject({
          status: 'interrupted',
          result_message_id: rows[3]?.id,
        })
        expect(await findToolCall(db, 'f', 'c4')).toBeNull()
        expect((await lastBoundary(db, 'f', 'a'))?.position).toBe(2)
        const files = await db
          .selectFrom('files')
          .select(['path', 'blob'])
          .where('thread_id', '=', 'f')
          .orderBy('path')
          .execute()
        expect(files).toEqual([
          { path: '/folder', blob: null },
          { path: '/folder/a.txt', blob: 'a'.repeat(64) },
        ])
        expect(await agentAt(db, { threadId: 't', position: 4, first: 'support' })).toBe('support')
        expect(await lastPlace(db, 'nobody', null)).toEqual({ position: 0, messageId: null })
      })
    }),
  )
}
