import { randomBytes } from 'node:crypto'
import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'

import { TestWorkflowEnvironment } from '@temporalio/testing'
import { afterAll, beforeAll, expect, onTestFinished, test, vi } from 'vitest'

import type { Registry } from '../../src/index.js'
import { createTestEnvironment, scriptedModel } from '../../src/testing/index.js'
import type { ScriptedAnswer, ScriptedModel, TestEnvironment } from '../../src/testing/index.js'
import { startDevServer } from '../support/servers.js'
import type { DevServer } from '../support/servers.js'
import { ROOT, writePage } from './pages.js'

/** The code of pages as a reader has it, with scripted models: `types.test.ts` has what cannot run here. */
const FOLDER = join(ROOT, 'test-results/docs-runs')

type Module = Readonly<Record<string, unknown>>

let devServer: DevServer
let server: TestWorkflowEnvironment
beforeAll(async () => {
  devServer = await startDevServer()
  server = await TestWorkflowEnvironment.createFromExistingServer({ address: devServer.address })
})
afterAll(async () => {
  await server.teardown()
  await devServer.stop()
})

interface Page {
  /** Runs a file of the page, with the environment of a service. */
  load(file: string): Promise<Module>
  /** A worker with the registry that a file of the page exports. */
  work(file: string, name: string, chat: ScriptedModel): Promise<TestEnvironment>
}

async function open(page: string): Promise<Page> {
  const folder = await writePage(page, FOLDER)
  const load = async (file: string): Promise<Module> => (await import(join(folder, file))) as Module
  return {
    load,
    async work(file, name, chat) {
      const { [name]: registry } = await load(file)
      const place = await mkdtemp(join(tmpdir(), 'everthread-docs-'))
      const store = { database: join(place, 'threads.db'), blobs: join(place, 'blobs') }
      const secretKey = randomBytes(32).toString('base64')
      const { models: named } = (registry as Registry).names()
      const models = Object.fromEntries(named.map((model) => [model, chat]))
      // The budget of a page is of money, and a scripted model has no price.
      const prices = Object.fromEntries(PRICED.map((id) => [id, { inputPrice: 1, outputPrice: 1 }]))
      const env = await createTestEnvironment({
        ...{ registry: registry as Registry, models, server, store, secretKey, prices },
      })
      vi.stubEnv('TEMPORAL_ADDRESS', devServer.address)
      vi.stubEnv('EVERTHREAD_TASK_QUEUE', env.taskQueue)
      vi.stubEnv('EVERTHREAD_DATABASE_URL', `file:${store.database}`)
      vi.stubEnv('EVERTHREAD_BLOBS_URL', `file:${store.blobs}`)
      vi.stubEnv('EVERTHREAD_SECRET_KEY', secretKey)
      onTestFinished(async () => {
        vi.unstubAllEnvs()
        await env.close()
        await rm(place, { recursive: true, force: true })
      })
      return env
    },
  }
}

const PRICED = ['gpt-5', 'gpt-5-mini']
const calls = (name: string, args: unknown) => ({ toolCalls: [{ name, args }] })

test('README: the service talks to its agent', async () => {
  const page = await open('README.md')
  const chat = scriptedModel([{ text: 'It is on its way.' }, { text: 'That one, too.' }])
  const env = await page.work('agents.ts', 'shop', chat)
  await page.load('service.ts')
  const { messages } = await env.threads.get('ticket-4711').messages()
  expect(messages.map(({ content }) => content)).toContain('That one, too.')
})

test('agent: a run has its typed output, a subagent answers, and billing hands back', async () => {
  const page = await open('docs/guide/agent.md')
  const answer = { answer: 'It was sent.', orders: ['A-17'] }
  const says: Record<string, ScriptedAnswer[]> = {
    support_prompt: [
      calls('look_up_order', { order: 'A-17' }),
      calls('researcher', { message: 'How is a tent pitched?' }),
      calls('billing', {}),
      { text: JSON.stringify(answer) },
    ],
    researcher_prompt: [{ text: 'With pegs.' }],
    billing_prompt: [calls('support', {})],
  }
  const chat = scriptedModel(({ prompt }) => says[prompt ?? '']?.shift() ?? { text: '' })
  const env = await page.work('shop.ts', 'shop', chat)
  const logged = vi.spyOn(console, 'log').mockImplementation(() => undefined)
  await page.load('service.ts')
  expect(logged).toHaveBeenCalledWith(1)
  logged.mockRestore()
  expect(says).toEqual({ support_prompt: [], researcher_prompt: [], billing_prompt: [] })
  for await (const { threadId } of env.threads.list())
    expect((await env.threads.get(threadId).snapshot()).status).toMatch(/idle|completed/)
})

test('tools: a tool writes, queues and invokes', async () => {
  const page = await open('docs/guide/tools.md')
  const chat = scriptedModel([calls('write_report', {}), { text: 'Written.' }])
  const env = await page.work('agents.ts', 'support', chat)
  const thread = await env.threads.create({ agent: 'support', message: 'A report, please.' })
  expect((await thread.waitUntilIdle()).reply?.content).toBe('Written.')
  expect(await thread.statFile('/report.txt')).not.toBeNull()
  expect(chat.remaining).toBe(0)
})

test('approvals: a person approves, a webhook answers', async () => {
  const page = await open('docs/guide/approvals.md')
  const chat = scriptedModel([
    calls('refund_order', { orderId: 'A-17', euros: 80 }),
    calls('ask_warehouse', { question: 'Is there a pole?' }),
    ({ messages }) => ({ text: `They say: ${messages.at(-1)?.text}` }),
  ])
  const env = await page.work('agents.ts', 'shop', chat)
  const { refunded, asked } = await page.load('agents.ts')
  const thread = await env.threads.create({ agent: 'support', message: 'Refund A-17, please.' })
  expect((await thread.waitUntilIdle()).status).toBe('waiting_permission')
  await page.load('service.ts')
  expect((await thread.waitUntilIdle()).status).toBe('waiting_input')
  expect(refunded).toEqual(['A-17,80,true'])
  const { warehouseAnswers } = (await page.load('webhook.ts')) as {
    readonly warehouseAnswers: (threadId: string, requestId: string, text: string) => Promise<void>
  }
  const [{ threadId, requestId } = { threadId: '', requestId: '' }] = asked as {
    threadId: string
    requestId: string
  }[]
  await warehouseAnswers(threadId, requestId, 'Two in stock.')
  expect((await thread.waitUntilIdle()).reply?.content).toBe('They say: Two in stock.')
})

test('agents: two models end a session; a prompt is called as a tool; a thread is handed over', async () => {
  const page = await open('docs/guide/agents.md')
  const studio = await page.work(
    'studio.ts',
    'studio',
    scriptedModel(({ prompt }) =>
      prompt === 'asset_worker' ? { text: 'A tent.' } : calls('approve_asset', { summary: 'Good.' }),
    ),
  )
  const drawing = await studio.threads.create({ agent: 'asset_studio', message: 'Draw a tent.' })
  expect((await drawing.waitUntilIdle()).session).toMatchObject({ message: 'Good.' })
  const chat = scriptedModel([
    calls('summarize', { text: 'A long text.' }),
    { text: 'In short: long.' },
    calls('billing', {}),
    { text: 'Billing speaks.' },
  ])
  const library = await page.work('library.ts', 'library', chat)
  const thread = await library.threads.create({ agent: 'librarian', message: 'Summarize, then my bill.' })
  expect((await thread.waitUntilIdle()).reply?.content).toBe('Billing speaks.')
  expect((await thread.snapshot()).agent).toBe('billing')
})

test('subagents: a fan-out is answered once, the archivist starts by itself', async () => {
  const page = await open('docs/guide/subagents.md')
  const chat = scriptedModel(({ prompt, messages }) => {
    if (prompt !== 'editor_desk') return calls('deliver', { text: `About ${messages[0]?.text}.` })
    return messages.some(({ toolCalls }) => toolCalls?.[0]?.name === 'researcher')
      ? { text: 'An article.' }
      : calls('researcher', { items: [{ topic: 'rain' }, { topic: 'snow' }] })
  })
  const env = await page.work('newsroom.ts', 'newsroom', chat)
  await page.load('service.ts')
  const agents: string[] = []
  for await (const { agent, parent } of env.threads.list()) if (parent !== null) agents.push(agent)
  expect(agents.toSorted()).toEqual(['archivist', 'researcher', 'researcher'])
})

test('hooks: a card number is masked, and a closed desk asks no model', async () => {
  const page = await open('docs/guide/hooks.md')
  const env = await page.work('agents.ts', 'support', scriptedModel([{ text: 'I see 4111111111111111.' }]))
  const thread = await env.threads.create({ agent: 'support', message: 'My card is 4111111111111111.' })
  expect((await thread.waitUntilIdle()).reply?.content).toBe('I see [card number].')
})

test('effects: one is scheduled with the call', async () => {
  const page = await open('docs/guide/effects.md')
  const chat = scriptedModel([calls('close_case', { orderId: 'A-17' }), { text: 'Closed.' }])
  const env = await page.work('agents.ts', 'support', chat)
  const thread = await env.threads.create({ agent: 'support', message: 'That is all.' })
  await thread.waitUntilIdle()
  expect((await thread.snapshot()).effects).toMatchObject([{ name: 'ask_satisfaction' }])
})

test('variables: a blocked run goes on with the values', async () => {
  const page = await open('docs/guide/variables.md')
  const chat = scriptedModel([calls('send_mail', { text: 'The bread is ready.' }), { text: 'Sent.' }])
  await page.work('agents.ts', 'office', chat)
  const { reply } = await page.load('service.ts')
  expect(reply).toBe('Sent.')
  expect((await page.load('agents.ts'))['mails']).toEqual(['The bread is ready.,the value of MAIL_KEY'])
})

test('threads, events, HTTP: a service makes, follows and serves threads', async () => {
  const page = await open('docs/guide/threads.md')
  const chat = scriptedModel(() => ({ text: 'It is on its way.' }))
  const env = await page.work('agents.ts', 'support', chat)
  await page.load('service.ts')
  expect((await env.threads.get('ticket-17').snapshot()).status).toBe('terminated')

  const thread = await env.threads.create({ agent: 'support', message: 'And A-19?' })
  const { printRun } = (await (await open('docs/guide/events.md')).load('follow.ts')) as {
    readonly printRun: (threads: unknown, threadId: string) => Promise<string>
  }
  expect(await printRun(env.threads, thread.threadId)).toEqual(expect.any(String))

  vi.stubEnv('ACME_TOKEN', 'a-token-of-the-acme-company')
  const { startServer } = (await (await open('docs/guide/http.md')).load('server.ts')) as {
    readonly startServer: (port: number) => Promise<{ readonly url: string; close(): Promise<void> }>
  }
  const http = await startServer(0)
  const headers = { Authorization: 'Bearer a-token-of-the-acme-company' }
  const acme = await env.threads.create({ agent: 'support', account: 'acme' })
  const seen = await fetch(`${http.url}/threads/${acme.threadId}/api/seen/4`, { method: 'POST', headers })
  expect(await seen.json()).toEqual({ messages: 0 })
  await http.close()
})

/** In place of `node:test`: keeps the tests of a file. */
const COLLECTED = `export const collected: (() => Promise<void>)[] = []
export const test = (_title: string, run: () => Promise<void>): void => void collected.push(run)
`

test.each([
  ['README.md', 'support.test.ts'],
  ['docs/guide/testing.md', 'refund.test.ts'],
])(
  '%s: its test passes',
  async (page, file) => {
    // Node's runner would run it in a process of its own, which bundles the workflow code for seconds.
    const folder = await writePage(page, FOLDER, (code) => code.replace("'node:test'", "'./collected.js'"))
    await writeFile(join(folder, 'collected.ts'), COLLECTED)
    const { collected } = (await import(join(folder, 'collected.ts'))) as {
      readonly collected: (() => Promise<void>)[]
    }
    await import(join(folder, file))
    expect(collected).toHaveLength(1)
    for (const run of collected) await run()
  },
  60_000,
)
