import { describe, expect, test } from 'vitest'
import { ThreadClient } from '../../src/client/index.js'
import type { ThreadNotice } from '../../src/client/index.js'
import { UnknownAgentError, WaitTimeoutError } from '../../src/protocol/errors.js'
import { putAgents } from '../../src/store/agents.js'
import { insertRequest } from '../../src/store/calls/requests.js'
import { insertThread } from '../../src/store/threads/threads.js'
import { underContention } from '../support/contention.js'
import { recordedRuns, searchForContent } from '../support/histories.js'
import { MARKER } from '../support/marker.js'
import { collect, createClientFixture, servedFixture } from './client-fixture.js'
import { signalsOf, textOf } from './signals.js'

const fixture = servedFixture()

describe('without any worker', () => {
  test('messages are kept and wait in order', async () => {
    const thread = await fixture.threads.create({ agent: 'support', message: 'first' })
    await thread.send('second')
    const { messages } = await thread.messages()
    expect(messages.map(({ content, status, position }) => [content, status, position])).toEqual([
      ['first', 'pending', null],
      ['second', 'pending', null],
    ])
  })

  test('the recorded state says for whom a run waits, as lists do', async () => {
    const thread = await fixture.threads.create({ agent: 'support', id: 'recorded-wait', message: 'Hello' })
    const { threadId } = thread
    const ask = (kind: 'approval' | 'call' | 'variables', id: string) =>
      fixture.store.write(async (tx) => {
        await tx.updateTable('threads').set({ status: 'running' }).where('id', '=', threadId).execute()
        const about = { call_id: null, tool_name: 'refund', detail: null }
        await insertRequest(tx, { thread_id: threadId, id, kind, ...about, requested_at: 1 })
      })
    await ask('variables', 'v')
    expect(await thread.snapshot()).toMatchObject({ status: 'running', stale: true })
    await ask('call', 'c')
    expect((await thread.snapshot()).status).toBe('waiting_input')
    await ask('approval', 'a')
    expect((await thread.snapshot()).status).toBe('waiting_permission')
  })

  test('E4 a wait without a worker is told of it within three seconds', async () => {
    const thread = await fixture.threads.create({ agent: 'support', message: 'Hello' })
    const notices: ThreadNotice[] = []
    const times: number[] = []
    let began = 0
    const onNotice = (notice: ThreadNotice): void => {
      notices.push(notice)
      times.push(Date.now() - began)
    }
    const { result: waited, factor } = await underContention(() => {
      began = Date.now()
      return thread.waitUntilIdle({ timeout: 9_000, onNotice }).catch((error: unknown) => error)
    })
    expect(WaitTimeoutError.isInstance(waited)).toBe(true)
    expect(notices).toEqual([
      {
        code: 'no_answer',
        threadId: thread.threadId,
        message:
          `Thread "${thread.threadId}" does not answer yet: no worker answers on task queue "${fixture.taskQueue}"; ` +
          'start one, or check its task queue.',
      },
    ])
    expect(times[0]).toBeLessThan(3000 * factor)
  })

  test('E4 an agent that no worker lists is refused at once, with the nearest name, unless its worker starts later', async () => {
    const notices: ThreadNotice[] = []
    const { taskQueue, place: store } = fixture
    const client = fixture.threads.temporal
    const onNotice = (notice: ThreadNotice): void => void notices.push(notice)
    const threads = new ThreadClient({ client, taskQueue, store, onNotice })
    const listed = { type: 'ai_human', title: null, description: null, icon: null }
    // Before the first worker nothing is known.
    await threads.create({ agent: 'suport', id: 'early' })
    const agents = ['billing', 'support'].map((name) => ({
      ...listed,
      ...{ name, expose_as_tool: false, inventory: {} },
    }))
    await fixture.store.write((tx) => putAgents(tx, { agents, now: 1 }))
    const refusal = async (agent: string): Promise<unknown> =>
      threads.create({ agent, id: 'wrong', message: 'Hello' }).catch((error: unknown) => error)
    const error = await refusal('suport')
    expect(UnknownAgentError.isInstance(error) && error).toMatchObject({
      ...{ code: 'unknown_agent', threadId: 'wrong', agent: 'suport' },
      message:
        `Expected an agent that a worker of this store has listed, got "suport": did you mean 'support'? Nothing was created: ` +
        'correct the name, start a worker that has it first, or create the thread with "allowUnknownAgent".',
    })
    expect(String(await refusal('desk'))).toContain('got "desk": there are billing, support. Nothing was')
    expect(await threads.find('wrong')).toBeNull()
    // What exists is found again, whatever is listed by now.
    await threads.create({ agent: 'suport', id: 'early' })
    await threads.create({ agent: 'support' })
    expect(notices).toEqual([])
    const later = { agent: 'suport', id: 'later', message: 'Hello', allowUnknownAgent: true }
    await threads.create(later)
    expect(notices).toMatchObject([{ code: 'unknown_agent', threadId: 'later' }])
    expect(notices[0]?.message).toContain(`no worker of this store has listed one: did you mean 'support'?`)
    await threads.close()
  })

  test('snapshot is the recorded one and says so', async () => {
    const thread = await fixture.threads.create({ agent: 'support', userId: 'ann', message: 'x'.repeat(150) })
    const snapshot = await thread.snapshot()
    expect(snapshot).toMatchObject({
      threadId: thread.threadId,
      agent: 'support',
      parent: null,
      status: 'idle',
      stale: true,
      run: null,
      lastRun: null,
      terminated: null,
      lastSequence: 2,
    })
    expect(snapshot.queue).toMatchObject([{ kind: 'message', preview: 'x'.repeat(100) }])
    expect(snapshot.createdAt).toBeGreaterThan(1e15)
  })

  test('waiting ends at its deadline with a clear error', async () => {
    const thread = await fixture.threads.create({ agent: 'support', message: 'Hello' })
    const started = Date.now()
    const error: unknown = await thread
      .waitUntilIdle({ timeout: '1 second' })
      .catch((caught: unknown) => caught)
    expect(Date.now() - started).toBeLessThan(30_000)
    expect(WaitTimeoutError.isInstance(error) && error).toMatchObject({
      code: 'timeout',
      threadId: thread.threadId,
      status: 'idle',
      stale: true,
      message: `Expected thread "${thread.threadId}" to be idle within 1000 ms, got recorded status "idle": no worker answers on task queue "${fixture.taskQueue}"; start one, or check its task queue.`,
    })
  })

  test('stop and continue are accepted signals', async () => {
    const thread = await fixture.threads.create({ agent: 'support' })
    await thread.stop()
    await thread.stop({ runId: 'run_7' })
    await thread.continue()
    expect(await signalsOf(thread)).toEqual([
      ['stop', '{}'],
      ['stop', '{"runId":"run_7"}'],
      ['continue', undefined],
    ])
  })
})

describe('creating', () => {
  test('create twice gives one thread and one message', async () => {
    const options = { agent: 'support', id: 'ticket-1', userId: 'ann', message: 'Hello', tags: ['a', 'a'] }
    await fixture.threads.create(options)
    const again = await fixture.threads.create(options)
    const { messages } = await again.messages()
    expect(messages.map(({ id }) => id)).toEqual(['ticket-1:first'])
    const summaries = await collect(fixture.threads.list())
    expect(summaries).toMatchObject([{ threadId: 'ticket-1', agent: 'support', userId: 'ann', tags: ['a'] }])
  })

  test('a namespace that is not there is named', async () => {
    const elsewhere = await createClientFixture(fixture.address, { namespace: 'nowhere' })
    const problem = 'one without the namespace "nowhere": create it, or set TEMPORAL_NAMESPACE'
    await expect(elsewhere.threads.create({ agent: 'support', message: 'Hello' })).rejects.toMatchObject({
      code: 'temporal_unavailable',
      problem,
    })
    await elsewhere.close()
  })

  test('a known id with another agent, user or account is refused', async () => {
    await fixture.threads.create({ agent: 'support', id: 'ticket-2', userId: 'ann' })
    const code = 'thread_conflict'
    await expect(
      fixture.threads.create({ agent: 'other', id: 'ticket-2', userId: 'ann' }),
    ).rejects.toMatchObject({ code })
    await expect(
      fixture.threads.create({ agent: 'support', id: 'ticket-2', userId: 'ben' }),
    ).rejects.toMatchObject({ code })
    await expect(
      fixture.threads.create({ agent: 'support', id: 'ticket-2', userId: 'ann', account: 'acme' }),
    ).rejects.toMatchObject({ code })
  })

  test('the start input holds control facts and no content', async () => {
    const message = { content: MARKER, metadata: { note: MARKER } }
    const thread = await fixture.threads.create({
      agent: 'support',
      userId: 'ann',
      title: MARKER,
      message,
    })
    const { events } = await thread.workflow.fetchHistory()
    const start = events?.[0]?.workflowExecutionStartedEventAttributes
    expect(textOf(start?.input?.payloads?.[0]?.data)).toBe(
      JSON.stringify({
        agent: 'support',
        store: fixture.store.id,
        userId: 'ann',
        searchAttributes: [
          'ThreadAgent',
          'ThreadStatus',
          'ThreadUser',
          'ThreadParent',
          'ThreadRoot',
          'ThreadTags',
        ],
      }),
    )
    expect(searchForContent(await recordedRuns(fixture.threads.temporal, thread.threadId)).leaks).toEqual([])
    const { memo } = await thread.workflow.describe()
    expect(memo).toEqual({ agent: 'support', store: fixture.store.id, userId: 'ann' })
  })

  test('a send finds a row without workflow and starts it', async () => {
    const row = { id: `row-${fixture.taskQueue}`, agent: 'support', created_at: 1 }
    await fixture.store.write((tx) => insertThread(tx, row))
    const thread = fixture.threads.get(row.id)
    const { messageId } = await thread.send('Hello')
    expect(await signalsOf(thread)).toEqual([['queueMessage', JSON.stringify({ messageId, role: 'user' })]])
  })

  test('options that are not valid are named all at once', async () => {
    const create = fixture.threads.create({ agent: '', id: 'everthread:x', account: '' })
    await expect(create).rejects.toMatchObject({ name: 'ConfigError', problems: { length: 3 } })
  })
})

describe('sending', () => {
  test('the same id and content is one message', async () => {
    const thread = await fixture.threads.create({ agent: 'support' })
    const message = { id: 'mail-1', content: 'Hello', metadata: { b: 1, a: [2] } }
    await thread.send(message)
    await thread.send({ ...message, metadata: { a: [2], b: 1 } })
    expect((await thread.messages()).messages).toHaveLength(1)
    expect(await signalsOf(thread)).toHaveLength(2)
  })

  test('the same id with other content is a conflict', async () => {
    const thread = await fixture.threads.create({ agent: 'support' })
    await thread.send({ id: 'mail-1', content: 'Hello' })
    const conflict = { code: 'thread_conflict', messageId: 'mail-1' }
    await expect(thread.send({ id: 'mail-1', content: 'Bye' })).rejects.toMatchObject(conflict)
    await expect(thread.send({ id: 'mail-1', content: 'Hello', silent: true })).rejects.toMatchObject(
      conflict,
    )
  })

  test('E4 a conflict names the id that the caller gave', async () => {
    const first = { agent: 'support', id: 'ticket-17', message: 'Hello' }
    const thread = await fixture.threads.create(first)
    await expect(fixture.threads.create({ ...first, message: 'Bye' })).rejects.toThrow(
      'Expected thread id "ticket-17" to be new or to come with the same first message, got another message: ' +
        'use another id, or send the message to the thread that is there.',
    )
    await thread.queueTool('lookup', { n: 1 }, { id: 'job_7' })
    await expect(thread.queueTool('lookup', { n: 2 }, { id: 'job_7' })).rejects.toThrow(
      'Expected tool call id "job_7" to be new',
    )
  })

  test('one id of a mail is a message of each of two threads', async () => {
    const [one, other] = [
      await fixture.threads.create({ agent: 'support' }),
      await fixture.threads.create({ agent: 'support', account: 'acme' }),
    ]
    const sent = [
      { id: 'mail-1', content: 'Hello' },
      { id: 'mail-1', content: 'Bye' },
    ] as const
    await one.send(sent[0])
    await other.send(sent[1])
    await one.send(sent[0])
    expect((await one.messages()).messages).toMatchObject([sent[0]])
    expect((await other.messages()).messages).toMatchObject([sent[1]])
  })

  test('a repeated message brings its file once', async () => {
    const thread = await fixture.threads.create({ agent: 'support' })
    const note = { name: 'note.txt', mimeType: 'text/plain' }
    const send = (data: string | Uint8Array) =>
      thread.send({ id: 'mail-1', attachments: [{ ...note, data }] })
    await send(Buffer.from('bytes'))
    await send(Buffer.from('bytes').toString('base64'))
    const { entries } = await thread.readdirFile('/attachments')
    expect(entries.map(({ path }) => path)).toEqual(['/attachments/note.txt'])
    const { messages } = await thread.messages()
    const attachments = [{ path: '/attachments/note.txt', size: 5 }]
    expect(messages).toMatchObject([{ content: null, attachments }])
    await expect(send(Buffer.from('other'))).rejects.toMatchObject({ code: 'thread_conflict' })
  })

  test('files of the thread are attached by their path', async () => {
    const thread = await fixture.threads.create({ agent: 'support' })
    await thread.writeFile('/notes/plan.md', '# Plan', 'text/markdown')
    await thread.send({ content: 'Read it.', attachments: ['/notes/plan.md'] })
    const { messages } = await thread.messages()
    expect(messages[0]?.attachments).toMatchObject([{ name: 'plan.md', mimeType: 'text/markdown', size: 6 }])
    const missing = thread.send({ content: 'And this.', attachments: ['/notes/none.md', '/notes'] })
    await expect(missing).rejects.toMatchObject({
      code: 'message_rejected',
      problem:
        'Expected the attachment /notes/none.md to be a file of the thread, got no such file: ' +
        'a new file is given as { name, mimeType, data }.',
    })
    expect((await thread.messages()).messages).toHaveLength(1)
  })

  test('a rejected message leaves none of its files', async () => {
    const thread = await fixture.threads.create({ agent: 'support' })
    const attachments = [{ name: 'a.txt', mimeType: 'text/plain', data: 'YQ==' }, '/none']
    await expect(thread.send({ attachments })).rejects.toMatchObject({ code: 'message_rejected' })
    expect(await thread.statFile('/attachments/a.txt')).toBeNull()
  })

  test('an unknown thread is named as such', async () => {
    const thread = fixture.threads.get('nobody')
    const code = 'thread_not_found'
    await expect(thread.send('Hello')).rejects.toMatchObject({ code, threadId: 'nobody' })
    await expect(thread.snapshot()).rejects.toMatchObject({ code })
    await expect(thread.stop()).rejects.toMatchObject({ code })
    await expect(thread.terminate()).rejects.toMatchObject({ code })
    await expect(thread.waitUntilIdle()).rejects.toMatchObject({ code })
  })
})
