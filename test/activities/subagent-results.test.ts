import { describe, expect, test } from 'vitest'
import { reportText, GROUP_BYTES } from '../../src/activities/subagents/report-text.js'
import { callModel } from '../../src/activities/turn/call-model.js'
import { defineHook } from '../../src/index.js'
import type { CallModelAnswer, CallModelInput } from '../../src/protocol/activities.js'
import { LIMITS } from '../../src/protocol/limits.js'
import type { AttachmentRef } from '../../src/protocol/message.js'
import { findToolCall } from '../../src/store/calls/tool-calls.js'
import { deliverMessages } from '../../src/store/messages/delivery.js'
import { stageMessage } from '../../src/store/messages/message-writes.js'
import { findMessage } from '../../src/store/messages/transcript.js'
import { saveReport } from '../../src/store/threads/children.js'
import { findThread } from '../../src/store/threads/threads.js'
import { attempt, modelInput } from './activity-desk.js'
import { NOW, withSubagents } from './children-desk.js'
import type { SubagentDesk } from './children-desk.js'

interface Told {
  readonly text: string
  readonly number?: number
  readonly kind?: 'result' | 'failure'
  readonly attachments?: readonly AttachmentRef[]
  readonly invocations?: readonly string[]
}

/** What a child's report leaves in its parent's store; null: without a message, as that of a group. */
async function report(
  desk: SubagentDesk,
  reference: string,
  id: string | null,
  { text, number = 1, kind = 'result', attachments = [], invocations = [] }: Told,
): Promise<void> {
  await desk.store.write(async (tx) => {
    const told = { kind, text, attachments, ...(id !== null && { messageId: id }), invocations }
    const status = kind === 'result' ? 'completed' : 'failed'
    await saveReport(tx, { parentThreadId: 't', reference, number, report: told, status })
    if (id === null) return
    const content = reportText({ reference, kind, text, attachments })
    const about = { role: 'user', silent: true, subagentId: reference, sentBy: 'child', digest: '' } as const
    await stageMessage(tx, { ...about, id, threadId: 't', content, attachments, createdAt: NOW })
  })
}

const FILE: AttachmentRef = {
  ...{ id: 'f', type: 'file', path: '/attachments/a.txt', name: 'a.txt' },
  ...{ mimeType: 'text/plain', size: 5 },
}

/** A message that a child sends while it works. */
async function notice(desk: SubagentDesk, reference: string, id: string): Promise<void> {
  const about = { role: 'user', silent: true, subagentId: reference, sentBy: 'child', digest: '' } as const
  await desk.store.write((tx) =>
    stageMessage(tx, { ...about, id, threadId: 't', content: 'Half way.', createdAt: NOW }),
  )
}

/** A step of the thread `t` that drains these. */
function drained(desk: SubagentDesk, drain: CallModelInput['drain']): Promise<CallModelAnswer> {
  const step = { ...modelInput({ drain }), ...{ agent: 'lead', run: 2, trigger: 'report' as const } }
  return attempt().run((given: CallModelInput) => callModel(desk.dependencies, given), step)
}

const statusOf = async (desk: SubagentDesk, id: string) =>
  (await desk.store.read((db) => findMessage(db, 't', id)))?.status

const CREATE = 'subagent_create'
const WISH = { agent: 'steward', name: 'Stu', message: 'Look.', attachments: [] }
const waiting = async (desk: SubagentDesk) =>
  (await desk.transcript()).filter(({ status, role }) => status === 'pending' && role !== 'tool')

describe('a call that waited for one subagent', () => {
  test('SA-A-07.3c names the reference of one that stays', () =>
    withSubagents({}, async (desk) => {
      const { reference, input } = await desk.child(CREATE, WISH)
      await report(desk, reference, 'r1', { text: 'Found.', attachments: [FILE] })
      const reports = [{ reference, report: { kind: 'result', messageId: 'r1' } }] as const
      expect(await desk.complete(input, { kind: 'children', reports })).toEqual({
        ...{ type: 'result', outcome: 'succeeded' },
      })
      expect(await desk.result()).toMatchObject({
        ...{ id: 'r1', content: 'Found.', subagent_id: reference },
        attachments: [{ path: '/attachments/a.txt' }],
      })
      expect(await waiting(desk)).toEqual([])
    }))

  test('T7 gets the report that answers it, and not a later one', () =>
    withSubagents({}, async (desk) => {
      const { reference, input } = await desk.child(CREATE, WISH)
      await report(desk, reference, 'r1', { text: 'First.', attachments: [FILE] })
      await report(desk, reference, 'r2', { text: 'Second.', number: 2, kind: 'failure' })
      const reports = [{ reference, report: { kind: 'result', messageId: 'r1' } }] as const
      await desk.complete(input, { kind: 'children', reports })
      expect((await desk.result())?.content).toBe('First.')
      expect((await waiting(desk)).map(({ id }) => id)).toEqual(['r2'])
    }))

  test('of a nested step is where its call is', () =>
    withSubagents({}, async (desk) => {
      const { reference, input } = await desk.child('asker', { task: 'x' })
      await desk.store.write((tx) =>
        tx
          .updateTable('messages')
          .set({ parent_id: 'outer', depth: 1 })
          .where('tool_calls', 'is not', null)
          .execute(),
      )
      await report(desk, reference, 'r1', { text: 'Found.' })
      const reports = [{ reference, report: { kind: 'result', messageId: 'r1' } }] as const
      await desk.complete(input, { kind: 'children', reports })
      const row = await desk.store.read((db) => findMessage(db, 't', 'r1'))
      expect(row).toMatchObject({ role: 'tool', parent_id: 'outer', depth: 1 })
    }))

  test('that a hook erases leaves no message behind', () => {
    const erases = defineHook({ hook: 'after_tool_call_success', id: 'erases', execute: () => null })
    return withSubagents({ hooks: [erases] }, async (desk) => {
      const { reference, input } = await desk.child('asker', { task: 'x' })
      await report(desk, reference, 'r1', { text: 'Found.' })
      const reports = [{ reference, report: { kind: 'result', messageId: 'r1' } }] as const
      await desk.complete(input, { kind: 'children', reports })
      expect(await waiting(desk)).toEqual([])
      expect(await desk.result()).toBeUndefined()
    })
  })

  test('a silent end is a neutral result', () =>
    withSubagents({}, async (desk) => {
      const { reference, input } = await desk.child('asker', { task: 'x' })
      const reports = [{ reference, report: { kind: 'notice' } }] as const
      expect(await desk.complete(input, { kind: 'children', reports })).toMatchObject({
        outcome: 'succeeded',
      })
      expect((await desk.result())?.content).toBe(
        'The subagent ended its session and has nothing to report by itself.',
      )
    }))

  test('T10 a message of somebody else is no report', () =>
    withSubagents({}, async (desk) => {
      const { reference, input } = await desk.child('asker', { task: 'x' })
      const [messageId = ''] = await desk.send('Mine.')
      const reports = [{ reference, report: { kind: 'result', messageId } }] as const
      expect(await desk.complete(input, { kind: 'children', reports })).toMatchObject({ outcome: 'failed' })
      expect((await waiting(desk)).map(({ id }) => id)).toEqual([messageId])
    }))
})

describe('a call that waits no longer', () => {
  test('ends one that does not stay, and what it would still say', () =>
    withSubagents({}, async (desk) => {
      const { reference, input } = await desk.child('asker', { task: 'x' })
      await notice(desk, reference, 'note')
      await report(desk, reference, 'late', { text: 'Too late.' })
      const reports = [{ reference, report: { kind: 'timed_out' } }] as const
      expect(await desk.complete(input, { kind: 'children', reports })).toMatchObject({ outcome: 'failed' })
      expect((await desk.result())?.content).toBe(
        'Error: The subagent did not answer within 5 seconds, the limit of this call. ' +
          `It was ended; its reference was ${reference}.`,
      )
      expect(await desk.registered(reference)).toMatchObject({
        ...{ status: 'terminated', closed_at: expect.any(Number) },
      })
      expect(await desk.store.read((db) => findThread(db, reference))).toMatchObject({
        terminate_requested_at: expect.any(Number),
      })
      expect((await waiting(desk)).map(({ id }) => id)).toEqual(['note'])
      expect(await desk.store.read((db) => findToolCall(db, 't', input.callId))).toMatchObject({
        error_code: 'timeout',
      })
    }))

  test('leaves one that stays at its work', () =>
    withSubagents({}, async (desk) => {
      const { reference, input } = await desk.child(CREATE, WISH)
      const reports = [{ reference, report: { kind: 'timed_out' } }] as const
      await desk.complete(input, { kind: 'children', reports })
      const { content } = (await desk.result()) ?? {}
      expect(content).toContain('within 7 seconds')
      expect(await desk.registered(reference)).toMatchObject({ status: 'running', closed_at: null })
      expect(await desk.store.read((db) => findThread(db, reference))).toMatchObject({
        terminate_requested_at: null,
      })
    }))
})

const items = [
  { task: 'One', label: 'A' },
  { task: 'Two', label: 'B' },
  { task: 'Three', label: 'C' },
]

/** Three children of a group: one with a result, one that failed, one that closed without a word. */
async function groupOfThree(desk: SubagentDesk) {
  const { input, children } = await desk.children('crew', { items })
  const [a = '', b = '', c = ''] = children.map(({ reference }) => reference)
  await report(desk, a, null, { text: 'Good.', attachments: [FILE] })
  await report(desk, b, null, { text: 'Bad.', kind: 'failure' })
  return { input, a, b, c }
}

describe('a group', () => {
  test('is one result with name, reference, outcome and files of each', () =>
    withSubagents({}, async (desk) => {
      const { input, a, b, c } = await groupOfThree(desk)
      const reports = [
        { reference: a, report: { kind: 'result' } },
        { reference: b, report: { kind: 'failure' } },
        { reference: c, report: { kind: 'closed', status: 'terminated' } },
      ] as const
      expect(await desk.complete(input, { kind: 'children', reports })).toMatchObject({
        outcome: 'succeeded',
      })
      const row = await desk.result()
      expect(row?.content).toBe(
        [
          '3 subagents have ended.',
          `1. A (reference: ${a}) has returned the following result:\nGood.`,
          `2. B (reference: ${b}) has reported a failure:\nBad.`,
          `3. C (reference: ${c}) has reported a failure:\nThe subagent was closed without a report (terminated).`,
        ].join('\n\n'),
      )
      expect(row?.attachments).toMatchObject([{ path: '/attachments/a.txt' }])
      expect(await desk.registered(c)).toMatchObject({ status: 'terminated', closed_at: expect.any(Number) })
    }))

  test('is an error when none of its children has a result', () =>
    withSubagents({}, async (desk) => {
      const { input, children } = await desk.children('crew', { items: items.slice(0, 2) })
      const reports = children.map(({ reference }) => ({ reference, report: { kind: 'timed_out' } as const }))
      expect(await desk.complete(input, { kind: 'children', reports })).toMatchObject({ outcome: 'failed' })
      expect((await desk.registry()).map(({ status }) => status)).toEqual(['terminated', 'terminated'])
    }))

  test('of one has a reference that its row names', () =>
    withSubagents({}, async (desk) => {
      const { input, children } = await desk.children('crew', { items: items.slice(0, 1) })
      const reference = children[0]?.reference ?? ''
      await report(desk, reference, null, { text: 'Good.' })
      const reports = [{ reference, report: { kind: 'result' } }] as const
      await desk.complete(input, { kind: 'children', reports })
      expect(await desk.result()).toMatchObject({ subagent_id: reference })
      expect((await desk.result())?.content).toContain('1 subagent has ended.')
    }))

  test('T3 takes nothing that its children sent before', () =>
    withSubagents({}, async (desk) => {
      const { input, a } = await groupOfThree(desk)
      await notice(desk, a, 'note')
      await drained(desk, [
        { kind: 'message', id: 'note' },
        { kind: 'group', id: input.callId },
      ])
      expect(await statusOf(desk, 'note')).toBe('completed')
    }))

  test('has one message that is bounded, and so are its files', () =>
    withSubagents({}, async (desk) => {
      const { input, children } = await desk.children('crew', { items })
      const [a = '', b = '', c = ''] = children.map(({ reference }) => reference)
      const attachments = Array.from({ length: 60 }, () => FILE)
      await report(desk, a, null, { text: 'ä'.repeat(1_000_000), attachments })
      await report(desk, b, null, { text: 'Short.', attachments })
      await report(desk, c, null, { text: 'z'.repeat(1_000_000) })
      await drained(desk, [{ kind: 'group', id: input.callId }])
      const row = (await desk.transcript()).find(({ content }) => content?.includes('have ended') === true)
      const words = row?.content ?? ''
      expect(Buffer.byteLength(words)).toBeLessThan(GROUP_BYTES + 1000)
      expect(Buffer.byteLength(words)).toBeGreaterThan(GROUP_BYTES - 1000)
      for (const part of ['ä\n[… cut: 2000000 bytes in all', 'Short.\n\n', '20 more files']) {
        expect(words).toContain(part)
      }
      expect(row?.attachments).toHaveLength(LIMITS.messageAttachments)
    }))

  test('that nobody waited for is one silent message', () =>
    withSubagents({}, async (desk) => {
      const { input, a, c } = await groupOfThree(desk)
      const step = {
        ...modelInput({ drain: [{ kind: 'group', id: input.callId }] }),
        ...{ agent: 'lead', run: 2, trigger: 'report' },
      }
      const run = () => attempt().run((given: CallModelInput) => callModel(desk.dependencies, given), step)
      await run()
      await run()
      const rows = (await desk.transcript()).filter(({ content }) => content?.includes('have ended') === true)
      expect(rows).toHaveLength(1)
      expect(rows[0]).toMatchObject({ role: 'user', silent: true, position: expect.any(Number) })
      expect(rows[0]?.content).toContain(`1. A (reference: ${a}) has returned the following result:\nGood.`)
      expect(rows[0]?.content).toContain(`3. C (reference: ${c}) has reported a failure:\nIt was closed`)
      expect(rows[0]?.attachments).toMatchObject([{ path: '/attachments/a.txt' }])
      expect(await desk.registered(c)).toMatchObject({ status: 'failed', closed_at: expect.any(Number) })
    }))
})

describe('T7 a child that closed before its report was told', () => {
  test('answers the call that waited for it', () =>
    withSubagents({}, async (desk) => {
      const { reference, input } = await desk.child('asker', { task: 'x' })
      await report(desk, reference, 'r1', { text: 'Found.', invocations: [input.callId] })
      const reports = [{ reference, report: { kind: 'closed', status: 'terminated' } }] as const
      expect(await desk.complete(input, { kind: 'children', reports })).toMatchObject({
        outcome: 'succeeded',
      })
      expect(await desk.result()).toMatchObject({ id: 'r1', content: 'Found.' })
      expect(await waiting(desk)).toEqual([])
    }))

  test('does not answer a later call with it', () =>
    withSubagents({}, async (desk) => {
      const { reference, input } = await desk.child(CREATE, WISH)
      await report(desk, reference, 'r1', { text: 'Found.', invocations: ['another'] })
      const reports = [{ reference, report: { kind: 'closed', status: 'terminated' } }] as const
      expect(await desk.complete(input, { kind: 'children', reports })).toMatchObject({ outcome: 'failed' })
      expect((await waiting(desk)).map(({ id }) => id)).toEqual(['r1'])
    }))

  const closedItem = (reference: string) =>
    ({ kind: 'child_closed', id: 'closed', reference, status: 'terminated' }) as const
  const told = async (desk: SubagentDesk, reference: string) =>
    (await desk.transcript()).filter(({ subagent_id: id, role }) => id === reference && role === 'user')

  test('is told with it where nobody waited', () =>
    withSubagents({}, async (desk) => {
      const { reference } = await desk.child('helper', { task: 'x', label: 'Hal' })
      await report(desk, reference, 'r1', { text: 'Found.' })
      await drained(desk, [closedItem(reference)])
      await drained(desk, [closedItem(reference)])
      expect(await told(desk, reference)).toMatchObject([{ id: 'r1', position: expect.any(Number) }])
      const closed = (await desk.events()).filter(({ type }) => type === 'subagent.closed')
      expect(closed).toHaveLength(1)
    }))

  test('is not told twice after a Temporal reset', () =>
    withSubagents({}, async (desk) => {
      const { reference } = await desk.child('helper', { task: 'x', label: 'Hal' })
      await report(desk, reference, 'r1', { text: 'Found.' })
      await desk.store.write((tx) => deliverMessages(tx, { threadId: 't', ids: ['r1'], run: 1, step: 1 }))
      await drained(desk, [closedItem(reference)])
      expect(await told(desk, reference)).toMatchObject([{ id: 'r1' }])
    }))

  test('tells of both where one that stays owes another', () =>
    withSubagents({}, async (desk) => {
      const { reference } = await desk.child(CREATE, WISH)
      await report(desk, reference, 'r1', { text: 'Found.' })
      await drained(desk, [{ kind: 'message', id: 'r1' }, closedItem(reference)])
      const rows = await told(desk, reference)
      expect(rows).toHaveLength(2)
      expect(rows[1]?.content).toContain('closed without a report')
    }))
})

describe('a call that does not wait', () => {
  test('SA-A-07.3b says who works and how the result comes', () =>
    withSubagents({}, async (desk) => {
      const { reference, input } = await desk.child('helper', { task: 'x', label: 'Hal' })
      const answer = await desk.complete(input, { kind: 'sent', references: [reference] })
      expect(answer).toEqual({ type: 'result', outcome: 'succeeded' })
      expect(await desk.result()).toMatchObject({
        content: `The subagent Hal (reference: ${reference}) works now; its result comes as a message.`,
        subagent_id: reference,
      })
    }))

  test('names all of a group', () =>
    withSubagents({}, async (desk) => {
      const { input, children } = await desk.children('crew', { items })
      const references = children.map(({ reference }) => reference)
      await desk.complete(input, { kind: 'sent', references })
      const { content } = (await desk.result()) ?? {}
      expect(content).toContain('3 subagents work now')
      for (const reference of references) expect(content).toContain(reference)
    }))
})
