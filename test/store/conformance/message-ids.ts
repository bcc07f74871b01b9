import { expect, test } from 'vitest'
import { callHolder, closeOpenCalls, holderOfCall } from '../../../src/store/calls/open-calls.js'
import { eraseCall, insertToolCalls } from '../../../src/store/calls/tool-calls.js'
import {
  appendMessage,
  deliverMessages,
  readUndelivered,
  refuseMessages,
  turnIntoToolResult,
} from '../../../src/store/messages/delivery.js'
import type { ToolResultOfReport } from '../../../src/store/messages/delivery.js'
import {
  appendDelta,
  countDeltas,
  deleteDeltas,
  dropAttempts,
  readDeltas,
} from '../../../src/store/messages/deltas.js'
import type { NewMessage } from '../../../src/store/messages/message-row.js'
import { changeMessage, deleteWaiting, stageMessage } from '../../../src/store/messages/message-writes.js'
import { deleteMessage, removeQueuedItem } from '../../../src/store/messages/queue.js'
import { isMessageIdTaken, listMessages } from '../../../src/store/messages/transcript.js'
import type { Store, Writer } from '../../../src/store/store.js'
import { traceOfCall, tracesOfMessages } from '../../../src/store/threads/runs.js'
import { makeThread, NOW } from './with-store.js'
import type { WithStore } from './with-store.js'

/** Two threads, each with a message that waits, one with a call, and text that streams, all of the same ids. */
const THREADS = ['t', 'other'] as const
const STREAMED = { threadId: 't', messageId: 'waits' }

async function makeTwins(store: Store): Promise<void> {
  for (const threadId of THREADS) {
    await makeThread(store, threadId)
    const message = { threadId, role: 'user', createdAt: NOW, sentBy: 'client' } as const
    await store.write(async (tx) => {
      await appendMessage(tx, { ...message, id: 'holds', content: threadId, ...callOf(threadId) })
      await insertToolCalls(tx, [
        {
          ...{ thread_id: threadId, id: 'call', message_id: 'holds', run: 1, step: 1, call_index: 0 },
          ...{ side: 'a', name: 'look', provider_call_id: '', arguments: '{}' },
        },
      ])
      await appendDelta(tx, { ...STREAMED, threadId, attempt: 1, kind: 'text', offset: 0, text: threadId })
      const waits = { ...message, id: 'waits', content: `${threadId} waits`, subagentId: 'child' }
      expect(await stageMessage(tx, { ...waits, digest: threadId })).toBe('staged')
      const asks = { ...message, id: 'asks', content: `${threadId} asks` }
      expect(await stageMessage(tx, { ...asks, digest: threadId })).toBe('staged')
    })
  }
}

/** Of `t` nested and spoken by a prompt, so that the two differ. */
function callOf(threadId: string): Partial<NewMessage> {
  const toolCalls = [{ id: 'call', type: 'function' as const, function: { name: 'look', arguments: '{}' } }]
  return threadId === 't' ? { toolCalls, depth: 1, prompt: 'nested' } : { toolCalls }
}

const rowsOf = (store: Store, threadId: string) =>
  store.read(async (db) => ({
    messages: (await listMessages(db, { threadId, maxDepth: 9, includeSilent: true })).messages,
    deltas: await readDeltas(db, threadId),
  }))

const CHANGES: readonly (readonly [string, (tx: Writer) => Promise<unknown>])[] = [
  ['changed', (tx) => changeMessage(tx, { threadId: 't', id: 'holds', content: 'new' })],
  ['deleted', (tx) => deleteMessage(tx, 't', 'holds')],
  ['deleted while it waits', (tx) => deleteMessage(tx, 't', 'asks')],
  ['delivered', (tx) => deliverMessages(tx, { threadId: 't', ids: ['waits', 'asks'], run: 1, step: 1 })],
  ['refused', (tx) => refuseMessages(tx, 't', new Map(['waits', 'asks'].map((id) => [id, 'guard'])))],
  ['taken back', (tx) => removeQueuedItem(tx, { threadId: 't', id: 'asks', now: NOW })],
  ['withdrawn', (tx) => deleteWaiting(tx, 't', 'asks')],
  ['without its call', (tx) => eraseCall(tx, { threadId: 't', callId: 'call', messageId: 'holds' })],
  ['closed with its calls', (tx) => closeOpenCalls(tx, { threadId: 't', outcome: 'cancelled', now: NOW })],
  ['a result', (tx) => turnIntoToolResult(tx, RESULT)],
  ['committed', (tx) => deleteDeltas(tx, STREAMED)],
  ['asked again', (tx) => dropAttempts(tx, STREAMED, 2)],
]

const RESULT: ToolResultOfReport = {
  threadId: 't',
  messageId: 'waits',
  toolCallId: 'call',
  name: 'look',
  content: 'seen',
  toolStatus: 'success',
  attachments: [],
  run: 1,
  step: 1,
  side: 'a',
}

/** Ids of messages are unique in their thread. */
export function messageIdConformance(withStore: WithStore): void {
  test.each(CHANGES)('a message of the same id elsewhere stays when one is %s', (_what, change) =>
    withStore(async (store) => {
      await makeTwins(store)
      const [own, others] = [await rowsOf(store, 't'), await rowsOf(store, 'other')]
      await store.write(change)
      expect(await rowsOf(store, 't')).not.toEqual(own)
      expect(await rowsOf(store, 'other')).toEqual(others)
    })(),
  )

  test(
    'reads of a message find that of their own thread',
    withStore(async (store) => {
      await makeTwins(store)
      const traceparent = '00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01'
      await store.write(async (tx) => {
        await tx.updateTable('messages').set({ traceparent }).where('thread_id', '=', 'other').execute()
      })
      await store.read(async (db) => {
        const holder = { parentId: null, depth: 1, prompt: 'nested', placed: true }
        expect(await callHolder(db, { thread_id: 't', message_id: 'holds' })).toEqual(holder)
        expect(await holderOfCall(db, 't', 'call')).toEqual(holder)
        expect(await holderOfCall(db, 'other', 'call')).toMatchObject({ depth: 0, prompt: null })
        expect(await tracesOfMessages(db, 't', ['holds', 'asks'])).toEqual([])
        expect(await traceOfCall(db, 't', 'call')).toBeNull()
        expect(await traceOfCall(db, 'other', 'call')).toBe(traceparent)
        const [delta] = await readDeltas(db, 'other')
        expect(await countDeltas(db, STREAMED, [delta?.id ?? 0])).toBe(0)
        expect(await readUndelivered(db, 't', ['asks'])).toMatchObject([{ content: 't asks' }])
        expect(await isMessageIdTaken(db, 'nobody', 'asks')).toBe(false)
      })
    }),
  )
}
