/** The real `useChat` in a real browser, on a back end with a cookie, while the worker and the server are killed. */

import { serve } from '@hono/node-server'
import { Hono } from 'hono'
import type { Browser, Page } from 'playwright-core'
import { afterAll, beforeAll, expect, test } from 'vitest'

import { createThreadApp } from '../../src/server/index.js'
import { createFixture } from '../integration/worker/fixture.js'
import type { Fixture } from '../integration/worker/fixture.js'
import type { WorkerProcess } from '../integration/worker/run-worker.js'
import { freePort } from '../support/free-port.js'
import { until } from '../support/until.js'
import { bundlePage } from './bundled-page.js'
import { tale } from './page-desk.js'
import { launchChromium, pressStop } from './place.js'

const TOKEN = 'token-of-the-back-end-of-a-page'

/** As the guide has it. */
const PAGE = `
import { createElement as h } from 'react'
import { createRoot } from 'react-dom/client'
import { useChat } from '@ai-sdk/react'
import { DefaultChatTransport, lastAssistantMessageIsCompleteWithApprovalResponses } from 'ai'

const id = location.pathname.slice(1)
const api = '/threads/' + id + '/ui-messages'
const loaded = await (await fetch(api)).json()
const transport = new DefaultChatTransport({
  api,
  prepareSendMessagesRequest: ({ messages, trigger, body }) => ({ body: { ...body, trigger, messages: messages.slice(-1) } }),
  prepareReconnectToStreamRequest: () => ({ api: api + '/stream?after=' + loaded.cursor }),
})
function Part({ part, chat }) {
  if (part.type === 'text') return h('p', null, part.text)
  if (part.type !== 'dynamic-tool') return null
  if (part.state !== 'approval-requested') return h('p', null, part.toolName + ' ' + part.state)
  return h('button', { onClick: () => chat.addToolApprovalResponse({ id: part.approval.id, approved: true }) }, 'Allow')
}
function Conversation() {
  const chat = useChat({ id, transport, messages: loaded.messages, resume: true, sendAutomaticallyWhen: lastAssistantMessageIsCompleteWithApprovalResponses })
  window.chat = chat
  return h('main', { 'data-status': chat.status },
    chat.messages.map((message) => h('section', { key: message.id, className: message.role }, message.parts.map((part, index) => h(Part, { key: index, part, chat })))),
    h('button', { onClick: () => fetch('/threads/' + id + '/stop', { method: 'POST' }) }, 'Stop'))
}
createRoot(document.getElementById('root')).render(h(Conversation))
`

let fixture: Fixture
let worker: WorkerProcess
let browser: Browser
let url: string
let server: ReturnType<typeof serve>
let start: () => void

beforeAll(async () => {
  const script = await bundlePage('use-chat', PAGE)
  fixture = await createFixture({ desk: 'page' })
  worker = await fixture.startWorker()
  const threads = createThreadApp({ client: fixture.threads, tokens: [{ token: TOKEN }], page: false })
  const app = new Hono()
  app.get('/page.js', ({ body }) => body(script, 200, { 'content-type': 'text/javascript' }))
  app.all('/threads/*', ({ req, text }) => {
    if (req.header('cookie') !== 'login=ann') return text('Forbidden', 403)
    const headers = new Headers(req.raw.headers)
    headers.set('authorization', `Bearer ${TOKEN}`)
    return threads.request(new Request(req.raw, { headers }))
  })
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
  await fixture.create({ id, agent: 'desk' as 'clerk' })
  const context = await browser.newContext()
  context.setDefaultTimeout(60_000)
  await context.addCookies([{ name: 'login', value: 'ann', url }])
  const page = await context.newPage()
  await page.goto(`${url}/${id}`)
  await page.locator('main').waitFor()
  return page
}

const say = (page: Page, text: string): Promise<unknown> =>
  page.evaluate(`void window.chat.sendMessage({ text: ${JSON.stringify(text)} })`)

/** Waits for the beginning of an answer. What the page and the thread have stands in the error: it was once not there, and nothing told why. */
async function seesBeginning(page: Page, id: string): Promise<void> {
  try {
    await page.getByText('word5').waitFor()
  } catch (error) {
    const shown = await page.evaluate(
      'JSON.stringify([window.chat.status, String(window.chat.error), window.chat.messages])',
    )
    const snapshot = JSON.stringify(await fixture.threads.get(id).snapshot())
    throw new Error(`Expected the beginning of an answer, got ${String(shown)} of ${snapshot}`, {
      cause: error,
    })
  }
}

/** What the page has is what the store has. */
async function expectTranscript(page: Page, id: string): Promise<void> {
  await page.locator('main[data-status=ready]').waitFor()
  const shown = JSON.parse((await page.evaluate('JSON.stringify(window.chat.messages)')) as string) as unknown
  const { messages } = await fixture.threads.get(id).uiMessages()
  expect(shown).toEqual(messages)
}

test('a person asks, allows a call, and reads what came of it', async () => {
  const page = await open('chat-allows')
  await say(page, 'please refund')
  await page.getByRole('button', { name: 'Allow' }).click()
  await page.getByText('All is').waitFor()
  await page.getByText('refund output-available').waitFor()
  await expectTranscript(page, 'chat-allows')
})

test('a reload in the middle of an answer goes on with it', async () => {
  const page = await open('chat-reloads')
  await say(page, 'tell 200')
  await seesBeginning(page, 'chat-reloads')
  await page.reload()
  await page.getByText(tale(200), { exact: true }).waitFor()
  await expectTranscript(page, 'chat-reloads')
})

test('a stop ends the answer', async () => {
  const page = await open('chat-stops')
  await say(page, 'tell 400')
  await seesBeginning(page, 'chat-stops')
  await pressStop(page)
  await expectTranscript(page, 'chat-stops')
  const { messages } = await fixture.threads.get('chat-stops').messages()
  expect(messages.at(-1)).toMatchObject({ status: 'interrupted' })
})

test('after kill -9 of the worker and the loss of the server in mid-answer, nothing is lost or doubled', async () => {
  const page = await open('chat-killed')
  await say(page, 'tell 200')
  await seesBeginning(page, 'chat-killed')
  await worker.kill()
  if ('closeAllConnections' in server) server.closeAllConnections()
  await new Promise((resolve) => server.close(resolve))
  await page.locator('main[data-status=error]').waitFor()
  start()
  worker = await fixture.startWorker()
  await until(
    'the answer',
    async () => (await fixture.threads.get('chat-killed').snapshot()).lastRun !== null,
  )
  await page.evaluate('void window.chat.resumeStream()')
  await page.getByText(tale(200), { exact: true }).waitFor()
  await expectTranscript(page, 'chat-killed')
  const { messages } = await fixture.threads.get('chat-killed').messages()
  expect(messages.map(({ content }) => content)).toEqual(['tell 200', tale(200)])
})
