import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import type { ThreadHandle } from '../../src/client/index.js'
import { appendMessage } from '../../src/store/messages/delivery.js'
import { insertRun } from '../../src/store/threads/runs.js'
import { insertThread, updateThread } from '../../src/store/threads/threads.js'
import { addChildRows } from '../support/child-rows.js'
import { collect, createClientFixture } from './client-fixture.js'
import type { ClientFixture } from './client-fixture.js'

let fixture: ClientFixture
let thread: ThreadHandle

beforeEach(async () => {
  fixture = await createClientFixture()
  await addThread('t')
  thread = fixture.threads.get('t')
})
afterEach(() => fixture.close())

describe('files', () => {
  test('are written, read and listed', async () => {
    const record = await thread.writeFile('/notes/plan.md', '# Plän', 'text/markdown')
    expect(record).toMatchObject({ path: '/notes/plan.md', name: 'plan.md', size: 7, isDirectory: false })
    expect(record).not.toHaveProperty('blob')
    expect(await thread.statFile('/notes/plan.md')).toEqual(record)
    const bytes = await thread.readFile('/notes/plan.md')
    expect(bytes && Buffer.from(bytes).toString()).toBe('# Plän')
    expect((await thread.readdirFile('/')).entries.map(({ path }) => path)).toEqual(['/notes'])
  })

  test('are written from a stream and read in parts', async () => {
    async function* chunks() {
      yield Buffer.from('0123')
      yield Buffer.from('456789')
    }
    expect(await thread.writeFile('/ten', chunks(), 'text/plain')).toMatchObject({ size: 10 })
    const part = async (range?: { start?: number; end?: number }) => {
      const stream = await thread.readFileStream('/ten', range)
      const text = stream && Buffer.concat([...(await collect(stream.data))]).toString()
      return [stream?.start, stream?.end, text]
    }
    expect(await part()).toEqual([0, 10, '0123456789'])
    expect(await part({ start: 2, end: 5 })).toEqual([2, 5, '234'])
    expect(await part({ start: -3 })).toEqual([7, 10, '789'])
    expect(await part({ start: 8, end: 99 })).toEqual([8, 10, '89'])
    expect(await part({ start: 10 })).toEqual([10, 10, ''])
    expect(await thread.readFileStream('/none')).toBeNull()
  })

  test('are removed, once', async () => {
    await thread.writeFile('/notes/plan.md', 'x', 'text/plain')
    expect(await thread.unlinkFile('/notes/plan.md')).toBe(true)
    expect(await thread.unlinkFile('/notes/plan.md')).toBe(false)
    expect(await thread.readFile('/notes/plan.md')).toBeNull()
    await expect(thread.unlinkFile('/notes')).rejects.toMatchObject({ code: 'is_folder' })
  })

  test('that are not there are null or a named error', async () => {
    expect(await thread.readFile('/none')).toBeNull()
    expect(await thread.statFile('/none')).toBeNull()
    await expect(thread.readdirFile('/none')).rejects.toMatchObject({ name: 'FileError', code: 'not_found' })
    await expect(thread.writeFile('/../x', '', 'text/plain')).rejects.toMatchObject({ code: 'invalid_path' })
  })
})

describe('messages', () => {
  test('AR-VA.7 are paged by their position', async () => {
    await addMessages(500)
    const contents = async (options: Parameters<ThreadHandle['messages']>[0]) => {
      const { messages, hasMore } = await thread.messages(options)
      return [messages.map(({ content }) => content).join(' '), hasMore]
    }
    expect(await contents({ limit: 2 })).toEqual(['m499 m500', true])
    expect(await contents({ limit: 2, before: 4 })).toEqual(['m2 m3', true])
    expect(await contents({ limit: 3, after: 497 })).toEqual(['m498 m499 m500', false])
    const pages: (string | null)[][] = []
    let before: number | undefined
    for (let more = true; more;) {
      const page = await thread.messages({ limit: 100, ...(before !== undefined && { before }) })
      pages.unshift(page.messages.map(({ content }) => content))
      before = page.messages[0]?.position ?? undefined
      more = page.hasMore
    }
    expect(pages).toHaveLength(5)
    expect(pages.flat()).toEqual(Array.from({ length: 500 }, (_, index) => `m${index + 1}`))
  })

  test('of an unknown thread are an error', async () => {
    await expect(fixture.threads.get('nobody').messages()).rejects.toMatchObject({ code: 'thread_not_found' })
  })
})

describe('the list', () => {
  test('holds more than one page, newest activity first', async () => {
    for (let index = 0; index < 120; index += 1)
      await addThread(`t${index}`, { last_activity_at: index + 10 })
    const listed = await collect(fixture.threads.list({ parent: null }))
    expect(listed.map(({ threadId }) => threadId)).toEqual([
      ...Array.from({ length: 120 }, (_, index) => `t${119 - index}`),
      't',
    ])
  })

  test('is filtered by agent, user and status', async () => {
    await addThread('a', { agent: 'other' })
    await addThread('b', { user_id: 'ann', status: 'stopped' })
    const ids = async (filter: Parameters<ClientFixture['threads']['list']>[0]) =>
      (await collect(fixture.threads.list(filter))).map(({ threadId }) => threadId)
    expect(await ids({ agent: 'other' })).toEqual(['a'])
    expect(await ids({ userId: 'ann' })).toEqual(['b'])
    expect(await ids({ status: 'stopped' })).toEqual(['b'])
  })

  test('of one account leaves out all others', async () => {
    await addThread('mine', { account: 'acme' })
    await addThread('other', { account: 'globex' })
    const listed = await collect(fixture.threads.list({ account: 'acme' }))
    expect(listed.map(({ threadId, account }) => [threadId, account])).toEqual([['mine', 'acme']])
  })

  test('is read page by page with the cursor of the page before', async () => {
    for (let index = 0; index < 5; index += 1) await addThread(`p${index}`, { last_activity_at: index + 10 })
    const pages: string[] = []
    let cursor: string | undefined
    do {
      const page = await fixture.threads.page({}, { limit: 4, ...(cursor !== undefined && { cursor }) })
      pages.push(page.threads.map(({ threadId }) => threadId).join(' '))
      cursor = page.next ?? undefined
    } while (cursor !== undefined)
    expect(pages).toEqual(['p4 p3 p2 p1', 'p0 t'])
  })

  test.each(['', 'x', 'WzFd', Buffer.from('[1,2]').toString('base64url'), '[1,"t"]'])(
    'AR-SS.7 refuses the cursor %j, which is none of its own',
    async (cursor) => {
      await expect(fixture.threads.page({}, { cursor })).rejects.toThrow('Expected "cursor"')
      await expect(fixture.threads.pendingPage({}, { cursor })).rejects.toThrow('Expected "cursor"')
    },
  )

  test('AR-SS.7 refuses a page that is empty or too long', async () => {
    for (const limit of [0, 501, 1.5])
      await expect(fixture.threads.page({}, { limit })).rejects.toThrow('Expected "limit" to be 1 to 500')
  })

  test('has a single thread too, or null', async () => {
    expect(await fixture.threads.find('t')).toMatchObject({ threadId: 't', account: null })
    expect(await fixture.threads.find('nobody')).toBeNull()
  })
})

describe('a thread of a tree', () => {
  beforeEach(async () => {
    const thread = { closed_at: 9, status: 'completed' }
    await addChildRows(fixture.store, { id: 'child', parent: 't', root: 't', thread })
    const failed = { closed_at: 9, status: 'failed' }
    await addChildRows(fixture.store, { id: 'grandchild', parent: 'child', root: 't', thread: failed })
  })

  test('names its parent and root, and is listed by them', async () => {
    const { threads } = fixture
    const roots = async (filter: Parameters<ClientFixture['threads']['list']>[0]) =>
      (await collect(threads.list(filter))).map(({ threadId, parent, root }) => [threadId, parent, root])
    expect(await roots({ root: 't' })).toEqual([
      ['t', null, 't'],
      ['grandchild', 'child', 't'],
      ['child', 't', 't'],
    ])
    expect(await roots({ root: 't', parent: 'child' })).toEqual([['grandchild', 'child', 't']])
    expect(await threads.get('grandchild').snapshot()).toMatchObject({ parent: 'child', root: 't' })
    expect(await threads.get('child').snapshot()).toMatchObject({
      root: 't',
      children: [{ reference: 'grandchild', name: 'research', threadName: 'of grandchild' }],
    })
  })

  test('has all that came of it below itself', async () => {
    const grandchild = { threadId: 'grandchild', status: 'failed', closedAt: 9, children: [] }
    const child = {
      ...{ threadId: 'child', agent: 'helper', status: 'completed', closedAt: 9 },
      entry: { reference: 'child', status: 'running', threadName: 'of child' },
      children: [grandchild],
    }
    expect(await thread.tree()).toMatchObject({
      threadId: 't',
      closedAt: null,
      entry: null,
      children: [child],
    })
    expect(await fixture.threads.get('child').tree()).toMatchObject(child)
    await expect(fixture.threads.get('nobody').tree()).rejects.toMatchObject({ code: 'thread_not_found' })
  })
})

describe('the result of a closed thread', () => {
  test('comes from the store at once', async () => {
    const usage = { inputTokens: 10, outputTokens: 5, cachedInputTokens: 0, cost: 12 }
    const session = { outcome: 'success', message: 'Done', attachments: [] } as const
    const run = { thread_id: 't', number: 2, trigger_kind: 'message', started_at: 1, steps: 3 }
    await fixture.store.write((tx) => insertRun(tx, { ...run, reason: 'session_stop', usage, session }))
    await addMessage({ content: 'earlier', run: 1 })
    await addMessage({ content: 'the reply', run: 2, role: 'user', side: 'b' })
    await addMessage({ content: 'from outside', run: 2, role: 'user' })
    await addMessage({ content: 'hidden', run: 2, silent: true })
    await addMessage({ content: null, run: 2 })
    await fixture.store.write((tx) => updateThread(tx, 't', { status: 'completed', closed_at: 9 }))
    expect(await thread.waitUntilIdle()).toMatchObject({
      status: 'completed',
      runId: 'run_2',
      reason: 'session_stop',
      reply: { content: 'the reply' },
      session,
      steps: 3,
      usage,
    })
  })
})

test('a closed client says so, and closes once', async () => {
  await thread.messages()
  await fixture.threads.close()
  await fixture.threads.close()
  await expect(thread.messages()).rejects.toMatchObject({ name: 'StoreError', code: 'closed' })
})

async function addThread(id: string, row: Partial<Parameters<typeof insertThread>[1]> = {}): Promise<void> {
  await fixture.store.write((tx) => insertThread(tx, { id, agent: 'support', created_at: 1, ...row }))
}

/** In one transaction, by their numbers. */
async function addMessages(count: number): Promise<void> {
  await fixture.store.write(async (tx) => {
    for (let number = 1; number <= count; number += 1)
      await appendMessage(tx, {
        ...{ id: `row-${number}`, threadId: 't', role: 'assistant', content: `m${number}` },
        ...{ createdAt: 1, sentBy: 'model' },
      })
  })
}

let messages = 0

async function addMessage(message: Partial<Parameters<typeof appendMessage>[1]>): Promise<void> {
  const row = {
    id: `m-${(messages += 1)}`,
    threadId: 't',
    role: 'assistant',
    createdAt: 1,
    sentBy: 'model',
  } as const
  await fixture.store.write((tx) => appendMessage(tx, { content: null, ...row, ...message }))
}
