import axe from 'axe-core'
import { sql } from 'kysely'
import type { Page } from 'playwright-core'
import { afterAll, beforeAll, expect, test } from 'vitest'

import { openStore } from '../../src/store/open-store.js'
import { IS_LONG } from '../support/long.js'
import { until } from '../support/until.js'
import { median, underContention } from '../support/contention.js'
import { HOSTILE } from './hostile.js'
import { answerWith, keepScreenshot, openPlace, say, threadAddress, ACCOUNT_TOKEN } from './place.js'
import type { Place } from './place.js'

let place: Place
beforeAll(async () => {
  place = await openPlace()
})
afterAll(() => place.close())

/** How often the agent has answered. */
const said = (page: Page): Promise<number> => page.locator('.message.assistant:not(.streaming)').count()

const PANELS = ['Steps', 'Queue', 'Agents', 'Files', 'Usage']

/** Opens whatever has something inside. */
async function openAll(page: Page): Promise<void> {
  const closed = page.locator(
    '.tool-head[aria-expanded=false]:visible, .line-head[aria-expanded=false]:visible',
  )
  while ((await closed.count()) > 0) await closed.first().click()
}

test('HTML in names, arguments, results, files, previews and errors is text everywhere', async () => {
  const page = await place.openThread('hostile')
  const asked: string[] = []
  page.on('response', (response) => asked.push(response.url()))
  await place.fixture.create({ id: 'hostile-title', agent: 'desk' as 'clerk', title: HOSTILE })
  for (const words of ['please look_up', 'please breakage', 'please paint', `hostile ${HOSTILE}`]) {
    const answers = await said(page)
    await say(page, words)
    await until('an answer', async () => (await said(page)) > answers)
    await page.locator('.badge[data-status=idle]').waitFor()
  }
  await openAll(page)
  // The error of the tool's code, as an operator reads it.
  await page.getByRole('group', { name: 'Original error' }).first().getByText('Broken <img').waitFor()
  await say(page, 'please refund')
  await page.getByRole('button', { name: 'Edit the arguments' }).click()
  for (const panel of PANELS) {
    await page.getByRole('tab', { name: panel }).click()
    await openAll(page)
  }
  await page.getByRole('navigation').getByText('<img class="hacked"').waitFor()
  expect(await page.locator('.hacked, img[src=x]').count()).toBe(0)
  expect(await page.evaluate('window.hacked')).toBeUndefined()
  expect(await page.locator('a[href^="javascript:"]').count()).toBe(0)
  expect(asked.filter((url) => !url.startsWith(place.url) && !url.startsWith('blob:'))).toEqual([])
})

test('the error of a provider is for operators only', async () => {
  const page = await place.openThread('provider')
  await say(page, 'ask the provider')
  await page.getByRole('group', { name: 'Original error' }).getByText('The provider says <img').waitFor()
  await place.fixture.create({
    ...{ id: 'provider-acme', agent: 'desk' as 'clerk', account: 'acme' },
    message: 'ask the provider',
  })
  const other = await place.open(threadAddress('provider-acme'), { token: ACCOUNT_TOKEN })
  await other.getByText('Its original text is for operators.').waitFor()
  expect(await other.getByText('The provider says').count()).toBe(0)
})

test('in development the worker can be killed and replaced, and elsewhere there is no such bar', async () => {
  const page = await place.open('#/')
  const orders: string[] = []
  const status = {
    worker: { state: 'running', pid: 4711, since: 1, deploys: 0, draining: [] },
    model: 'scripted',
  }
  // What `everthread dev` answers: its own tests have the real one.
  await page.route('**/dev/*', async (route) => {
    const { pathname } = new URL(route.request().url())
    expect(route.request().headers()['authorization']).toMatch(/^Bearer /)
    if (pathname !== '/dev/status') orders.push(`${route.request().method()} ${pathname}`)
    return route.fulfill({
      status: pathname === '/dev/status' ? 200 : 202,
      json: { ...status, problem: HOSTILE },
    })
  })
  await page.reload()
  const bar = page.getByRole('region', { name: 'Development' })
  await bar.getByText('worker running').waitFor()
  await bar.getByText(HOSTILE).waitFor()
  await bar.getByText('a practice model answers').waitFor()
  await bar.getByRole('button', { name: 'Kill the worker' }).click()
  await bar.getByRole('button', { name: 'Deploy' }).click()
  await until('both orders', () => orders.length === 2)
  expect(orders).toEqual(['POST /dev/kill-worker', 'POST /dev/deploy'])
  await view(page, 'wide-light-development')
  const plain = await place.open('#/')
  await plain.getByRole('navigation').waitFor()
  expect(await plain.getByRole('region', { name: 'Development' }).count()).toBe(0)
})

test('a thread of 10,000 messages opens within a second, on a busy machine within as many as work takes longer, and older ones come', async () => {
  await place.fixture.create({ id: 'long', agent: 'desk' as 'clerk' })
  await fill('long', 10_000)
  const page = await place.open('#/')
  const { result: times, factor } = await underContention(async () => {
    const took: number[] = []
    while (took.length < 3) {
      await page.goto(`${place.url}/#/`)
      await page.getByRole('heading', { name: 'Threads' }).waitFor()
      const began = performance.now()
      await page.goto(`${place.url}/${threadAddress('long')}`)
      await page.getByText('message 10000 of many').waitFor()
      took.push(performance.now() - began)
    }
    return took
  })
  const bound = 1_000 * factor
  process.stdout.write(
    `opened 10,000 messages in ${times.map(Math.round).join(', ')} of ${bound.toFixed(0)} ms\n`,
  )
  expect(median(times)).toBeLessThanOrEqual(bound)
  const box = page.getByRole('region', { name: 'Conversation' })
  await box.press('Home')
  await page.getByText('message 9940 of many').waitFor({ state: 'attached' })
  for (let count = 0; count < 8; count += 1) {
    await page.getByRole('button', { name: 'Older messages' }).click()
    await page.waitForTimeout(100)
  }
  expect(await page.locator('.message').count()).toBeLessThanOrEqual(300)
  await page.getByRole('button', { name: '↓ Newest' }).click()
  await page.getByText('message 10000 of many').waitFor()
})

/** A long life, written into the store. */
async function fill(threadId: string, messages: number): Promise<void> {
  const store = await openStore(place.fixture.store)
  const numbers = sql`with recursive numbers(n) as (values(1) union all select n + 1 from numbers where n < ${messages})`
  await store.write(async (tx) => {
    await sql`insert into messages
      (id, thread_id, role, content, created_at, depth, silent, status, attachments, sent_by, digest, position)
      ${numbers} select 'm' || n, ${threadId}, case n % 2 when 1 then 'user' else 'assistant' end,
        'message ' || n || ' of many', n, 0, 0, 'completed', '[]', 'client', '', n from numbers`.execute(tx)
    await sql`insert into events (thread_id, root_thread_id, first_sequence, sequence, at, scope, events)
      ${numbers} select ${threadId}, ${threadId}, n + 2, n + 2, n, '[]', '[["message.created",""]]' from numbers`.execute(
      tx,
    )
    await sql`update threads set last_position = ${messages}, last_sequence = ${messages + 2}
      where id = ${threadId}`.execute(tx)
  })
  await store.close()
}

const LOOKS = [
  { name: 'wide-light', viewport: { width: 1280, height: 800 }, colorScheme: 'light' },
  { name: 'wide-dark', viewport: { width: 1280, height: 800 }, colorScheme: 'dark' },
  { name: 'narrow-light', viewport: { width: 400, height: 800 }, colorScheme: 'light' },
  { name: 'narrow-dark', viewport: { width: 400, height: 800 }, colorScheme: 'dark' },
] as const
/** Each width and each scheme of colours once; EVERTHREAD_TEST_LONG=1: all. */
const looks = LOOKS.filter(({ name }) => IS_LONG || name === 'wide-light' || name === 'narrow-dark')

test.each(looks)('every view is accessible and fits: $name', async ({ name, ...look }) => {
  const page = await place.openThread(`look-${name}`, look)
  await say(page, 'please look_up')
  await answerWith(page, 'done')
  await say(page, 'please breakage')
  await until('four answers', async () => (await said(page)) === 4)
  await say(page, 'please refund')
  await page.getByRole('button', { name: 'Approve', exact: true }).waitFor()
  await view(page, `${name}-chat`)
  await page.getByRole('button', { name: 'Edit the arguments' }).click()
  await openAll(page)
  await view(page, `${name}-edit`)
  for (const panel of PANELS) {
    await page.getByRole('tab', { name: panel }).click()
    if (panel === 'Steps') await openAll(page)
    await view(page, `${name}-${panel.toLowerCase()}`)
  }
  await page.goto(`${place.url}/#/new`)
  await page.getByRole('radio').first().waitFor()
  await view(page, `${name}-new`)
  await page.goto(`${place.url}/#/`)
  await page.getByRole('navigation').locator('.thread-row').first().waitFor()
  await view(page, `${name}-threads`)
  await page.evaluate('sessionStorage.clear()')
  await page.reload()
  await page.getByLabel('Token').waitFor()
  await view(page, `${name}-login`)
})

/** Nothing that axe finds by WCAG 2.2 AA, and nothing wider than the window. */
async function view(page: Page, name: string): Promise<void> {
  await keepScreenshot(page, name)
  await page.evaluate(axe.source)
  const found = (await page.evaluate(
    `axe.run({ runOnly: ['wcag2a', 'wcag2aa', 'wcag21a', 'wcag21aa', 'wcag22aa', 'best-practice'] })`,
  )) as axe.AxeResults
  const problems = found.violations.flatMap(({ id, nodes }) =>
    nodes.map(({ html, failureSummary }) => `${name} ${id}: ${html} ${failureSummary ?? ''}`),
  )
  expect(problems).toEqual([])
  expect(await page.evaluate('document.documentElement.scrollWidth - innerWidth')).toBeLessThanOrEqual(0)
}
