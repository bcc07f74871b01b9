import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { fileURLToPath } from 'node:url'
import { Client, Connection } from '@temporalio/client'
import { NativeConnection } from '@temporalio/worker'
import { afterAll, beforeAll, expect, inject, test } from 'vitest'
import { desk } from '../../../examples/support-desk/registry.js'
import { anyFact } from '../../support/any-fact.js'
import { ThreadClient } from '../../../src/client/index.js'
import { recordError } from '../../../src/store/errors.js'
import { appendEvents } from '../../../src/store/events.js'
import { shareStore } from '../../../src/store/open-store.js'
import { scriptedModel } from '../../../src/testing/index.js'
import { scriptedRegistry } from '../../../src/testing/scripted-registry.js'
import { createWorker } from '../../../src/worker/index.js'
import { until } from '../../support/until.js'
import { openCliPlace, openScreen } from './cli-place.js'
import type { CliPlace } from './cli-place.js'

const HOOKS = new URL('../../store/processes/resolve-typescript.ts', import.meta.url).href
const EVERTHREAD = fileURLToPath(new URL('../../../src/cli/everthread.ts', import.meta.url))

let place: CliPlace

beforeAll(async () => {
  place = await openCliPlace()
})
afterAll(() => place.close())

test('setup makes everything ready, and again', async () => {
  const screen = openScreen()
  expect(await screen.run('setup')).toBe(0)
  expect(await screen.run('setup')).toBe(0)
  expect(screen.shown.match(/search attributes: ready/g)).toHaveLength(2)
  const ids = [...screen.shown.matchAll(/store: (\w{12}), task queue "/g)].map(([, id]) => id)
  expect(new Set(ids).size).toBe(1)
  expect(await screen.run('setup', '--new-store-id')).toBe(0)
  expect(screen.shown).not.toMatch(new RegExp(`${ids[0]}[^]*${ids[0]}[^]*${ids[0]}`))
  screen.close()
})

test('inspect shows what a thread said and waits for', async () => {
  const chat = scriptedModel([
    { text: 'One moment.', toolCalls: [{ name: 'refund_order', args: { orderId: 'A-17', euros: 180 } }] },
  ])
  const connection = await NativeConnection.connect({ address: inject('devServerAddress') })
  const workflowBundle = { codePath: inject('workflowBundlePath') }
  const registry = scriptedRegistry(desk, { models: { chat } })
  const worker = await createWorker({ registry, connection, workflowBundle })
  const client = new Client({ connection: Connection.lazy({ address: inject('devServerAddress') }) })
  const threads = new ThreadClient({ client })
  const screen = openScreen()
  try {
    await worker.runUntil(async () => {
      const thread = await threads.create({
        agent: 'support',
        id: `inspected-${Date.now()}`,
        message: 'Refund A-17.\u001b[31m',
      })
      await thread.waitUntilIdle()
      expect(await screen.run('inspect', thread.threadId)).toBe(0)
    })
    for (const words of ['waiting_permission', 'approval of refund_order', 'Refund A-17.', 'One moment.'])
      expect(screen.shown).toContain(words)
    expect(screen.shown).toContain('→ refund_order({"orderId":"A-17","euros":180})')
    // What a person or a model wrote must not steer the terminal.
    expect(screen.shown).not.toContain('\u001b')
  } finally {
    screen.close()
    await threads.close()
    await connection.close()
  }
})

test('E1 inspect shows what a provider said and a stack of a tool', async () => {
  const store = await shareStore()
  const client = new Client({ connection: Connection.lazy({ address: inject('devServerAddress') }) })
  const threads = new ThreadClient({ client })
  const { threadId } = await threads.create({ agent: 'support', id: `failed-${Date.now()}` })
  const said = {
    id: `${threadId}:1`,
    threadId,
    at: 5_000_000,
    type: 'bad_request',
    message: 'No such model.',
  }
  const stack = 'TypeError: no\n    at refund (desk.ts:7:3)'
  const failed = anyFact('model.failed', { model: 'chat', error: 'bad_request', errorId: said.id })
  await store.write(async (tx) => {
    await recordError(tx, { ...said, stack })
    await appendEvents(tx, { threadId, events: [failed], now: 5_000_000 })
  })
  const screen = openScreen()
  expect(await screen.run('inspect', threadId, '--events')).toBe(0)
  const [summary = '', events = ''] = screen.shown.split('Transcript')
  expect(summary).toContain('Used so far\n  0 messages, 0 runs, 0 steps, 0 tool calls\n  0 requests')
  for (const shown of [summary, events]) {
    expect(shown).toContain('bad_request')
    expect(shown).toContain('No such model.')
    expect(shown).toContain('at refund (desk.ts:7:3)')
  }
  screen.close()
  await threads.close()
  await store.close()
})

test('a thread that is not there is one sentence', async () => {
  const screen = openScreen()
  expect(await screen.run('inspect', 'nothing')).toBe(1)
  expect(screen.shown).toContain('Expected a thread "nothing"')
  screen.close()
})

test('secrets are sealed anew with the first key', async () => {
  const old = process.env['EVERTHREAD_SECRET_KEY'] ?? ''
  const client = new Client({ connection: Connection.lazy({ address: inject('devServerAddress') }) })
  const threads = new ThreadClient({ client })
  await threads.create({ agent: 'support', env: { API_KEY: 'sealed-value' } })
  await threads.close()
  process.env['EVERTHREAD_SECRET_KEY'] = `${Buffer.alloc(32, 8).toString('base64')},${old}`
  const screen = openScreen()
  expect(await screen.run('rotate-secrets')).toBe(0)
  expect(screen.shown).toContain('secrets: 1 sealed anew')
  screen.close()
  process.env['EVERTHREAD_SECRET_KEY'] = Buffer.alloc(32, 8).toString('base64')
  const again = openScreen()
  expect(await again.run('rotate-secrets')).toBe(0)
  expect(again.shown).toContain('secrets: 0 sealed anew')
  again.close()
})

test('a chat without a worker says so, and can be left', async () => {
  const screen = openScreen()
  const ended = screen.run('chat', 'support')
  await until('the question', async () => screen.shown.includes('you: '))
  screen.type('Is anybody there?')
  await until('the sentence', async () => screen.shown.includes('No worker has answered yet'))
  screen.interrupt()
  screen.interrupt()
  const again = () => screen.shown.split('you: ').length > 2
  await until('the next question', async () => again())
  screen.end()
  expect(await ended).toBe(0)
  screen.close()
})

test('the version is that of the package', async () => {
  const screen = openScreen()
  expect(await screen.run('--version')).toBe(0)
  expect(screen.shown).toMatch(/^\d+\.\d+\.\d+\S*\n/)
  expect(await screen.run('help')).toBe(0)
  expect(screen.shown).toContain('everthread --version')
  screen.close()
})

test('a pager that was left ends a command quietly', async () => {
  const child = spawn(process.execPath, ['--import', HOOKS, EVERTHREAD, 'help'], { stdio: 'pipe' })
  // It has nothing on the screen yet.
  child.stdout.destroy()
  let problems = ''
  child.stderr.on('data', (chunk: Buffer) => (problems += chunk.toString()))
  expect(await once(child, 'close')).toEqual([0, null])
  expect(problems).toBe('')
})

test.each([['--reopen'], ['--fix', '--emptied']])('doctor %s %s lacks what it needs', async (...flags) => {
  const screen = openScreen()
  expect(await screen.run('doctor', ...flags)).toBe(2)
  expect(screen.shown).toContain('Expected --fix with --reopen, and --reopen with --emptied')
  screen.close()
})

test('what cannot be understood shows the usage', async () => {
  const screen = openScreen()
  expect(await screen.run('inspekt')).toBe(2)
  expect(await screen.run('inspect')).toBe(2)
  expect(await screen.run('help')).toBe(0)
  expect(await screen.run('inspect', '--help')).toBe(0)
  expect(await screen.run('-h')).toBe(0)
  expect(screen.shown).toContain('everthread inspect <thread> [--events] [--follow]')
  screen.close()
})
