import { describe, expect, test } from 'vitest'
import { publishStatus } from '../../src/activities/publish-status.js'
import { findToolCall } from '../../src/store/calls/tool-calls.js'
import { statFile, removeFile } from '../../src/store/files/files.js'
import { listDeferredChildren, updateChild } from '../../src/store/threads/children.js'
import { NOW, withSubagents } from './children-desk.js'
import type { SubagentDesk } from './children-desk.js'

const CREATE = 'subagent_create'
const MESSAGE = 'subagent_message'

const created = (desk: SubagentDesk, agent = 'resident', name = 'Rita') =>
  desk.child(CREATE, { agent, name, message: 'Look.', attachments: [] })

const close = (desk: SubagentDesk, reference: string) =>
  desk.store.write((tx) => updateChild(tx, { parentThreadId: 't', reference }, { closed_at: 1 }))

describe('a message to an instance', () => {
  test('SA-R-08.1a SA-R-08.1b SA-A-07.10b brings files with paths of its own', () =>
    withSubagents({}, async (desk) => {
      await desk.writeFile('/notes/a.txt')
      const { reference } = await created(desk)
      const input = await desk.call(MESSAGE, {
        ...{ referenceId: reference, message: 'More.', attachments: ['/notes/a.txt'] },
      })
      const answer = await desk.message(input)
      expect(answer).toEqual({
        ...{ type: 'message', reference, messageId: expect.any(String), role: 'assistant', blocking: false },
      })
      const row = (await desk.transcript(reference)).at(-1)
      expect(row).toMatchObject({ role: 'assistant', content: 'More.', position: null })
      expect(row?.attachments).toMatchObject([{ path: '/attachments/a.txt' }])
      await desk.store.write((tx) => removeFile(tx, 't', '/notes/a.txt'))
      expect(await desk.store.read((db) => statFile(db, reference, '/attachments/a.txt'))).toMatchObject({
        size: 5,
      })
      expect((await desk.events()).map(({ type }) => type)).toContain('subagent.input')
    }))

  test('is said by a user where side A receives it, and waited for as its agent is', () =>
    withSubagents({}, async (desk) => {
      const { reference } = await created(desk, 'steward')
      // An alias of earlier versions.
      const answer = await desk.message(await desk.call(MESSAGE, { reference, message: 'More.' }))
      expect(answer).toMatchObject({ type: 'message', role: 'user', blocking: true, timeout: 7000 })
    }))

  test('sets the registry to running', () =>
    withSubagents({}, async (desk) => {
      const { reference } = await created(desk)
      await desk.store.write((tx) =>
        updateChild(tx, { parentThreadId: 't', reference }, { status: 'completed' }),
      )
      await desk.message(await desk.call(MESSAGE, { referenceId: reference, message: 'More.' }))
      expect(await desk.registered(reference)).toMatchObject({ status: 'running' })
    }))

  test('reaches one that calls itself as a registry state', () =>
    withSubagents({}, async (desk) => {
      const { reference } = await created(desk)
      await desk.store.write((tx) => publishStatus(tx, { reference, text: 'deferred', now: NOW }))
      expect(await desk.store.read((db) => listDeferredChildren(db, 't'))).toEqual([])
      await desk.store.write((tx) => publishStatus(tx, { reference, text: 'completed', now: NOW }))
      expect((await desk.registered(reference))?.status_text).toBe('completed')
      const input = await desk.call(MESSAGE, { referenceId: reference, message: 'More.' })
      expect(await desk.message(input)).toMatchObject({ type: 'message' })
      expect(await desk.registered(reference)).toMatchObject({ status: 'running', status_text: null })
    }))

  test('T4 is staged once, however often it is prepared', () =>
    withSubagents({}, async (desk) => {
      const { reference } = await created(desk)
      const input = await desk.call(MESSAGE, { referenceId: reference, message: 'More.' })
      const answer = await desk.message(input)
      expect(await desk.message(input)).toEqual(answer)
      expect(await desk.transcript(reference)).toHaveLength(2)
    }))

  test('T5 the answer to the workflow holds no words', () =>
    withSubagents({}, async (desk) => {
      const { reference } = await created(desk)
      const answer = await desk.message(
        await desk.call(MESSAGE, { referenceId: reference, message: 'secret' }),
      )
      expect(JSON.stringify(answer)).not.toContain('secret')
    }))
})

describe('a message that cannot be sent is an error', () => {
  type Wrong = (desk: SubagentDesk, reference: string) => Promise<unknown>
  test.each<readonly [string, Wrong, string]>([
    ['without a reference', async () => ({ message: 'x' }), 'Expected "referenceId"'],
    ['without words', async (_desk, referenceId) => ({ referenceId, message: ' ' }), 'Expected "message"'],
    [
      'with files that are no list',
      async (_desk, referenceId) => ({ referenceId, message: 'x', attachments: '/a' }),
      'Expected "attachments"',
    ],
    [
      'with a file that is missing',
      async (_desk, referenceId) => ({ referenceId, message: 'x', attachments: ['/a'] }),
      'There is no file "/a"',
    ],
    [
      'to nobody',
      async () => ({ referenceId: 'nobody', message: 'x' }),
      'names no subagent of this thread. Those',
    ],
    [
      'to one that ends with its result',
      async (desk) => ({ referenceId: (await desk.child('helper', { task: 'x' })).reference, message: 'x' }),
      'takes no messages',
    ],
    [
      'to one that has ended',
      async (desk, referenceId) => {
        await close(desk, referenceId)
        return { referenceId, message: 'x' }
      },
      'has ended. There is no open one: use subagent_create.',
    ],
  ])('SA-A-07.7c %s', (_what, argsOf, words) =>
    withSubagents({}, async (desk) => {
      const { reference } = await created(desk)
      const input = await desk.call(MESSAGE, await argsOf(desk, reference))
      expect(await desk.message(input)).toMatchObject({ type: 'result', outcome: 'failed' })
      expect((await desk.result())?.content).toContain(words)
      expect(await desk.transcript(reference)).toHaveLength(1)
    }),
  )

  test('to one whose row is closed already', () =>
    withSubagents({}, async (desk) => {
      const { reference } = await created(desk)
      await desk.store.write((tx) =>
        tx.updateTable('threads').set({ terminate_requested_at: 1 }).where('id', '=', reference).execute(),
      )
      const input = await desk.call(MESSAGE, { referenceId: reference, message: 'x' })
      expect(await desk.message(input)).toEqual({
        ...{ type: 'result', outcome: 'failed', errorDigest: expect.any(String) },
      })
      expect((await desk.result())?.content).toContain('has ended and takes no messages')
    }))

  test('to one that has a thousand messages waiting', () =>
    withSubagents({}, async (desk) => {
      const { reference } = await created(desk)
      const [row] = await desk.store.read((db) =>
        db.selectFrom('messages').selectAll().where('thread_id', '=', reference).execute(),
      )
      if (row === undefined) throw new Error('Expected a message.')
      await desk.store.write(async (tx) => {
        for (let index = 1; index < 1000; index += 1)
          await tx
            .insertInto('messages')
            .values({ ...row, id: `w${index}` })
            .execute()
      })
      const input = await desk.call(MESSAGE, { referenceId: reference, message: 'x' })
      expect(await desk.message(input)).toMatchObject({ outcome: 'failed' })
      expect((await desk.result())?.content).toContain('1000 messages wait')
    }))
})

test.each([
  ['TERMINATED', 'terminated'],
  [null, 'not_found'],
])('T7 a child that Temporal has as %s is answered for', (described, status) =>
  withSubagents({}, async (desk) => {
    const { reference } = await created(desk)
    const input = await desk.call(MESSAGE, { referenceId: reference, message: 'x' })
    expect(await desk.message(input, described)).toMatchObject({
      ...{ type: 'result', outcome: 'failed' },
      operations: [{ kind: 'child_closed', reference, status }],
    })
    expect(await desk.registered(reference)).toMatchObject({ status, closed_at: expect.any(Number) })
    expect(await desk.store.read((db) => findToolCall(db, 't', input.callId))).toMatchObject({
      error_code: 'subagent_closed',
    })
    expect(await desk.transcript(reference)).toHaveLength(1)
  }),
)

test('T8 a terminated thread sends nothing', () =>
  withSubagents({}, async (desk) => {
    const { reference } = await created(desk)
    const input = await desk.call(MESSAGE, { referenceId: reference, message: 'x' })
    await desk.store.write((tx) =>
      tx.updateTable('threads').set({ terminate_requested_at: 1 }).where('id', '=', 't').execute(),
    )
    expect(await desk.message(input)).toEqual({ type: 'terminated' })
    expect(await desk.transcript(reference)).toHaveLength(1)
  }))
