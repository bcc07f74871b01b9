/** The words of the Agent Runtime draft about threads that run, read over HTTP where its readers follow references. */
import { expect, test } from 'vitest'
import type { ThreadHandle } from '../../src/client/index.js'
import { createThreadApp } from '../../src/server/index.js'
import type { AgentRuntimeEvent } from '../../src/views/index.js'
import { marked } from '../support/marker.js'
import { factsOf } from '../support/thread-facts.js'
import { threeRuns } from '../support/three-runs.js'
import type { Desk } from '../support/three-runs.js'
import { viewOf } from '../support/view-rules.js'
import { held } from '../support/workflow-desk.js'

const TOKEN = 'token-of-an-operator'
const work = { name: 'work', args: { task: marked('it') } }

async function viewed(thread: ThreadHandle): Promise<readonly AgentRuntimeEvent[]> {
  const { threadId } = thread
  return viewOf('ar', { threadId, sessionId: threadId, agent: 'clerk' }, await factsOf(thread))
}

/** Reads a path of the HTTP API, as a reader that has got it as a reference. */
async function read({ env }: Desk, path: unknown): Promise<string> {
  const app = createThreadApp({ client: env.threads, tokens: [{ token: TOKEN }] })
  const response = await app.request(String(path), { headers: { authorization: `Bearer ${TOKEN}` } })
  expect([response.status, path]).toEqual([200, path])
  return response.text()
}

threeRuns((desk) => {
  test('AR-EC.19 a hook that fails and stops nothing is a warning', async () => {
    const failing = Promise.reject(new Error(marked('No')))
    failing.catch(() => undefined)
    const id = `warned-${desk.mode.replaceAll(' ', '-')}`
    held.set(id, failing)
    desk.script(id, { chat: [{ toolCalls: [work] }, { text: marked('Done') }] })
    const thread = await desk.env.threads.create({ agent: 'filer', id, message: marked('Hello') })
    expect(await thread.waitUntilIdle()).toMatchObject({ status: 'idle', reason: 'stop_on_response' })
    held.delete(id)
    const events = await viewed(thread)
    const at = events.findIndex(({ type }) => type === 'hook.failed')
    expect(events.slice(at, at + 2)).toMatchObject([
      { type: 'hook.failed', payload: { hook: 'hold_result', fails: 'open' } },
      {
        type: 'runtime.warning',
        payload: { code: 'hook_failed', hook: 'hold_result', cause: 'threw' },
      },
    ])
  })

  test('AR-ES.6 a large result is read by its reference, beside a bounded preview, and so are arguments and files', async () => {
    const long = `${marked('begin')}${'x'.repeat(1_000_000)}${marked('end')}`
    const { thread } = await desk.start({
      chat: [
        { toolCalls: [work, { name: 'other', args: { task: marked('short') } }] },
        { text: marked('Done') },
      ],
      tools: {
        work: () => ({ status: 'success', result: long }),
        other: async (state) => {
          await state.writeFile('/notes/a b.txt', marked('A note'), 'text/plain')
          return { status: 'success', result: marked('Written') }
        },
      },
    })
    await thread.waitUntilIdle()
    const events = await viewed(thread)
    const [large, small] = events.filter(({ type }) => type === 'tool.result')
    expect(await read(desk, large?.refs?.['outputRef'])).toBe(long)
    expect(JSON.stringify(large?.payload['preview']).length).toBeLessThan(20_000)
    expect(JSON.parse(await read(desk, small?.refs?.['outputRef']))).toMatchObject({
      message: { content: marked('Written') },
    })
    const started = events.filter(({ type }) => type === 'tool.started')
    const inputs = await Promise.all(started.map(({ refs }) => read(desk, refs?.['inputRef'])))
    expect(inputs.map((input) => JSON.parse(input) as { decisions: object[] })).toMatchObject([
      { decisions: [{ action: { arguments: { task: marked('it') } } }] },
      { decisions: [{ action: { arguments: { task: marked('short') } } }] },
    ])
    const note = events.find(({ refs }) => refs?.['artifactId'] === '/notes/a b.txt')
    expect(note).toMatchObject({
      type: 'artifact.changed',
      refs: { versionId: expect.stringMatching(/^[0-9a-f]+$/) },
    })
    expect(await read(desk, note?.refs?.['readRef'])).toBe(marked('A note'))
  })

  test('AR-EC.20 events of a tool that are named like ours, or by a vendor, displace none of them', async () => {
    const classes = await Promise.all(
      [[], ['turn.completed', 'run.failed', 'tool.result', 'lime.draft.changed']].map(async (names) => {
        const { thread } = await desk.start({
          chat: [{ toolCalls: [work] }, { text: marked('Done') }],
          tools: {
            work: (state) => {
              for (const name of names) state.emit(name, { status: marked('completed') })
              return { status: 'success', result: marked('ok') }
            },
          },
        })
        await thread.waitUntilIdle()
        const types = (await viewed(thread)).map(({ type }) => type)
        expect(types.filter((type) => type === 'custom')).toHaveLength(names.length)
        return types.filter((type) => type !== 'custom')
      }),
    )
    expect(classes[1]).toEqual(classes[0])
    expect(classes[0]).toEqual(expect.arrayContaining(['turn.completed', 'tool.result', 'run.completed']))
  })

  test('AR-RM.4 AR-ID.6 continue after a failed run is a new run, at the same task', async () => {
    const refused = { error: { status: 400, message: marked('Never') } }
    const { thread } = await desk.start({ message: null, chat: [refused, { text: marked('Now') }] })
    const { messageId } = await thread.send(marked('Hello'))
    expect(await thread.waitUntilIdle()).toMatchObject({ reason: 'model_failed' })
    await thread.continue()
    expect((await thread.waitUntilIdle()).reply?.content).toBe(marked('Now'))
    const ends = (await viewed(thread)).filter(({ type }) => /^run\.(completed|failed)$/.test(type))
    const of = (run: number) => ({ runId: `${thread.threadId}:run_${run}`, taskId: messageId })
    expect(ends).toMatchObject([
      { type: 'run.failed', ...of(1) },
      { type: 'run.completed', ...of(2) },
    ])
  })
})
