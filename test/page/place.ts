import { execFileSync } from 'node:child_process'
import { mkdirSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'

import { chromium } from 'playwright-core'
import type { Browser, BrowserContext, BrowserContextOptions, Page } from 'playwright-core'

import { serveThreads } from '../../src/server/index.js'
import type { ThreadServer } from '../../src/server/index.js'
import { createFixture } from '../integration/worker/fixture.js'
import type { Fixture } from '../integration/worker/fixture.js'
import { freePort } from '../support/free-port.js'

const PROJECT = new URL('../../', import.meta.url)
const SCREENSHOTS = fileURLToPath(new URL('test-results/page/', PROJECT))

const TOKEN = 'token-of-an-operator-of-the-page'
export const ACCOUNT_TOKEN = 'token-of-an-account-of-the-page'

/** A browser on the real server, with a worker process and the store of a fixture. */
export interface Place {
  readonly fixture: Fixture
  readonly url: string
  /** Opens the page, logged in, at an address such as `#/new`. */
  open(address?: string, options?: BrowserContextOptions & { readonly token?: string }): Promise<Page>
  /** Creates a thread whose dead worker is noticed soon, and opens its page. */
  openThread(id: string, options?: BrowserContextOptions): Promise<Page>
  /** kill -9 of the worker; another one begins. */
  killWorker(): Promise<void>
  /** Ends the HTTP server; `startServer` starts it on the same port. */
  stopServer(): Promise<void>
  startServer(): Promise<void>
  close(): Promise<void>
}

/** The path of Chromium from the environment, else from where temporal-dev.sh finds it; installs nothing. */
function locateChromium(): string {
  const given = process.env['EVERTHREAD_CHROMIUM']
  if (given !== undefined && given !== '') return given
  try {
    return execFileSync('./temporal-dev.sh', ['locate', 'chromium'], {
      cwd: PROJECT,
      encoding: 'utf8',
    }).trim()
  } catch {
    throw new Error('Chromium is not installed yet: run ./temporal-dev.sh install')
  }
}

/** Root, which a container often is, has no sandbox in Chromium; the folder for shared memory is small there. */
export function launchChromium(): Promise<Browser> {
  return chromium.launch({
    executablePath: locateChromium(),
    args: ['--no-sandbox', '--disable-dev-shm-usage'],
  })
}

/** By the keyboard: text that streams in moves the button, and a mouse that goes up beside it has clicked nothing. */
export function pressStop(page: Page): Promise<void> {
  return page.getByRole('button', { name: 'Stop' }).press('Enter')
}

/** `options`: of another desk than that of the page. */
export async function openPlace(options: Parameters<typeof createFixture>[0] = {}): Promise<Place> {
  const port = await freePort()
  const fixture = await createFixture({
    ...{ desk: 'page', mcpRedirectUrl: `http://127.0.0.1:${port}/`, ...options },
  })
  let worker = await fixture.startWorker()
  const browser = await launchChromium()
  const contexts: BrowserContext[] = []
  let server: ThreadServer | undefined
  const startServer = async (): Promise<void> => {
    server = await serveThreads({
      ...{ client: fixture.threads, port, closeGrace: 200 },
      tokens: [{ token: TOKEN }, { token: ACCOUNT_TOKEN, account: 'acme' }],
      page: { temporalUi: 'http://127.0.0.1:8233/namespaces/default' },
    })
  }
  await startServer()
  const url = `http://127.0.0.1:${port}`
  const open: Place['open'] = async (address = '#/', { token = TOKEN, ...options } = {}) => {
    const context = await browser.newContext({ viewport: { width: 1280, height: 800 }, ...options })
    contexts.push(context)
    // A busy machine takes its time.
    context.setDefaultTimeout(60_000)
    const page = await context.newPage()
    await page.goto(`${url}/#token=${token}`)
    await page.getByRole('navigation', { name: 'Threads' }).waitFor()
    await page.goto(`${url}/${address}`)
    return page
  }
  return {
    ...{ fixture, url, open, startServer },
    async openThread(id, options) {
      // The worker of this place has the page's agents.
      await fixture.create({ id, agent: 'desk' as 'clerk', title: `The thread ${id}` })
      return open(threadAddress(id), options)
    },
    async killWorker() {
      await worker.kill()
      worker = await fixture.startWorker()
    },
    stopServer: async () => server?.close(),
    async close() {
      await Promise.allSettled(contexts.map((context) => context.close()))
      await browser.close()
      await server?.close()
      await fixture.close()
    },
  }
}

/** Keeps what the page looks like, for a person to look at. */
export async function keepScreenshot(page: Page, name: string): Promise<void> {
  mkdirSync(SCREENSHOTS, { recursive: true })
  await page.screenshot({ path: join(SCREENSHOTS, `${name}.png`) })
}

/** The address of a thread in the page. */
export function threadAddress(threadId: string): string {
  return `#/threads/${encodeURIComponent(threadId)}`
}

/** Sends a message as a person does. */
export async function say(page: Page, text: string): Promise<void> {
  await page.getByLabel('Message', { exact: true }).fill(text)
  await page.getByLabel('Message', { exact: true }).press('Enter')
}

/** The newest text of the agent, once it is stored and has this word. */
export async function answerWith(page: Page, word: string): Promise<string> {
  const stored = page.locator('.message.assistant:not(.streaming) > .prose', { hasText: word }).last()
  await stored.waitFor()
  return (await stored.innerText()).trim()
}
