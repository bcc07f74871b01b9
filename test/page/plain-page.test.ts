/** The example with EventSource in a real browser: a page without a framework, a visitor's cookie, and tokens that end. */
import { serve } from '@hono/node-server'
import type { Browser, BrowserContext, Page } from 'playwright-core'
import { afterAll, beforeAll, expect, test } from 'vitest'

import { createPageApp } from '../../examples/plain-page/page-app.js'
import { createFixture } from '../integration/worker/fixture.js'
import type { Fixture } from '../integration/worker/fixture.js'
import { freePort } from '../support/free-port.js'
import { tale } from './page-desk.js'
import { launchChromium, pressStop } from './place.js'

/** Shorter than the longest answer below. */
const TOKEN_SECONDS = 2

let fixture: Fixture
let browser: Browser
let server: ReturnType<typeof serve>
let url: string

beforeAll(async () => {
  fixture = await createFixture({ desk: 'page' })
  await fixture.startWorker()
  const { fetch } = createPageApp({
    ...{ threads: fixture.threads as never, agent: 'desk', secret: 'p'.repeat(32) },
    tokenSeconds: TOKEN_SECONDS,
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

/** A visitor; each page of one context is a tab. */
async function visitor(): Promise<BrowserContext> {
  const context = await browser.newContext()
  context.setDefaultTimeout(60_000)
  return context
}

async function tabOf(context: BrowserContext): Promise<Page> {
  const page = await context.newPage()
  await page.goto(url)
  await page.getByRole('status').filter({ hasText: /^$/ }).waitFor({ state: 'attached' })
  return page
}

async function say(page: Page, text: string): Promise<void> {
  await page.getByLabel('Message').fill(text)
  await page.getByLabel('Message').press('Enter')
}

const shown = (page: Page): Promise<readonly string[]> => page.locator('main p').allTextContents()

test('an answer that outlives its token streams on with the next one, and no word is lost or doubled', async () => {
  const context = await visitor()
  const page = await tabOf(context)
  let tokens = 0
  page.on('request', (request) => (tokens += Number(request.url().endsWith('/visit'))))
  await say(page, 'tell 120')
  await page.locator('main p.assistant', { hasText: 'word120' }).waitFor()
  expect(await shown(page)).toEqual(['tell 120', tale(120)])
  expect(tokens).toBeGreaterThan(0)
  await page.reload()
  await expect.poll(() => shown(page)).toEqual(['tell 120', tale(120)])
  expect(await shown(await tabOf(await visitor()))).toEqual([])
  await context.close()
})

test('a call is allowed in one of two tabs, and an answer is stopped', async () => {
  const context = await visitor()
  const [first, second] = [await tabOf(context), await tabOf(context)]
  await say(first, 'please refund')
  await second.getByRole('button', { name: 'Allow' }).click()
  await first.getByText('All is **done**.').waitFor()
  await expect.poll(() => first.getByRole('button', { name: 'Allow' }).count()).toBe(0)
  await say(first, 'tell 400')
  await second.getByText('word5').waitFor()
  await pressStop(second)
  await first.locator('main p.assistant', { hasText: 'word5' }).waitFor()
  const answer = (await shown(first)).at(-1) ?? ''
  expect(tale(400).startsWith(answer.trimEnd())).toBe(true)
  await context.close()
})

test('a message that is sent with a token that has just ended is not lost', async () => {
  const context = await visitor()
  const page = await tabOf(context)
  await say(page, 'tell 3')
  await page.locator('main p.assistant', { hasText: 'word3' }).waitFor()
  let refused = false
  page.on(
    'response',
    (response) => (refused ||= response.status() === 401 && response.url().endsWith('/messages')),
  )
  // Nobody gets a token before the message is refused.
  await page.route('**/visit', (route) => (refused ? route.continue() : route.abort()))
  await page.getByRole('status').filter({ hasText: 'connecting' }).waitFor()
  await say(page, 'tell 4')
  await page.locator('main p.assistant', { hasText: 'word4' }).waitFor()
  expect(refused).toBe(true)
  expect(await shown(page)).toEqual(['tell 3', tale(3), 'tell 4', tale(4)])
  await context.close()
})
