import { execFileSync } from 'node:child_process'
import { once } from 'node:events'
import { mkdir, readFile, writeFile } from 'node:fs/promises'
import { request } from 'node:http'
import { join } from 'node:path'

import { afterAll, beforeAll, expect, test } from 'vitest'

import { until } from '../support/until.js'
import { startDev } from './dev-process.js'
import type { Dev } from './dev-process.js'
import { COMMAND, initLinked, makeFolder, run } from './linked-project.js'

let place: Awaited<ReturnType<typeof makeFolder>>
let project: string
let dev: Dev
beforeAll(async () => {
  place = await makeFolder()
  project = await initLinked(place.folder, 'my-agent')
  dev = await startDev(project)
})
afterAll(async () => {
  dev.child.kill('SIGKILL')
  await place.remove()
})

interface Status {
  readonly worker: { readonly state: string; readonly pid: number; readonly deploys: number }
  readonly problem: string | null
}

interface Snapshot {
  readonly pending: readonly { readonly id: string }[]
}

// The routes are ours.
const statusOf = async (): Promise<Status> => (await dev.call('/dev/status')).json as Status
const snapshotOf = async (id: string): Promise<Snapshot> =>
  (await dev.call(`/threads/${id}/snapshot`)).json as Snapshot

async function idle(id: string, content: string): Promise<void> {
  await until(`the answer of ${id}`, async () => {
    const { json } = await dev.call(`/threads/${id}/messages`)
    return JSON.stringify(json).includes(content)
  })
}

async function edit(change: (text: string) => string): Promise<void> {
  const file = join(project, 'agents.ts')
  await writeFile(file, change(await readFile(file, 'utf8')))
}

/** Resolves when the stream of events has had that word. */
function seen(path: string, word: string): Promise<void> {
  return new Promise((resolve, reject) => {
    const headers = { authorization: `Bearer ${dev.url.hash.slice('#token='.length)}` }
    const stream = request(new URL(path, dev.url), { headers }, (response) => {
      let came = ''
      response.on('data', (chunk: Buffer) => {
        came += chunk.toString()
        if (!came.includes(word)) return
        stream.destroy()
        resolve()
      })
      response.on('error', () => undefined)
    })
    stream.on('error', reject)
    stream.end()
  })
}

/** The children of `dev` that live: its workers, its Temporal server and what watches that. */
function children(): readonly number[] {
  const all = execFileSync('ps', ['-A', '-o', 'pid=,ppid=']).toString()
  return all.split('\n').flatMap((line) => {
    const [pid, parent] = line.trim().split(/\s+/).map(Number)
    return parent === dev.child.pid && pid !== undefined ? [pid] : []
  })
}

function isAlive(pid: number): boolean {
  try {
    return process.kill(pid, 0)
  } catch {
    return false
  }
}

test('one line says what is ready, where, and that the model is for practice', async () => {
  const lines = dev.shown().trim().split('\n')
  expect(lines).toHaveLength(1)
  expect(lines[0]).toMatch(
    /^ready in \d+\.\d s at http:\/\/127\.0\.0\.1:\d+\/#token=[0-9a-f]{64}, Temporal UI http:\S+, a practice model because no key is set; q ends it$/,
  )
  expect(await statusOf()).toEqual({
    worker: {
      state: 'running',
      pid: expect.any(Number),
      since: expect.any(Number),
      deploys: 0,
      draining: [],
    },
    problem: null,
    model: 'scripted',
  })
  await dev.call('/threads', { body: { agent: 'support', id: 'hello', message: 'Hello' } })
  await idle('hello', 'I am the practice model')
})

test('foreign hosts, pages and tokens are refused at every route', async () => {
  const foreign = [
    { host: 'evil.example' },
    { origin: 'http://evil.example' },
    { host: `localhost.evil.example:${dev.url.port}` },
  ]
  for (const path of ['/dev/status', '/threads', '/'])
    for (const headers of foreign) expect((await dev.call(path, { headers })).status).toBe(403)
  for (const path of ['/dev/status', '/threads'])
    expect((await dev.call(path, { headers: { authorization: 'Bearer none-of-these-tokens' } })).status).toBe(
      401,
    )
  for (const path of ['/dev/kill-worker', '/dev/deploy'])
    expect((await dev.call(path, { method: 'POST', headers: { authorization: '' } })).status).toBe(401)
  expect((await dev.call('/dev/status', { headers: { host: `localhost:${dev.url.port}` } })).status).toBe(200)
})

test('a change is a deploy under an open request, and a change that cannot be loaded costs nothing', async () => {
  const message = 'refund order A-17, 20 euros'
  await dev.call('/threads', { body: { agent: 'support', id: 'refund', message } })
  const [request] = await until('the request', async () => {
    const { pending } = await snapshotOf('refund')
    return pending.length > 0 && pending
  })
  expect(request).toMatchObject({ toolName: 'refund', args: { order: 'A-17', euros: 20 } })
  await edit((text) => `${text}\nconst broken = = 1\n`)
  const line = (await readFile(join(project, 'agents.ts'), 'utf8')).split('\n').length - 1
  const problem = `agents.ts:${line}: Expression expected`
  await until('the problem', async () => (await statusOf()).problem === problem)
  expect((await statusOf()).worker).toMatchObject({ state: 'running', deploys: 0 })
  expect(dev.shown()).toContain(problem)
  await edit((text) => text.replace('\nconst broken = = 1\n', '').replace('are refunded for', 'go back for'))
  await until('the deploy', async () => (await statusOf()).worker.deploys === 1)
  expect(await statusOf()).toMatchObject({ problem: null, worker: { state: 'running' } })
  const answer = { approved: true }
  expect((await dev.call(`/threads/refund/requests/${request?.id}`, { body: answer })).status).toBeLessThan(
    300,
  )
  await idle('refund', '20 euros go back for A-17.')
  expect((await dev.call('/dev/deploy', { method: 'POST' })).status).toBe(202)
  await until('the second deploy', async () => (await statusOf()).worker.deploys === 2)
})

test('a worker that is killed while it writes is replaced, and the answer is whole, once', async () => {
  await dev.call('/threads', { body: { agent: 'support', id: 'story', message: 'tell me a long story' } })
  await seen('/threads/story/events', 'killed')
  const { pid } = (await statusOf()).worker
  const killed = Date.now()
  expect((await dev.call('/dev/kill-worker', { method: 'POST' })).status).toBe(202)
  await idle('story', 'That is the end of the story.')
  expect(Date.now() - killed).toBeLessThan(100_000)
  expect((await statusOf()).worker.pid).not.toBe(pid)
  const { json } = await dev.call('/threads/story/messages')
  expect(JSON.stringify(json).split('That is the end of the story.')).toHaveLength(2)
})

test('a second Ctrl-C ends at once, while a tool is in the middle of its work, and leaves nothing', async () => {
  await edit((text) =>
    text
      .replace(
        'export const support',
        `const slow = defineTool({ description: 'Takes its time.', execute: () => new Promise((end) => setTimeout(end, 60_000)) })\n\nexport const support`,
      )
      .replace('tools: { ', 'tools: { slow, '),
  )
  const { deploys } = (await statusOf()).worker
  await until('the deploy', async () => (await statusOf()).worker.deploys > deploys)
  await dev.call('/threads', { body: { agent: 'support', id: 'slow', message: 'slow' } })
  await until('the tool', async () => JSON.stringify(await snapshotOf('slow')).includes('"doing":"tool'))
  const before = children()
  expect(before.length).toBeGreaterThanOrEqual(3)
  const ended = once(dev.child, 'exit')
  dev.child.kill('SIGINT')
  // It waits for the tool.
  await new Promise((resolve) => setTimeout(resolve, 500))
  expect(dev.child.exitCode).toBeNull()
  const second = Date.now()
  dev.child.kill('SIGINT')
  expect(await ended).toEqual([130, null])
  // Long before the tool has ended.
  expect(Date.now() - second).toBeLessThan(30_000)
  await until('the end of all', () => !before.some(isAlive), 20_000)
  dev = await startDev(project)
})

test('agents outside of the folder are watched, too', async () => {
  const elsewhere = await initLinked(place.folder, 'elsewhere')
  await mkdir(join(place.folder, 'empty'))
  const other = await startDev(join(place.folder, 'empty'), [COMMAND, 'dev', '../elsewhere/agents.ts'])
  const deploys = async (): Promise<number> =>
    ((await other.call('/dev/status')).json as Status).worker.deploys
  expect(await deploys()).toBe(0)
  const file = join(elsewhere, 'agents.ts')
  await writeFile(file, `${await readFile(file, 'utf8')}\n// Changed.\n`)
  await until('the deploy', async () => (await deploys()) === 1)
  const ended = once(other.child, 'exit')
  other.child.stdin?.write('q')
  expect((await ended)[0]).toBe(0)
})

test('q ends every process, and kill -9 of dev leaves none', async () => {
  const second = await run(project, [COMMAND, 'dev'])
  expect(second).toMatchObject({
    code: 1,
    output: expect.stringContaining('Expected no other everthread dev'),
  })
  const before = children()
  expect(before.length).toBeGreaterThanOrEqual(3)
  dev.child.stdin?.write('q')
  expect((await once(dev.child, 'exit'))[0]).toBe(0)
  expect(before.filter(isAlive)).toEqual([])
  dev = await startDev(project)
  // What was said is still there.
  await idle('hello', 'I am the practice model')
  const again = children()
  expect(again.length).toBeGreaterThanOrEqual(3)
  dev.child.kill('SIGKILL')
  await until('the end of all', async () => !again.some(isAlive))
})
