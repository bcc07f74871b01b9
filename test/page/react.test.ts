/** The hook of `everthread/react` in a real browser, on the HTTP server itself, while the worker and the server go. */
import { fileURLToPath } from 'node:url'

import { serve } from '@hono/node-server'
import { Hono } from 'hono'
import type { Browser, Page } from 'playwright-core'
import { afterAll, beforeAll, expect, test } from 'vitest'

import { createThreadApp } from '../../src/server/index.js'
import { createFixture } from '../integration/worker/fixture.js'
import type { Fixture } from '../integration/worker/fixture.js'
import type { WorkerProcess } from '../integration/worker/run-worker.js'
import { freePort } from '../support/free-port.js'
import { bundlePage } from './bundled-page.js'
import { tale } from './page-desk.js'
import { launchChromium, pressStop } from './place.js'

const ROOT = fileURLToPath(new URL('../../', import.meta.url))
const TOKEN = 'token-of-the-reader-of-a-page'

const PAGE = `
import { createElement as h } from 'react'
import { createRoot } from 'react-dom/client'
import { useThread } from '${ROOT}src/react/index.ts'

const threadId = location.pathname.slice(1)
function Conversation() {
  const thread = useThread({ url: location.origin, token: async () => '${TOKEN}', threadId })
  window.thread = thread
  return h('main', { 'data-status': thread.status, 'data-connection': thread.connection },
    thread.messages.map(({ id, role, text, state }) => h('p', { key: id, className: role, 'data-state': state }, text)),
    thread.requests.map(({ id, toolName }) =>
      h('button', { key: id, onClick: () => void thread.respond(id, { approved: true }).catch((error) => (window.refusal = error.code)) }, 'Allow ' + toolName)),
    h('button', { onClick: () => void thread.stop() }, 'Stop'))
}
createRoot(document.getElementById('root')).render(h(Conversation))
`

let fixture: Fixture
let worker: WorkerProcess
let browser: Browser
let server: ReturnType<typeof serve>
let url: string
let start: () => void

beforeAll(async () => {
  const script = await bundlePage('react', PAGE)
  fixture = await createFixture({ desk: 'page' })
  worker = await fixture.startWorker()
  const threads = createThreadApp({ client: fixture.threads, tokens: [{ token: TOKEN }], page: false })
  const app = new Hono()
  app.get('/page.js', ({ body }) => body(script, 200, { 'content-type': 'text/javascript' }))
  app.all('/threads/*', ({ req }) => threads.request(req.raw))
  app.get('/:id', ({ html }) => html('<div id="root"></div><script type="module" src="/page.js"></script>'))
  const port = await freePort()
  url = `http://127.0.0.1:${port}`
  start = () => void (server = serve({ fetch: app.fetch, port, hostname: '127.0.0.1' }))
  start()
  browser = await launchChromium()
})
afterAll(async () => {
  await browser.close()
  server.close()
  await fixture.close()
})

async function open(id: string): Promise<Page> {
  // A second page opens the same thread: it is created once.
  await fixture.create({ id, agent: 'desk' as 'clerk' })
  const context = await browser.newContext()
  context.setDefaultTimeout(60_000)
  const page = await context.newPage()
  await page.goto(`${url}/${id}`)
  await page.locator('main[data-connection=live]').waitFor()
  return page
}

const say = (page: Page, text: string): Promise<unknown> =>
  page.evaluate(`void window.thread.send(${JSON.stringify(text)})`)

const allow = (page: Page) => page.getByRole('button', { name: 'Allow refund' })

async function expectTranscript(page: Page, id: string, contents: readonly string[]): Promise<void> {
  const { messages } = await fixture.threads.get(id).messages()
  expect(messages.map(({ content }) => content)).toEqual(contents)
  await expect
    .poll(() => page.evaluate('window.thread.messages.map(({ text, state }) => [text, state])'))
    .toEqual(contents.map((text) => [text, 'stored']))
}

test('a person asks, two tabs allow a call, and the second one reads that it is too late', async () => {
  const first = await open('react-allows')
  const second = await open('react-allows')
  await say(first, 'please refund')
  await Promise.all([allow(first).waitFor(), allow(second).waitFor()])
  await Promise.all([allow(first).click(), allow(second).click()])
  await first.getByText('done').waitFor()
  await second.getByText('done').waitFor()
  await allow(second).waitFor({ state: 'detached' })
  const refusals = await Promise.all([first, second].map((page) => page.evaluate('window.refusal')))
  expect(refusals.filter((code) => code === 'request_answered').length).toBeLessThanOrEqual(1)
  expect(await fixture.threads.get('react-allows').decisions()).toMatchObject([{ decision: 'allowed' }])
})

test('what is sent is there at once, and a reload in mid-answer shows all of it once', async () => {
  const page = await open('react-reloads')
  await say(page, 'tell 200')
  await page.locator('p.user', { hasText: 'tell 200' }).waitFor()
  await page.locator('p[data-state=streaming]', { hasText: 'word8' }).waitFor()
  await page.reload()
  await page.locator('p.assistant[data-state=stored]', { hasText: 'word200' }).waitFor()
  await expectTranscript(page, 'react-reloads', ['tell 200', tale(200)])
})

test('a stop ends the answer', async () => {
  const page = await open('react-stops')
  await say(page, 'tell 400')
  await page.locator('p[data-state=streaming]', { hasText: 'word5' }).waitFor()
  await pressStop(page)
  await page.locator('main[data-status=stopped]').waitFor()
  const { messages } = await fixture.threads.get('react-stops').messages()
  expect(messages.at(-1)).toMatchObject({ status: 'interrupted' })
})

test('after kill -9 of the worker and the loss of the server in mid-answer, nothing is lost or doubled', async () => {
  const page = await open('react-killed')
  await say(page, 'tell 200')
  await page.getByText('word5').waitFor()
  await worker.kill()
  if ('closeAllConnections' in server) server.closeAllConnections()
  await new Promise((resolve) => server.close(resolve))
  await page.locator('main[data-connection=waiting]').waitFor()
  // While nobody answers: it is kept, and sent once.
  await say(page, 'tell 3')
  await page.locator('p[data-state=waiting]', { hasText: 'tell 3' }).waitFor()
  start()
  worker = await fixture.startWorker()
  // Stored: what streams of the first answer is the same text for a moment.
  await page.locator('p.assistant[data-state=stored]', { hasText: new RegExp(`^${tale(3)}$`) }).waitFor()
  await expectTranscript(page, 'react-killed', ['tell 200', tale(200), 'tell 3', tale(3)])
})
