/** Subagents that an operator steers over HTTP, beside those that a model steers. */
import { expect, test } from 'vitest'
import type { ThreadHandle } from '../../src/client/index.js'
import { createThreadApp } from '../../src/server/index.js'
import { kindsRuns } from '../support/family-runs.js'
import type { Families, Family } from '../support/family-runs.js'
import { createGate } from '../support/gate.js'
import { act, approve, calls, create, done, draft, order, write } from '../support/kinds-replies.js'
import type { KindsDesk } from '../support/kinds-desk.js'
import { marked } from '../support/marker.js'
import { madeOf, readOf } from '../support/rebuilt-reads.js'
import { factsOf, transcript } from '../support/thread-facts.js'
import { until } from '../support/until.js'

const TOKEN = 'token-of-an-operator'

/** A reader and sender of the HTTP API. */
function operatorOf({ env }: Families<KindsDesk>) {
  const app = createThreadApp({ client: env.threads, tokens: [{ token: TOKEN }] })
  return async (method: 'GET' | 'POST', path: string, body?: object): Promise<Record<string, unknown>> => {
    const headers = { authorization: `Bearer ${TOKEN}`, 'content-type': 'application/json' }
    const sent = { method, headers, ...(body !== undefined && { body: JSON.stringify(body) }) }
    const response = await app.request(path, sent)
    expect([path, response.status < 300]).toEqual([path, true])
    const text = await response.text()
    return text === '' ? {} : (JSON.parse(text) as Record<string, unknown>)
  }
}

/** What a thread and its child have to show, whoever steered it: rows, facts about the child, and who belongs to whom. */
async function effectOf({ thread }: Family, child: ThreadHandle) {
  const { agent, parent, status, run, queue } = await child.snapshot()
  const about = (await factsOf(thread)).filter(({ type }) => type.startsWith('subagent.'))
  const [entry] = (await thread.snapshot()).children
  return {
    child: { agent, status, run, queue, isOfParent: parent === thread.threadId },
    rows: (await transcript(child)).map(({ role, content }) => `${role}: ${content ?? ''}`),
    facts: about.map(({ type }) => type),
    entry: { name: entry?.name, threadName: entry?.threadName, status: entry?.status },
  }
}

kindsRuns((families) => {
  test('AR-CP.13 an operator spawns, messages, waits for, resumes and closes a subagent over HTTP, with the effects of a model that does', async () => {
    const voices = () => ({ worker: () => draft, judge: () => approve() })
    // By a model: it creates an instance, and writes to it after its first report.
    let reference = ''
    const byModel = await families.start({
      voices: {
        ...voices(),
        lead: [
          calls(create('boarder')),
          done,
          done,
          () => calls(write(reference, 'More')),
          ...Array.from({ length: 4 }, () => done),
        ],
      },
    })
    const modelled = await byModel.child()
    reference = modelled.threadId
    await ended(byModel, modelled, 1)
    await byModel.thread.send(marked('Again'))
    await ended(byModel, modelled, 2)

    const operator = operatorOf(families)
    const byOperator = await families.start({
      ...{ message: null, voices: { ...voices(), lead: () => done } },
    })
    const { thread } = byOperator
    const queue = ({ name, args }: { readonly name: string; readonly args: object }) =>
      operator('POST', `/threads/${thread.threadId}/calls`, { name, arguments: args })
    const spawned = await queue(create('boarder'))
    const child = await byOperator.child()
    await ended(byOperator, child, 1)
    const call = await operator('GET', `/threads/${thread.threadId}/calls/${String(spawned['toolCallId'])}`)
    expect(call).toMatchObject({ status: 'succeeded', children: [child.threadId] })
    await queue(write(child.threadId, 'More'))
    await ended(byOperator, child, 2)
    expect(await effectOf(byOperator, child)).toEqual(await effectOf(byModel, modelled))

    // Waits: its answer is there as soon as it is idle.
    const path = `/threads/${child.threadId}`
    const waited = await operator('GET', `${path}/result?seconds=10`)
    expect(waited).toMatchObject({
      idle: true,
      result: { status: 'idle', session: { message: marked('Good') } },
    })
    // Resumes: what was stopped goes on.
    await operator('POST', `${path}/continue`)
    await child.waitUntilIdle()
    expect((await child.snapshot()).parent).toBe(thread.threadId)
    // Closes: nothing of it is left but what is recorded, and the parent knows.
    await operator('POST', `${path}/terminate`, { reason: 'Enough' })
    await until('a closed child', async () => (await child.snapshot()).status === 'terminated')
    await until('a parent that knows', async () =>
      (await factsOf(thread)).some(({ type }) => type === 'subagent.closed'),
    )
    await until('a closed workflow', async () => (await child.workflow.describe()).status.name !== 'RUNNING')
    await thread.waitUntilIdle()
  })

  test('AR-S4.1 the read models of a thread with subagents can be made again from its events alone', async () => {
    const family = await families.start({
      voices: {
        lead: [calls(act('it'), order('helper'), order('runner')), ...Array.from({ length: 4 }, () => done)],
        worker: () => draft,
        judge: () => approve(),
      },
      tools: {
        act: async (state) => {
          await state.writeFile('/made.txt', 'text/plain', marked('made'))
          return { status: 'success', result: marked('Made') }
        },
      },
    })
    const { thread } = family
    await thread.waitUntilIdle({ children: true })
    const made = madeOf(await factsOf(thread))
    expect(made).toEqual(await readOf(thread))
    expect(made).toMatchObject({ files: ['/made.txt'], lastRun: 'stop_on_response' })
    expect(made.children).toHaveLength(2)
  })

  test('KP-07.3 independent messages of a batch are worked on at once, each by a thread of its own in one session', async () => {
    const gate = createGate()
    const tasks = ['One', 'Two', 'Three', 'Four', 'Five'].map(marked)
    const family = await families.start({
      message: null,
      voices: {
        lead: () => done,
        worker: async () => (await gate.passed, draft),
        judge: () => approve(),
      },
    })
    const { thread } = family
    for (const task of tasks) await thread.queueTool('runner', order('runner', { task }).args)
    await until('five requests at once', () => family.requests('worker').length === tasks.length)
    const children = await family.children()
    expect(await Promise.all(children.map(async (child) => (await child.snapshot()).status))).toEqual(
      tasks.map(() => 'running'),
    )
    const session = await families.env.threads.sessions.get(thread.threadId)
    expect(session?.activeThreads).toEqual(expect.arrayContaining(children.map(({ threadId }) => threadId)))
    gate.open()
    await Promise.all(
      children.map((child) => until('an end', async () => (await child.snapshot()).run === null)),
    )
    const said = await Promise.all(children.map(async (child) => (await transcript(child))[0]?.content))
    expect(new Set(said)).toEqual(new Set(tasks))
    await thread.waitUntilIdle({ children: true })
  })
})

/** Until the child has ended so many sessions, and its parent has taken the reports. */
async function ended({ thread }: Family, child: ThreadHandle, sessions: number): Promise<void> {
  await until('the end of a session', async () => {
    const types = (await factsOf(child)).map(({ type }) => type)
    return types.filter((type) => type === 'run.completed').length >= sessions
  })
  await child.waitUntilIdle()
  await thread.waitUntilIdle()
}
