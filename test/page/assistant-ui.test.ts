/** The example with assistant-ui in a real browser: its own packages over AG-UI, with a visitor's short-lived tokens. */
import { spawnSync } from 'node:child_process'
import { fileURLToPath } from 'node:url'

import { serve } from '@hono/node-server'
import type { Browser, BrowserContext, Page } from 'playwright-core'
import { afterAll, beforeAll, expect, test } from 'vitest'

import { createAssistantApp } from '../../examples/assistant-ui/assistant-app.js'
import type { Message } from '../../src/protocol/message.js'
import { createFixture } from '../integration/worker/fixture.js'
import type { Fixture } from '../integration/worker/fixture.js'
import { freePort } from '../support/free-port.js'
import { tale } from './page-desk.js'
import { launchChromium, pressStop } from './place.js'
import { shownMessages } from './shown-messages.js'

let fixture: Fixture
let browser: Browser
let server: ReturnType<typeof serve>
let url: string

beforeAll(async () => {
  fixture = await createFixture({ desk: 'page' })
  await fixture.startWorker()
  const { fetch } = await createAssistantApp({
    ...{ threads: fixture.threads as never, agent: 'desk', secret: 'a'.repeat(32) },
  })
  const port = await freePort()
  server = serve({ fetch, port, hostname: '127.0.0.1' })
  url = `http://127.0.0.1:${port}/`
  browser = await launchChromium()
})
afterAll(async () => {
  await browser.close()
  server.close()
  await fixture.close()
})

interface Tab {
  readonly context: BrowserContext
  readonly page: Page
  readonly threadId: string
  /** What went wrong in it. */
  readonly wrong: readonly string[]
}

/** A new visitor, who has a thread of their own. */
async function visit(): Promise<Tab> {
  const context = await browser.newContext()
  context.setDefaultTimeout(60_000)
  const page = await context.newPage()
  const wrong: string[] = []
  page.on('pageerror', (error) => wrong.push(error.message))
  page.on('console', (message) => {
    if (message.type() === 'error') wrong.push(message.text())
  })
  const visited = page.waitForResponse('**/visit')
  await page.goto(url)
  const { threadId } = (await (await visited).json()) as { readonly threadId: string }
  await page.getByLabel('Message').waitFor()
  return { context, page, threadId, wrong }
}

async function say(page: Page, text: string): Promise<void> {
  await page.getByLabel('Message').fill(text)
  await page.getByRole('button', { name: 'Send' }).click()
}

/** What a page shows that has what the store has: a result stands with its call. */
function expected(messages: readonly Message[]) {
  const results = new Map(messages.map(({ tool_call_id: id, content }) => [id, content]))
  return messages
    .filter(({ role }) => role !== 'tool')
    .map(({ id, role, content, tool_calls: calls }) => [
      ...[id, role],
      [
        ...((content ?? '') === '' ? [] : [content]),
        ...((calls === null ? [] : JSON.parse(calls)) as readonly Call[]).map(
          (call) => `${call.function.name}: ${JSON.stringify(results.get(call.id))}`,
        ),
      ],
    ])
}

interface Call {
  readonly id: string
  readonly function: { readonly name: string }
}

async function expectTranscript({ page, threadId, wrong }: Tab): Promise<void> {
  const thread = fixture.threads.get(threadId)
  // Text is shown before it is stored.
  await thread.waitUntilIdle()
  const { messages } = await thread.messages({ limit: 1_000 })
  await expect.poll(() => shownMessages(page), { timeout: 60_000 }).toEqual(expected(messages))
  expect(wrong).toEqual([])
}

test('its types are right', () => {
  const root = fileURLToPath(new URL('../../', import.meta.url))
  const { stdout } = spawnSync('node_modules/.bin/tsc', ['-p', 'examples/assistant-ui/page'], {
    ...{ cwd: root, encoding: 'utf8' },
  })
  expect(stdout).toBe('')
})

test('a person asks, sees the answer come, and reads it again after a reload', async () => {
  const tab = await visit()
  const { page } = tab
  await say(page, 'tell 400')
  await page.getByText('word5').waitFor()
  expect(await page.getByText('word400').count()).toBe(0)
  await page.getByText(tale(400), { exact: true }).waitFor()
  await say(page, 'tell 3')
  await page.getByText(tale(3), { exact: true }).waitFor()
  await expectTranscript(tab)
  await page.reload()
  await page.getByText(tale(3), { exact: true }).waitFor()
  await expectTranscript(tab)
  await tab.context.close()
})

test('a call is allowed after a reload, and the run goes on', async () => {
  const tab = await visit()
  const { page } = tab
  await say(page, 'please refund')
  await page.getByRole('button', { name: 'Allow' }).waitFor()
  await page.reload()
  await page.getByRole('button', { name: 'Allow' }).click()
  await page.getByText('All is').waitFor()
  await expectTranscript(tab)
  await say(page, 'please refund')
  await page.getByRole('button', { name: 'Deny' }).click()
  await expect.poll(() => page.getByText('All is').count()).toBe(2)
  await expectTranscript(tab)
  await tab.context.close()
})

test('a reload in the middle of an answer goes on with it, and a stop ends the run', async () => {
  const tab = await visit()
  const { page, threadId } = tab
  await say(page, 'tell 4000')
  await page.getByText('word5').waitFor()
  await page.reload()
  await page.getByText('word5').waitFor()
  await pressStop(page)
  await expect
    .poll(async () => (await fixture.threads.get(threadId).messages()).messages.at(-1), { timeout: 60_000 })
    .toMatchObject({ role: 'assistant', status: 'interrupted' })
  await expectTranscript(tab)
  await say(page, 'tell 4')
  await page.getByText(tale(4), { exact: true }).waitFor()
  await expectTranscript(tab)
  await tab.context.close()
})
