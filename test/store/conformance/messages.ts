import { expect, test } from 'vitest'
import { LIMITS } from '../../../src/protocol/limits.js'
import {
  appendMessage,
  deliverMessages,
  rejectUndelivered,
  turnIntoToolResult,
} from '../../../src/store/messages/delivery.js'
import { stageMessage } from '../../../src/store/messages/message-writes.js'
import type { MessageDraft } from '../../../src/store/messages/message-writes.js'
import { findMessage, readTranscript } from '../../../src/store/messages/transcript.js'
import type { Store } from '../../../src/store/store.js'
import { findThread, requestTermination, updateThread } from '../../../src/store/threads/threads.js'
import { makeThread, NOW } from './with-store.js'
import type { WithStore } from './with-store.js'

export function draft(id: string, changes: Partial<MessageDraft> = {}): MessageDraft {
  return {
    id,
    threadId: 't',
    role: 'user',
    content: `text of ${id}`,
    createdAt: NOW,
    sentBy: 'client',
    digest: `digest of ${id}`,
    ...changes,
  }
}

const stage = (store: Store, message: MessageDraft) => store.write((tx) => stageMessage(tx, message))

const deliver = (store: Store, ids: readonly string[], step = 1) =>
  store.write((tx) => deliverMessages(tx, { threadId: 't', ids, run: 1, step }))

const ATTACHMENT = {
  id: 'a1',
  type: 'file' as const,
  path: '/attachments/a.pdf',
  name: 'a.pdf',
  mimeType: 'application/pdf',
  size: 3,
}

export function messageConformance(withStore: WithStore): void {
  test(
    'a staged message is pending and keeps everything given',
    withStore(async (store) => {
      await makeThread(store, 't')
      const given = { silent: true, metadata: { k: [1] }, attachments: [ATTACHMENT], subagentId: 'c' }
      expect(await stage(store, draft('m', { ...given, createdAt: NOW + 5 }))).toBe('staged')
      expect(await store.read((db) => findMessage(db, 't', 'm'))).toEqual({
        id: 'm',
        role: 'user',
        content: 'text of m',
        name: null,
        tool_calls: null,
        tool_call_id: null,
        created_at: NOW + 5,
        parent_id: null,
        depth: 0,
        silent: true,
        metadata: { k: [1] },
        status: 'pending',
        tool_status: null,
        attachments: [ATTACHMENT],
        reasoning_content: null,
        finish_reason: null,
        prompt: null,
        subagent_id: 'c',
        position: null,
      })
      expect(await store.read((db) => findMessage(db, 'other', 'm'))).toBeNull()
    }),
  )

  test(
    'a message moves the last activity of its thread, those of the next second do not',
    withStore(async (store) => {
      await makeThread(store, 't')
      const activityAfter = async (id: string, createdAt: number) => {
        await stage(store, draft(id, { createdAt }))
        return (await store.read((db) => findThread(db, 't')))?.last_activity_at
      }
      const [first, second] = [NOW + 2_000_000, NOW + 3_000_001]
      expect(await activityAfter('m1', first)).toBe(first)
      expect(await activityAfter('m2', first + 1_000_000)).toBe(first)
      expect(await activityAfter('m3', second)).toBe(second)
    }),
  )

  test(
    'the same id is the same message or a conflict',
    withStore(async (store) => {
      await makeThread(store, 't')
      await makeThread(store, 'other')
      expect(await stage(store, draft('m'))).toBe('staged')
      expect(await stage(store, draft('m'))).toBe('same')
      await deliver(store, ['m'])
      expect(await stage(store, draft('m'))).toBe('same')
      expect(await stage(store, draft('m', { digest: 'other content' }))).toBe('conflict')
      expect(await stage(store, draft('m', { threadId: 'other', digest: 'of another' }))).toBe('staged')
      expect((await store.read((db) => readTranscript(db, 't'))).length).toBe(1)
    }),
  )

  test(
    'T8: a closed or terminated thread takes no message',
    withStore(async (store) => {
      await makeThread(store, 't')
      await makeThread(store, 'closed')
      await store.write((tx) => updateThread(tx, 'closed', { closed_at: NOW }))
      await stage(store, draft('early'))
      await store.write((tx) => requestTermination(tx, { threadId: 't', reason: null, now: NOW }))
      expect(await stage(store, draft('late'))).toBe('terminated')
      expect(await stage(store, draft('early'))).toBe('same')
      expect(await store.write((tx) => rejectUndelivered(tx, 't'))).toEqual(['early'])
      expect(await stage(store, draft('early'))).toBe('terminated')
      expect(await stage(store, draft('x', { threadId: 'closed' }))).toBe('terminated')
      expect(await stage(store, draft('x', { threadId: 'nobody' }))).toBe('missing_thread')
      expect(await store.read((db) => findMessage(db, 't', 'late'))).toBeNull()
    }),
  )

  test(
    'a full queue refuses until something was delivered',
    withStore(async (store) => {
      await makeThread(store, 't')
      await store.write(async (tx) => {
        for (let n = 0; n < LIMITS.queuedItems; n++) await stageMessage(tx, draft(`m${n}`))
      })
      expect(await stage(store, draft('one more'))).toBe('queue_full')
      expect(await stage(store, draft('m0'))).toBe('same')
      await deliver(store, ['m0'])
      expect(await stage(store, draft('one more'))).toBe('staged')
    }),
  )

  test(
    'T3: messages are delivered once, in the order asked',
    withStore(async (store) => {
      await makeThread(store, 't')
      await makeThread(store, 'other')
      for (const id of ['a', 'b', 'c']) await stage(store, draft(id))
      await stage(store, draft('foreign', { threadId: 'other' }))
      const first = await deliver(store, ['c', 'nobody', 'foreign', 'a', 'c'])
      expect(first.messages.map((message) => [message.id, message.position, message.status])).toEqual([
        ['c', 1, 'completed'],
        ['a', 2, 'completed'],
      ])
      const second = await deliver(store, ['a', 'b', 'c'])
      expect(second.messages.map((message) => [message.id, message.position])).toEqual([['b', 3]])
      expect((await deliver(store, ['a', 'b', 'c'])).messages).toEqual([])
      expect((await deliver(store, [])).messages).toEqual([])
      expect((await store.read((db) => findThread(db, 't')))?.last_position).toBe(3)
    }),
  )

  test(
    'T8: rejected messages never get a position',
    withStore(async (store) => {
      await makeThread(store, 't')
      for (const id of ['a', 'b', 'c']) await stage(store, draft(id))
      await deliver(store, ['b'])
      const rejected = await store.write((tx) => rejectUndelivered(tx, 't'))
      expect(rejected.toSorted()).toEqual(['a', 'c'])
      expect(await store.write((tx) => rejectUndelivered(tx, 't'))).toEqual([])
      expect((await deliver(store, ['a', 'c'])).messages).toEqual([])
      expect((await store.read((db) => findMessage(db, 't', 'a')))?.status).toBe('rejected')
      expect((await store.read((db) => findMessage(db, 't', 'b')))?.status).toBe('completed')
    }),
  )

  test(
    'the transcript holds top-level rows in order, with sides',
    withStore(async (store) => {
      await makeThread(store, 't')
      const base = { threadId: 't', content: null, createdAt: NOW, sentBy: 'model' as const }
      const call = { id: 'call', type: 'function' as const, function: { name: 'f', arguments: '{}' } }
      await stage(store, draft('question'))
      await stage(store, draft('queued'))
      await deliver(store, ['question'])
      await store.write(async (tx) => {
        await appendMessage(tx, {
          ...base,
          id: 'answer',
          role: 'assistant',
          toolCalls: [call],
          side: 'a',
          reasoningContent: 'why',
          prompt: 'p',
        })
        await appendMessage(tx, { ...base, id: 'nested', role: 'assistant', depth: 1, parentId: 'answer' })
        await appendMessage(tx, {
          ...base,
          id: 'result',
          role: 'tool',
          name: 'f',
          toolCallId: 'call',
          toolStatus: 'error',
          side: 'a',
        })
        expect((await findMessage(tx, 't', 'nested'))?.position).toBe(3)
      })
      const transcript = await store.read((db) => readTranscript(db, 't'))
      expect(transcript).toMatchObject([
        { id: 'question', side: null, position: 1 },
        {
          id: 'answer',
          side: 'a',
          tool_calls: JSON.stringify([call]),
          reasoning_content: 'why',
          prompt: 'p',
        },
        {
          id: 'result',
          side: 'a',
          tool_status: 'error',
          tool_call_id: 'call',
          position: 4,
          status: 'completed',
        },
      ])
    }),
  )

  test(
    "T7: a child's report becomes the waiting call's result once",
    withStore(async (store) => {
      await makeThread(store, 't')
      await stage(store, draft('report', { silent: true, subagentId: 'child', sentBy: 'child' }))
      const result = {
        threadId: 't',
        messageId: 'report',
        toolCallId: 'call_1_1_0',
        name: 'research',
        content: 'found it',
        toolStatus: 'success' as const,
        attachments: [ATTACHMENT],
        run: 1,
        step: 1,
        side: 'a' as const,
      }
      expect(await store.write((tx) => turnIntoToolResult(tx, { ...result, threadId: 'no' }))).toBeNull()
      expect(await store.write((tx) => turnIntoToolResult(tx, result))).toBe(1)
      expect(await store.write((tx) => turnIntoToolResult(tx, { ...result, content: 'x' }))).toBeNull()
      expect((await deliver(store, ['report'])).messages).toEqual([])
      expect(await store.read((db) => readTranscript(db, 't'))).toMatchObject([
        {
          id: 'report',
          role: 'tool',
          content: 'found it',
          name: 'research',
          tool_call_id: 'call_1_1_0',
          tool_status: 'success',
          silent: false,
          status: 'completed',
          subagent_id: 'child',
          attachments: [ATTACHMENT],
          side: 'a',
          position: 1,
        },
      ])
    }),
  )
}
