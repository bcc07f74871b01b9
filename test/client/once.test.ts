import { describe, expect, test } from 'vitest'
import { ThreadClient } from '../../src/client/index.js'
import type { ThreadHandle } from '../../src/client/index.js'
import { closeThread } from '../../src/store/threads/thread-closing.js'
import { servedFixture } from './client-fixture.js'
import { signalsOf } from './signals.js'

const fixture = servedFixture()

/** What a thread can be told, and the same with other content. */
const COMMANDS: Readonly<
  Record<
    string,
    {
      readonly same: (thread: ThreadHandle) => Promise<unknown>
      readonly other: (thread: ThreadHandle) => Promise<unknown>
    }
  >
> = {
  send: {
    same: (thread) => thread.send({ content: 'Hello', metadata: { a: 1, b: 2 } }),
    other: (thread) => thread.send({ content: 'Hello', metadata: { a: 1, b: 3 } }),
  },
  queueTool: {
    same: (thread) => thread.queueTool('look', { at: 'A-17' }),
    other: (thread) => thread.queueTool('look', { at: 'A-18' }),
  },
  setEnv: {
    same: (thread) => thread.setEnv({ KEY: 'one' }),
    other: (thread) => thread.setEnv({ KEY: 'two' }),
  },
  writeFile: {
    same: (thread) => thread.writeFile('/a', 'one', 'text/plain'),
    other: (thread) => thread.writeFile('/a', 'two', 'text/plain'),
  },
  unlinkFile: { same: (thread) => thread.unlinkFile('/a'), other: (thread) => thread.unlinkFile('/b') },
  stop: { same: (thread) => thread.stop(), other: (thread) => thread.stop({ children: false }) },
  continue: { same: (thread) => thread.continue(), other: (thread) => thread.stop() },
  terminate: {
    same: (thread) => thread.terminate({ reason: 'done' }),
    other: (thread) => thread.terminate({ reason: 'other' }),
  },
}

describe.each(Object.entries(COMMANDS))('%s', (name, { same, other }) => {
  test('AR-CC.1 three times under one key has one effect and equal answers, also from another process', async () => {
    const thread = await fixture.threads.create({ agent: 'support', id: 't' })
    const first = await same(thread.once('key'))
    const rows = await contentOf()
    const { threads, taskQueue, place } = fixture
    const elsewhere = new ThreadClient({ client: threads.temporal, taskQueue, store: place })
    const again = await Promise.all([1, 2].map(() => same(elsewhere.get('t').once('key'))))
    await elsewhere.close()
    expect(again).toEqual([first, first])
    expect(await contentOf()).toEqual(rows)
  })

  test('AR-CC.1 with other content under its key is refused by name, and changes nothing', async () => {
    const thread = await fixture.threads.create({ agent: 'support', id: 't' })
    await same(thread.once('key'))
    const rows = await contentOf()
    const refused = await other(thread.once('key')).catch((error: unknown) => error)
    expect(refused).toMatchObject({
      code: 'thread_conflict',
      message:
        'Expected key "key" to be new or to come with the same command, got another one or other content: use another key.',
    })
    expect(await contentOf()).toEqual(rows)
  })

  test('AR-CC.1 gets its first answer after the thread has closed', async () => {
    const thread = await fixture.threads.create({ agent: 'support', id: 't' })
    const first = await same(thread.once('key'))
    await fixture.store.write((tx) =>
      closeThread(tx, { threadId: 't', outcome: 'completed', reason: 'session_ended', now: 5 }),
    )
    expect(await same(thread.once('key'))).toEqual(first)
    // A closed thread is terminated.
    if (name !== 'terminate')
      await expect(same(thread.once('another'))).rejects.toMatchObject({ code: 'thread_terminated' })
  })
})

test('AR-CC.1 a key belongs to one thread', async () => {
  const [one, two] = [
    await fixture.threads.create({ agent: 'support' }),
    await fixture.threads.create({ agent: 'support' }),
  ]
  const first = await one.once('key').send('Hello')
  const second = await two.once('key').send('Other')
  expect(second).not.toEqual(first)
})

test('AR-CC.1 continue is announced under one id, so that the workflow takes it once', async () => {
  const thread = await fixture.threads.create({ agent: 'support' })
  for (const handle of [thread.once('key'), thread.once('key'), thread]) await handle.continue()
  const inputs = (await signalsOf(thread)).filter(([name]) => name === 'continue').map(([, input]) => input)
  expect(inputs[1]).toBe(inputs[0])
  expect(inputs[0]).toContain('"commandId"')
  expect(inputs[2]).toBeUndefined()
})

test.each([[''], ['x'.repeat(129)], ['x'.repeat(1_000_000)], ['half \u{1F600}'.slice(0, -1)], [7]])(
  'a key that is no text of 1 to 128 characters is refused: %#',
  (key) => {
    expect(() => fixture.threads.get('t').once(key as string)).toThrow(/^Expected a key/)
  },
)

/** All that a command can change, without the times of changes that have no effect. */
async function contentOf(): Promise<unknown> {
  const tables = ['messages', 'tool_calls', 'variables', 'files', 'commands', 'events', 'stops'] as const
  return Promise.all(
    tables.map((table) => fixture.store.read((db) => db.selectFrom(table).selectAll().execute())),
  )
}
