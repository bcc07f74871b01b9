import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { readFileSync } from 'node:fs'
import { fileURLToPath } from 'node:url'

import { serve } from '@hono/node-server'
import { serveStatic } from '@hono/node-server/serve-static'
import { Hono } from 'hono'
import type { Browser, Page } from 'playwright-core'
import { afterAll, beforeAll, expect, test } from 'vitest'

import { keepScreenshot, launchChromium } from '../page/place.js'
import { freePort } from '../support/free-port.js'

/** The documents as `npm run docs` builds them, on a server of files, in a real browser. */
const ROOT = fileURLToPath(new URL('../../', import.meta.url))
const DIST = `${ROOT}site/dist`

let browser: Browser
let server: ReturnType<typeof serve>
let url: string
beforeAll(async () => {
  const build = spawn('node', ['site/build.ts', '--if-changed'], {
    cwd: ROOT,
    stdio: ['ignore', 'pipe', 'pipe'],
  })
  let words = ''
  for (const stream of [build.stdout, build.stderr])
    stream.on('data', (part: Buffer) => (words += part.toString()))
  const [code] = await once(build, 'close')
  if (code !== 0) throw new Error(`Expected \`npm run docs\` to build the site, got ${code}: ${words}`)
  const port = await freePort()
  server = serve({ fetch: new Hono().use(serveStatic({ root: DIST })).fetch, port, hostname: '127.0.0.1' })
  url = `http://127.0.0.1:${port}`
  browser = await launchChromium()
  // Nothing where CI has built it; else half a minute, and minutes where six programs use the two cores.
}, 600_000)
afterAll(async () => {
  await browser?.close()
  server?.close()
})

/** A page, and what went wrong in it: messages of its console, requests that failed or went to another host. */
async function open(
  path: string,
  look: { readonly width: number; readonly colorScheme?: 'dark' | 'light' } = { width: 1280 },
): Promise<{ readonly page: Page; readonly wrong: readonly string[] }> {
  const { width, colorScheme = 'light' } = look
  const page = await browser.newPage({ viewport: { width, height: 800 }, colorScheme })
  const wrong: string[] = []
  page.on('console', (message) => {
    if (message.type() === 'error' || message.type() === 'warning') wrong.push(message.text())
  })
  page.on('pageerror', (error) => wrong.push(error.message))
  page.on('request', (request) => {
    if (!/^(?:data|blob):/.test(request.url()) && !request.url().startsWith(url)) wrong.push(request.url())
  })
  page.on('response', (response) => {
    if (response.status() >= 400) wrong.push(`${response.status()} ${response.url()}`)
  })
  await page.goto(`${url}${path}`)
  await page.waitForLoadState('networkidle')
  return { page, wrong }
}

const heading = (page: Page) => page.locator('.vp-doc h1')

test('a word is searched, its page read, and a page of the API opened, from this host alone', async () => {
  const { page, wrong } = await open('/')
  expect(await heading(page).innerText()).toContain('Everthread')
  await page.getByRole('button', { name: 'Search' }).click()
  await page.locator('#localsearch-input').fill('webhooks')
  const result = page.locator('.VPLocalSearchBox .result', { hasText: 'Webhooks, and the events of a tree' })
  await result.first().click()
  await page.waitForURL(/webhooks/)
  // The address changes before the page does.
  await heading(page).filter({ hasText: 'Webhooks' }).waitFor()
  await page.getByRole('navigation').getByRole('link', { name: 'API', exact: true }).first().click()
  await heading(page).getByText('everthread').waitFor()
  await page.locator('.vp-doc').getByRole('link', { name: 'everthread', exact: true }).click()
  await page.locator('.vp-doc').getByRole('link', { name: 'defineTool', exact: true }).click()
  await heading(page).getByText('defineTool').waitFor()
  await page.locator('.vp-doc pre').first().filter({ hasText: 'function defineTool' }).waitFor()
  await keepScreenshot(page, 'site-api')
  expect(wrong).toEqual([])
  await page.close()
})

test.each(['/', '/guide/policy.html', '/generated/events.html', '/http/threads.html', '/api/everthread/'])(
  '%s fits into 400 pixels, dark as light',
  async (path) => {
    for (const colorScheme of ['light', 'dark'] as const) {
      const { page, wrong } = await open(path, { width: 400, colorScheme })
      expect(await page.evaluate('document.documentElement.scrollWidth')).toBeLessThanOrEqual(400)
      expect(await page.evaluate(`document.documentElement.classList.contains('dark')`)).toBe(
        colorScheme === 'dark',
      )
      expect(wrong).toEqual([])
      await keepScreenshot(page, `site-${path.replaceAll(/\W+/g, '-')}-${colorScheme}`)
      await page.close()
    }
  },
)

test('what looks like an element or a mustache in a page is text', async () => {
  const { page, wrong } = await open('/api/everthread/classes/ThreadError.html')
  expect(wrong).toEqual([])
  await page.goto(`${url}/api/everthread/client/classes/ThreadClient.html`)
  expect(await heading(page).innerText()).toContain('ThreadClient<R>')
  await page.close()
})

test('llms.txt names each page once, and each is there as Markdown', async () => {
  const index = await (await fetch(`${url}/llms.txt`)).text()
  const addresses = [...index.matchAll(/\]\((\/[^)]*)\)/g)].map(([, address = '']) => address)
  expect(addresses.length).toBeGreaterThan(100)
  expect(new Set(addresses).size).toBe(addresses.length)
  for (const address of addresses) expect((await fetch(`${url}${address}`)).status, address).toBe(200)
  expect(await (await fetch(`${url}/guide/tools.md`)).text()).toMatch(/^# Tools\n/)
  const full = readFileSync(`${DIST}/llms-full.txt`, 'utf8')
  expect(full).toContain('<!-- /guide/tools.md -->')
  expect(full).toContain('<!-- /http/threads.md -->')
})
