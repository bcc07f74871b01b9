/** The example with Next in a real browser: built and started as in production, with a login by cookie and `useChat`. */
import { spawn, spawnSync } from 'node:child_process'
import type { ChildProcess } from 'node:child_process'
import { once } from 'node:events'
import { fileURLToPath } from 'node:url'

import type { Browser, BrowserContext, Page } from 'playwright-core'
import { afterAll, beforeAll, expect, inject, test } from 'vitest'

import { installLockedPackages } from '../../scripts/locked-packages.js'
import { createFixture } from '../integration/worker/fixture.js'
import type { Fixture } from '../integration/worker/fixture.js'
import { freePort } from '../support/free-port.js'
import { until } from '../support/until.js'
import { tale } from './page-desk.js'
import { launchChromium, pressStop } from './place.js'
import { shownMessages } from './shown-messages.js'

const FOLDER = fileURLToPath(new URL('../../examples/next/', import.meta.url))
const NEXT = 'node_modules/next/dist/bin/next'
/** Nothing of it may call its makers; tests have another NODE_ENV, of which it would make a build for development. */
const ENV = { ...process.env, NEXT_TELEMETRY_DISABLED: '1', NODE_ENV: 'production' as const }

let fixture: Fixture
let browser: Browser
let next: ChildProcess
let url: string

/** What it said is in the error. */
async function build(): Promise<void> {
  const child = spawn(process.execPath, [NEXT, 'build'], { cwd: FOLDER, env: ENV })
  let words = ''
  for (const stream of [child.stdout, child.stderr])
    stream.on('data', (part: Buffer) => (words += part.toString()))
  const [code] = (await once(child, 'close')) as [number]
  if (code !== 0) throw new Error(`Expected \`next build\` to end well, got ${code}: ${words}`)
}

beforeAll(async () => {
  installLockedPackages(FOLDER)
  const [made] = await Promise.all([createFixture({ desk: 'page' }), build()])
  fixture = made
  await fixture.startWorker()
  const port = await freePort()
  url = `http://127.0.0.1:${port}`
  const { database, blobs, secretKey } = fixture.store
  next = spawn(process.execPath, [NEXT, 'start', '--port', `${port}`, '--hostname', '127.0.0.1'], {
    cwd: FOLDER,
    stdio: ['ignore', 'inherit', 'inherit'],
    env: {
      ...ENV,
      ...{ TEMPORAL_ADDRESS: inject('devServerAddress'), EVERTHREAD_TASK_QUEUE: fixture.taskQueue },
      ...{ EVERTHREAD_DATABASE_URL: database, EVERTHREAD_BLOBS_URL: blobs },
      ...{ EVERTHREAD_SECRET_KEY: secretKey, COOKIE_SECRET: 'n'.repeat(32), CHAT_AGENT: 'desk' },
    },
  })
  await until('Next', () =>
    fetch(url).then(
      ({ ok }) => ok,
      () => false,
    ),
  )
  browser = await launchChromium()
  // Half a minute of a quiet machine, and minutes where six programs use the two cores.
}, 600_000)
afterAll(async () => {
  await browser?.close()
  next?.kill()
  await fixture?.close()
})

interface Chat {
  readonly context: BrowserContext
  readonly page: Page
  readonly id: string
}

/** A chat of a user who has logged in. */
async function open(user: string): Promise<Chat> {
  const context = await browser.newContext()
  context.setDefaultTimeout(60_000)
  const page = await context.newPage()
  await page.goto(url)
  await page.getByLabel('Name').fill(user)
  await page.getByLabel('Password').fill('tent')
  await page.getByRole('button', { name: 'Log in' }).click()
  await page.getByRole('button', { name: 'New chat' }).click()
  await page.waitForURL('**/chat/*')
  await page.getByLabel('Message').waitFor()
  return { context, page, id: page.url().split('/').at(-1) ?? '' }
}

async function say(page: Page, text: string): Promise<void> {
  await page.getByLabel('Message').fill(text)
  await page.getByRole('button', { name: 'Send' }).click()
}

/** What the page shows is what the store has, by ids. */
async function expectTranscript({ page, id }: Chat): Promise<void> {
  await page.locator('main[data-status=ready]').waitFor()
  const { messages } = await fixture.threads.get(id).uiMessages()
  const stored = messages.map((message) => [
    ...[message.id, message.role],
    message.parts.flatMap((part) => {
      if (part.type === 'text') return [part.text]
      return part.type === 'dynamic-tool' ? [`${part.toolName}: ${part.state}`] : []
    }),
  ])
  await expect.poll(() => shownMessages(page), { timeout: 60_000 }).toEqual(stored)
}

test('its types are right', () => {
  const tsc = fileURLToPath(new URL('../../node_modules/.bin/tsc', import.meta.url))
  expect(spawnSync(tsc, { cwd: FOLDER, encoding: 'utf8' }).stdout).toBe('')
})

test('who is not logged in, or gives a wrong password, gets no chat, and nobody sees that of another', async () => {
  const context = await browser.newContext()
  context.setDefaultTimeout(60_000)
  const page = await context.newPage()
  await page.goto(url)
  await page.getByLabel('Name').fill('ann')
  await page.getByLabel('Password').fill('guess')
  await page.getByRole('button', { name: 'Log in' }).click()
  await page.getByRole('alert').filter({ hasText: 'is wrong' }).waitFor()
  const ann = await open('ann')
  await page.goto(`${url}/chat/${ann.id}`)
  await page.getByLabel('Password').waitFor()
  const ben = await open('ben')
  expect((await ben.page.goto(`${url}/chat/${ann.id}`))?.status()).toBe(404)
  for (const { context: one } of [ann, ben]) await one.close()
  await context.close()
})

test('a person asks, sees the answer come, allows a call, and reads all again after a reload', async () => {
  const chat = await open('ann')
  const { page } = chat
  await say(page, 'tell 400')
  await page.getByText('word5').waitFor()
  expect(await page.getByText('word400').count()).toBe(0)
  await page.getByText(tale(400), { exact: true }).waitFor()
  await expectTranscript(chat)
  await say(page, 'please refund')
  await page.getByRole('button', { name: 'Allow' }).click()
  await page.getByText('All is').waitFor()
  await expectTranscript(chat)
  await page.reload()
  await page.getByText('All is').waitFor()
  await expectTranscript(chat)
  await chat.context.close()
})

test('a reload in the middle of an answer goes on with it, and a stop ends the run', async () => {
  const chat = await open('ann')
  const { page, id } = chat
  await say(page, 'tell 4000')
  await page.getByText('word5').waitFor()
  await page.reload()
  await page.getByText('word5').waitFor()
  await pressStop(page)
  await expect
    .poll(async () => (await fixture.threads.get(id).messages()).messages.at(-1), { timeout: 60_000 })
    .toMatchObject({ role: 'assistant', status: 'interrupted' })
  await expectTranscript(chat)
  await chat.context.close()
})
