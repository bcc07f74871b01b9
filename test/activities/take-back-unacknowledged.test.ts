import { expect, test } from 'vitest'
import { readEvents } from '../../src/store/events.js'
import { appendMessage, deliverMessages } from '../../src/store/messages/delivery.js'
import { removeQueuedItem } from '../../src/store/messages/queue.js'
import { findMessage } from '../../src/store/messages/transcript.js'
import { readReopenedChildren, listMessageCalls } from '../../src/store/reopen/reopened-children.js'
import { saveReport } from '../../src/store/threads/children.js'
import { findThread } from '../../src/store/threads/threads.js'
import { NOW } from './activity-desk.js'
import { withSubagents } from './children-desk.js'
import type { SubagentDesk } from './children-desk.js'
import { CLOSE, runSettle, settleInput } from './settle-desk.js'

const thread = (desk: SubagentDesk, id: string) => desk.store.read((db) => findThread(db, id))
const statusOf = async (desk: SubagentDesk, child: string, id: string) =>
  (await desk.store.read((db) => findMessage(db, child, id)))?.status
const countOf = async (desk: SubagentDesk, type: string, id = 't') => {
  const events = await desk.store.read((db) => readEvents(db, { threadId: id, after: 0, limit: 1000 }))
  return events.filter((event) => event.type === type).length
}

const resident = (desk: SubagentDesk) =>
  desk.child('subagent_create', { agent: 'resident', name: 'Rita', message: 'Look.' })

test('T7 subagents whose call nobody heard of are closed, once', () =>
  withSubagents({}, async (desk) => {
    const crew = [{ task: 'one' }, { task: 'two' }]
    const { input, children } = await desk.children('crew', { items: crew })
    const unacknowledged = { unacknowledged: [input.callId] }
    await runSettle(desk, settleInput(unacknowledged))
    await runSettle(desk, settleInput(unacknowledged))
    for (const { reference, messageId } of children) {
      const { closed_at: closedAt, terminate_requested_at: asked } = (await thread(desk, reference)) ?? {}
      expect([closedAt, asked]).toEqual([(NOW + 5) * 1000, (NOW + 5) * 1000])
      expect(await statusOf(desk, reference, messageId)).toBe('rejected')
      expect(await desk.registered(reference)).toMatchObject({ status: 'terminated' })
      expect(await countOf(desk, 'thread.closed', reference)).toBe(1)
    }
    expect(await countOf(desk, 'subagent.closed')).toBe(2)
    const registry = await desk.registry()
    const reopened = await desk.store.read((db) => readReopenedChildren(db, 't', registry))
    expect(reopened).toEqual({ open: [], deferred: [], groups: [] })
  }))

test('T8 subagents of a terminated thread that it never heard of are closed too', () =>
  withSubagents({}, async (desk) => {
    const { input, reference } = await resident(desk)
    await runSettle(desk, settleInput({ close: CLOSE, unacknowledged: [input.callId] }))
    expect((await thread(desk, reference))?.closed_at).toBe((NOW + 5) * 1000)
  }))

test('T7 a subagent that a hook wrote to is closed too', () =>
  withSubagents({}, async (desk) => {
    const { input, reference } = await resident(desk)
    const said = { threadId: reference, role: 'system', content: 'Be brief.', sentBy: 'runtime' } as const
    await desk.store.write((tx) => appendMessage(tx, { id: 'injected', createdAt: NOW, ...said }))
    await runSettle(desk, settleInput({ unacknowledged: [input.callId] }))
    expect((await thread(desk, reference))?.closed_at).toBe((NOW + 5) * 1000)
  }))

test('T7 a subagent whose first message was removed is closed too', () =>
  withSubagents({}, async (desk) => {
    const { input, reference, messageId } = await resident(desk)
    await desk.store.write((tx) => removeQueuedItem(tx, { threadId: reference, id: messageId, now: NOW }))
    expect(await statusOf(desk, reference, messageId)).toBe('removed')
    await runSettle(desk, settleInput({ unacknowledged: [input.callId] }))
    expect((await thread(desk, reference))?.closed_at).toBe((NOW + 5) * 1000)
  }))

test('after a reset a subagent that is at work is left alone', () =>
  withSubagents({}, async (desk) => {
    const { input, reference, messageId } = await resident(desk)
    await desk.store.write((tx) =>
      deliverMessages(tx, { threadId: reference, ids: [messageId], run: 1, step: 1 }),
    )
    await runSettle(desk, settleInput({ unacknowledged: [input.callId] }))
    expect((await thread(desk, reference))?.closed_at).toBeNull()
    expect(await desk.registered(reference)).toMatchObject({ status: 'running' })
  }))

test('T7 a message whose call nobody heard of is taken back', () =>
  withSubagents({}, async (desk) => {
    const { reference, messageId: first } = await resident(desk)
    await desk.store.write((tx) =>
      deliverMessages(tx, { threadId: reference, ids: [first], run: 1, step: 1 }),
    )
    const report = { kind: 'result', text: 'Done.', attachments: [] } as const
    const told = { parentThreadId: 't', reference, number: 1, status: 'completed', report }
    await desk.store.write((tx) => saveReport(tx, told))
    const input = await desk.call('subagent_message', { referenceId: reference, message: 'More.' })
    const { messageId } = (await desk.message(input)) as { readonly messageId: string }
    await runSettle(desk, settleInput({ run: input.run, unacknowledged: [input.callId] }))
    expect([await statusOf(desk, reference, first), await statusOf(desk, reference, messageId)]).toEqual([
      'completed',
      'removed',
    ])
    expect(await desk.registered(reference)).toMatchObject({ status: 'completed' })
    expect(await countOf(desk, 'queue.changed', reference)).toBe(1)
    expect((await thread(desk, reference))?.closed_at).toBeNull()
    expect(await desk.store.read((db) => listMessageCalls(db, 't'))).toEqual([])
  }))

test('a subagent that has more to read works on when a message is taken back', () =>
  withSubagents({}, async (desk) => {
    const { reference } = await resident(desk)
    const input = await desk.call('subagent_message', { referenceId: reference, message: 'More.' })
    await desk.message(input)
    await runSettle(desk, settleInput({ run: input.run, unacknowledged: [input.callId] }))
    expect(await desk.registered(reference)).toMatchObject({ status: 'running' })
  }))
