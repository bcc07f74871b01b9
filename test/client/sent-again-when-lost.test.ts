import { expect, test } from 'vitest'
import type { ThreadHandle } from '../../src/client/index.js'
import { findToolCall } from '../../src/store/calls/tool-calls.js'
import { findMessage } from '../../src/store/messages/transcript.js'
import { insertRun } from '../../src/store/threads/runs.js'
import { servedFixture } from './client-fixture.js'

const fixture = servedFixture()

/** Has run, and waits with what it accepts next. */
async function workedThread(): Promise<ThreadHandle> {
  const thread = await fixture.threads.create({ agent: 'support' })
  const run = { thread_id: thread.threadId, number: 1, trigger_kind: 'message', started_at: 1 }
  await fixture.store.write((tx) => insertRun(tx, run))
  return thread
}

test('T3 an accepted message that is sent again while its thread is lost stays, for whoever reopens it', async () => {
  const thread = await workedThread()
  const message = { id: `m-${thread.threadId}`, content: 'Hello' }
  expect(await thread.send(message)).toEqual({ messageId: message.id, status: 'queued' })
  await thread.workflow.terminate('operator')
  await expect(thread.send(message)).rejects.toMatchObject({ code: 'message_rejected' })
  const row = await fixture.store.read((db) => findMessage(db, thread.threadId, message.id))
  expect(row).toMatchObject({ content: 'Hello', status: 'pending' })
})

test('T3 a file of an accepted message that is sent again while its thread is lost stays', async () => {
  const thread = await workedThread()
  const file = { name: 'a.txt', mimeType: 'text/plain', data: Buffer.from('text') }
  const message = { id: `f-${thread.threadId}`, content: 'Look', attachments: [file] }
  await thread.send(message)
  const path = (await thread.messages()).messages[0]?.attachments[0]?.path ?? ''
  expect(await thread.statFile(path)).not.toBeNull()
  await thread.workflow.terminate('operator')
  await expect(thread.send(message)).rejects.toMatchObject({ code: 'message_rejected' })
  expect(await thread.statFile(path)).not.toBeNull()
})

test('T3 an accepted tool that is queued again while its thread is lost stays', async () => {
  const thread = await workedThread()
  const queue = () => thread.queueTool('look', {}, { id: 'look-1' })
  const { toolCallId } = await queue()
  await thread.workflow.terminate('operator')
  await expect(queue()).rejects.toMatchObject({ code: 'message_rejected' })
  const call = await fixture.store.read((db) => findToolCall(db, thread.threadId, toolCallId))
  expect(call).toMatchObject({ status: 'open' })
})
