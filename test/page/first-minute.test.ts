import { readFile, writeFile } from 'node:fs/promises'
import { join } from 'node:path'

import type { Browser, Page } from 'playwright-core'
import { afterAll, beforeAll, expect, test } from 'vitest'

import { underContention } from '../support/contention.js'
import { startDev } from '../dev/dev-process.js'
import type { Dev } from '../dev/dev-process.js'
import { installPacked, makeFolder, run } from '../dev/linked-project.js'
import { answerWith, keepScreenshot, launchChromium, say } from './place.js'

/** From an empty folder to an agent on a page: the package as npm packs it, the project that `init` writes, `dev` as a person starts it, and a real browser. */
let command: string
let place: Awaited<ReturnType<typeof makeFolder>>
let browser: Browser
let project: string
let dev: Dev | undefined
let page: Page
beforeAll(async () => {
  place = await makeFolder()
  command = await installPacked(place.folder)
  browser = await launchChromium()
})
afterAll(async () => {
  dev?.child.kill('SIGKILL')
  await browser.close()
  await place.remove()
})

const request = () => page.getByRole('region', { name: 'Request: Approve refund?' })

test('from the packed package, the first answer is on the page within a minute of the first command', async () => {
  const { result: seconds, factor } = await underContention(async () => {
    const began = Date.now()
    const { code } = await run(place.folder, [command, 'init', 'my-agent', '--no-install'])
    expect(code).toBe(0)
    project = join(place.folder, 'my-agent')
    dev = await startDev(project, [command, 'dev'])
    page = await browser.newPage({ viewport: { width: 1280, height: 800 } })
    page.setDefaultTimeout(60_000)
    await page.goto(dev.url.href)
    await page.getByRole('link', { name: 'New thread' }).first().click()
    await page.getByLabel('First message').fill('Hello')
    await page.getByRole('button', { name: 'Start' }).click()
    await answerWith(page, 'I am the practice model')
    return (Date.now() - began) / 1000
  })
  process.stdout.write(`from the first command to the first answer: ${seconds.toFixed(1)} s\n`)
  expect(seconds).toBeLessThan(60 * factor)
  expect(page.url()).not.toContain('token')
  await keepScreenshot(page, 'first-minute')
})

test('a refund with an argument that a person changes, over a deploy of the agents', async () => {
  await say(page, 'refund order A-17, 20 euros')
  await request().waitFor()
  // Shown by the guide: `npm run screenshots`.
  await keepScreenshot(page, 'request')
  const file = join(project, 'agents.ts')
  await writeFile(file, (await readFile(file, 'utf8')).replace('are refunded for', 'go back for'))
  await page.getByText('1 deploy').waitFor()
  await request().getByRole('button', { name: 'Edit the arguments' }).click()
  await request().getByLabel('euros').fill('15')
  await request().getByRole('button', { name: 'Approve with these arguments' }).click()
  await answerWith(page, '15 euros go back for A-17')
})

test('the worker is killed by its button while it writes, and the answer is whole', async () => {
  await say(page, 'tell me a long story')
  await page.locator('.message.streaming', { hasText: 'killed' }).waitFor()
  await page.getByRole('button', { name: 'Kill the worker' }).click()
  const story = await answerWith(page, 'That is the end of the story.')
  expect(story.split('That is the end of the story.')).toHaveLength(2)
  await page.reload()
  expect(await answerWith(page, 'That is the end of the story.')).toBe(story)
})
