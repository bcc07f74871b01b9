import { execFile } from 'node:child_process'
import { randomUUID } from 'node:crypto'
import { mkdtemp, readdir, readFile, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { Client, Connection } from '@temporalio/client'
import { afterAll, beforeAll, expect, inject, test } from 'vitest'
import { openStore } from '../../src/store/open-store.js'
import { recordedRuns, searchFor } from '../support/histories.js'

const HOOKS = new URL('../store/processes/resolve-typescript.ts', import.meta.url).href
const PROCESS = new URL('./canary/canary-process.ts', import.meta.url).pathname
const CANARY = 'canary-7f3a9c-sings'

const SECRET_KEY = Buffer.alloc(32, 9).toString('base64')

let folder: string
let place: { readonly database: string; readonly blobs: string; readonly secretKey: string }
let printed: string
const threadId = `canary-${randomUUID()}`

beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'everthread-canary-'))
  place = { database: join(folder, 'threads.db'), blobs: join(folder, 'blobs'), secretKey: SECRET_KEY }
  const given = {
    address: inject('devServerAddress'),
    taskQueue: threadId,
    threadId,
    store: place,
    codePath: inject('workflowBundlePath'),
    canary: CANARY,
    requests: join(folder, 'requests.json'),
  }
  const { stdout, stderr } = await promisify(execFile)(
    process.execPath,
    ['--import', HOOKS, PROCESS, JSON.stringify(given)],
    { timeout: 100_000 },
  )
  printed = stdout + stderr
})
afterAll(() => rm(folder, { recursive: true, force: true }))

test('T5 a secret is in no history, memo or search attribute', async () => {
  const connection = Connection.lazy({ address: inject('devServerAddress') })
  const client = new Client({ connection })
  const runs = await recordedRuns(client, threadId)
  const { bytes, leaks } = searchFor(CANARY, runs)
  expect(leaks).toEqual([])
  expect(bytes).toBeGreaterThan(5000)
  const { raw, memo, typedSearchAttributes } = await client.workflow.getHandle(threadId).describe()
  expect(JSON.stringify([raw, memo, typedSearchAttributes])).not.toContain(CANARY)
  await connection.close()
})

test('T5 a secret is in no row, log line or file of the store', async () => {
  const files = await readdir(folder, { recursive: true, withFileTypes: true })
  let bytes = 0
  for (const file of files.filter((entry) => entry.isFile())) {
    const content = await readFile(join(file.parentPath, file.name))
    bytes += content.length
    expect(content.includes(CANARY), `${file.name} holds the secret`).toBe(false)
    expect(content.includes(SECRET_KEY), `${file.name} holds the key`).toBe(false)
  }
  expect(bytes).toBeGreaterThan(50_000)
  expect(printed).not.toContain(CANARY)
  expect(printed).not.toContain(SECRET_KEY)
})

test('every careless thing was done, and shows the name only', async () => {
  const store = await openStore(place)
  const [errors, events] = await store.read((db) =>
    Promise.all([
      db.selectFrom('errors').select(['type', 'message', 'stack']).execute(),
      db.selectFrom('events').select('events').where('events', 'like', '%[secret CANARY]%').execute(),
    ]),
  )
  await store.close()
  const shown = errors.filter(({ message }) => message.includes('[secret CANARY]'))
  expect(new Set(shown.map(({ type }) => type))).toEqual(
    new Set(['hook.threw', 'Effect.threw', 'approval_check', 'tool.threw']),
  )
  expect(shown.every(({ stack }) => stack?.includes('[secret CANARY]'))).toBe(true)
  expect(events.some((row) => row.events.includes('"custom"'))).toBe(true)
})

test('T5 a secret is in no request to a model', async () => {
  const requests = await readFile(join(folder, 'requests.json'), 'utf8')
  const asked = JSON.parse(requests) as readonly unknown[]
  // Blocked until the secret came, then one step for each careless tool, a prompt in place, and the last words.
  expect(asked.length).toBeGreaterThanOrEqual(9)
  expect(requests).not.toContain(CANARY)
  expect(requests).toContain('You are careless. Use [secret CANARY].')
  expect(requests).toContain('You listen.')
})
