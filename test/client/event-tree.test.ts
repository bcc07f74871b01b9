import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import type { SnapshotUpdated, ThreadEvent } from '../../src/client/index.js'
import { fact } from '../../src/protocol/facts.js'
import { appendEvents } from '../../src/store/events.js'
import { insertThread, updateThread } from '../../src/store/threads/threads.js'
import { until } from '../support/until.js'
import { collect, createClientFixture } from './client-fixture.js'
import type { ClientFixture } from './client-fixture.js'

let fixture: ClientFixture
beforeEach(async () => {
  fixture = await createClientFixture()
  await makeThread('root')
  await makeThread('child', 'root')
  await makeThread('other')
})
afterEach(() => fixture.close())

async function makeThread(id: string, root = id): Promise<void> {
  const parent = root === id ? {} : { parent_thread_id: root }
  await fixture.store.write((tx) =>
    insertThread(tx, { id, agent: 'support', created_at: 1, root_thread_id: root, ...parent }),
  )
}

async function append(threadId: string, ...names: readonly string[]): Promise<void> {
  const events = names.map((name) => fact('custom', { name, data: null }))
  await fixture.store.write((tx) => appendEvents(tx, { threadId, events, now: 1 }))
}

async function close(threadId: string): Promise<void> {
  await fixture.store.write(async (tx) => {
    await appendEvents(tx, {
      threadId,
      events: [fact('thread.closed', { outcome: 'completed', reason: 'stop_on_response', rejected: 0 })],
      now: 1,
    })
    await updateThread(tx, threadId, { status: 'completed', closed_at: 1 })
  })
}

type Event = ThreadEvent | SnapshotUpdated

const short = (event: Event): string =>
  event.type === 'custom' ? `${event.threadId} ${event.payload.name}` : `${event.threadId} ${event.type}`

const root = () => fixture.threads.get('root')
const recorded = async (after?: number | string) =>
  collect(root().events({ tree: true, follow: false, ...(after !== undefined && { after }) }))

describe('the events of a tree', () => {
  test('KP-13.4 KP-09.3 are those of all its threads, in the order of their commits, as each thread has them', async () => {
    await append('root', 'one', 'two')
    await append('other', 'foreign')
    await append('child', 'three')
    await append('root', 'four')
    const events = await recorded()
    expect(events.map(short)).toEqual(['root one', 'root two', 'child three', 'root four'])
    const own = await collect(root().events({ follow: false }))
    const without = (event: ThreadEvent) => ({ ...event, cursor: '' })
    expect(events.filter(({ threadId }) => threadId === 'root').map(without)).toEqual(own.map(without))
  })

  test('go on behind each cursor, also within the events of one commit', async () => {
    await append('root', 'one', 'two', 'three')
    await append('child', 'four')
    await append('root', 'five')
    const events = await recorded()
    for (const [index, { cursor }] of events.entries())
      expect((await recorded(cursor)).map(short)).toEqual(events.slice(index + 1).map(short))
    expect(events.every(({ cursor }) => /^[!-~]+$/.test(cursor))).toBe(true)
  })

  test('come as they happen, of new subagents too, and end once all threads are closed', async () => {
    await append('root', 'one')
    const events: ThreadEvent[] = []
    const following = (async () => {
      for await (const event of root().events({ tree: true })) events.push(event)
    })()
    await until('the first event', () => events.length === 1)
    await append('child', 'two')
    await makeThread('late', 'root')
    await append('late', 'three')
    await until('three events', () => events.length === 3)
    await close('root')
    await append('child', 'four')
    await close('late')
    await until('the events of the others', () => events.length === 6)
    await close('child')
    await following
    expect(events.map(short)).toEqual([
      ...['root one', 'child two', 'late three', 'root thread.closed', 'child four'],
      ...['late thread.closed', 'child thread.closed'],
    ])
  })

  test('end with a signal while nothing happens', async () => {
    const end = new AbortController()
    const reading = collect(root().events({ tree: true, signal: end.signal }))
    setTimeout(() => end.abort(), 50)
    expect(await reading).toEqual([])
  })

  test('refuse cursors that are none, of another tree and of the future, and a thread that is no root', async () => {
    await append('root', 'one')
    await append('other', 'two')
    const [first] = await recorded()
    const foreign = await collect(fixture.threads.get('other').events({ tree: true, follow: false }))
    const [tag = ''] = first?.cursor.split('.') ?? []
    await expect(recorded('7')).rejects.toThrow(
      'Expected "after" to be the cursor of an event of this tree, or 0, got another text.',
    )
    await expect(recorded('root')).rejects.toThrow('got another text')
    await expect(recorded(foreign[0]?.cursor)).rejects.toThrow('got one of another tree')
    await expect(recorded(`${tag}.999999999999.1.1`)).rejects.toThrow('got one that is ahead of this store')
    const child = fixture.threads.get('child')
    await expect(collect(child.events({ tree: true }))).rejects.toThrow('read those of "root"')
    await expect(collect(fixture.threads.get('nobody').events({ tree: true }))).rejects.toThrow('nobody')
    expect((await recorded(0)).map(short)).toEqual(['root one'])
  })

  test('read no row of other trees', async () => {
    for (let n = 0; n < 300; n += 1) await append('other', `event ${n}`)
    await append('root', 'one')
    const page = await until('the order of events', async () => {
      const read = await fixture.store.readAllEvents({ after: null, rows: 10, of: { root: 'root' } })
      return read.settled && read
    })
    expect([page.rows, page.more]).toEqual([1, false])
  })
})

describe('a stream that begins with a snapshot', () => {
  const begin = async (options: { readonly after?: number | string; readonly tree?: boolean }) => {
    const events = await collect(root().events({ snapshot: true, follow: false, ...options }))
    const [first, ...rest] = events
    if (first?.type !== 'snapshot.updated') throw new Error(`Expected a snapshot first, got ${first?.type}`)
    return { first, rest: rest.map(short) }
  }

  test('has the state first, and then what is written behind it', async () => {
    await append('root', 'one', 'two')
    const { first, rest } = await begin({})
    expect(first.payload).toMatchObject({ mode: 'first', snapshot: { threadId: 'root', lastSequence: 2 } })
    expect(rest).toEqual([])
    await append('root', 'three')
    expect((await collect(root().events({ after: first.cursor, follow: false }))).map(short)).toEqual([
      'root three',
    ])
  })

  test('AR-CC.13 AR-CP.19 has the snapshot first, and then each event behind the cursor of its reader', async () => {
    await append('root', 'one', 'two', 'three')
    const { first, rest } = await begin({ after: 1 })
    expect([first.payload.mode, first.cursor]).toEqual(['replay', '1'])
    expect(rest).toEqual(['root two', 'root three'])
    // The reader was cut off behind the snapshot, and comes back with its cursor.
    expect((await begin({ after: first.cursor })).rest).toEqual(['root two', 'root three'])
  })

  test.each([7, '7', 'a cursor of somebody else', '0:m:1'])(
    'AR-ES.12 repairs a reader whose cursor %j leads nowhere',
    async (after) => {
      await append('root', 'one', 'two')
      const { first, rest } = await begin({ after })
      expect(first.payload).toMatchObject({ mode: 'repair', snapshot: { lastSequence: 2 } })
      expect(rest).toEqual([])
      await append('root', 'three')
      expect((await begin({ after: first.cursor })).rest).toEqual(['root three'])
    },
  )

  test('of a tree repairs a reader with a cursor of another tree', async () => {
    await append('other', 'foreign')
    await append('child', 'one')
    const foreign = await collect(fixture.threads.get('other').events({ tree: true, follow: false }))
    const after = foreign[0]?.cursor ?? ''
    const { first, rest } = await begin({ tree: true, after })
    expect([first.payload.mode, rest]).toEqual(['repair', []])
    await append('child', 'two')
    expect((await begin({ tree: true, after: first.cursor })).rest).toEqual(['child two'])
  })
})
