import { afterAll, beforeAll, expect, test } from 'vitest'

import { until } from '../support/until.js'
import { median, underContention } from '../support/contention.js'
import { tale } from './page-desk.js'
import { ACCOUNT_TOKEN, answerWith, openPlace, pressStop, say, threadAddress } from './place.js'
import type { Place } from './place.js'

let place: Place
beforeAll(async () => {
  place = await openPlace()
})
afterAll(() => place.close())

/** What the store has of a thread, as text by text. */
async function stored(id: string): Promise<readonly (string | null)[]> {
  const { messages } = await place.fixture.threads.get(id).messages()
  return messages.map(({ content }) => content)
}

test('a first message begins a thread, and its answer streams', async () => {
  const page = await place.open('#/new')
  await page.getByLabel('First message').fill('tell 200')
  await page.getByRole('radio', { name: /^Desk/ }).check()
  await page.getByRole('button', { name: 'Start' }).click()
  // Text that is not whole yet.
  const draft = page.locator('.message.streaming > .prose', { hasText: 'word5' })
  await draft.waitFor()
  expect(await draft.innerText()).not.toContain('word200')
  expect(await answerWith(page, 'word200')).toBe(tale(200))
  await page.getByRole('navigation').getByText('tell 200').waitFor()
})

/** Milliseconds from the model to the page, of each word that was seen; where most came together, nothing was measured. */
async function delaysOf(id: string): Promise<readonly number[]> {
  const page = await place.openThread(id)
  await page.evaluate(`{
    window.delays = []
    new MutationObserver(() => {
      const last = document.querySelector('.streaming .prose')?.textContent.match(/(\\d{13}):\\d+\\s*$/)
      if (last) delays.push(Date.now() - Number(last[1]))
    }).observe(document.body, { subtree: true, childList: true, characterData: true })
  }`)
  await say(page, 'clock')
  await answerWith(page, '80')
  const delays = (await page.evaluate('delays')) as number[]
  await page.close()
  return delays.length > 20 ? delays : [Infinity]
}

test('half of the words are on the page within 20 ms; on a busy machine within as many times that as work takes longer', async () => {
  const tries: { readonly p50: number; readonly bound: number }[] = []
  // One story is two seconds, in which somebody else may do something.
  while (tries.length < 6 && !tries.some(({ p50, bound }) => p50 <= bound)) {
    const { result, factor } = await underContention(() => delaysOf(`clock-${tries.length}`))
    tries.push({ p50: median(result), bound: 20 * factor })
  }
  const said = tries.map(({ p50, bound }) => `${p50} ms of ${bound.toFixed(1)}`)
  process.stdout.write(`from model to page, p50: ${said.join(', ')}\n`)
  expect(tries.some(({ p50, bound }) => p50 <= bound)).toBe(true)
})

test('a reload in the middle of an answer shows all of it once', async () => {
  const page = await place.openThread('reloaded')
  await say(page, 'tell 200')
  await page.locator('.message.streaming', { hasText: 'word8' }).waitFor()
  await page.reload()
  expect(await answerWith(page, 'word200')).toBe(tale(200))
  expect(await page.locator('.message').count()).toBe(2)
})

test('kill -9 of the worker while text streams: it completes without a doubled word', async () => {
  const page = await place.openThread('killed')
  await say(page, 'tell 200')
  await page.locator('.message.streaming', { hasText: 'word10' }).waitFor()
  await place.killWorker()
  expect(await answerWith(page, 'word200')).toBe(tale(200))
  expect(await page.locator('.message').count()).toBe(2)
  expect(await stored('killed')).toEqual(['tell 200', tale(200)])
})

test('a restart of the server in the middle of an answer loses and doubles nothing', async () => {
  const page = await place.openThread('restarted')
  await say(page, 'tell 200')
  await page.locator('.message.streaming', { hasText: 'word8' }).waitFor()
  await place.stopServer()
  await page.getByText('reconnecting…').waitFor()
  // While nothing answers: kept, and sent later.
  await say(page, 'tell 3')
  await page.locator('.outgoing[data-state=waiting]').waitFor()
  await place.startServer()
  expect(await answerWith(page, 'word200')).toBe(tale(200))
  await page.locator('.message.assistant', { hasText: /^Agent\s*word1 word2 word3\s*Again$/ }).waitFor()
  expect(await page.locator('.outgoing').count()).toBe(0)
  expect(await stored('restarted')).toEqual(['tell 200', tale(200), 'tell 3', tale(3)])
})

test('a message whose answer is lost is sent again, and is there once', async () => {
  const page = await place.openThread('offline')
  let losses = 0
  await page.route('**/messages', async (route) => {
    if (route.request().method() !== 'POST' || losses >= 2) return route.continue()
    losses += 1
    // The server has accepted it, and the browser does not learn of it.
    await route.fetch()
    await route.abort()
  })
  await say(page, 'tell 5')
  expect(await answerWith(page, 'word5')).toBe(tale(5))
  await page.locator('.outgoing').waitFor({ state: 'detached' })
  expect([losses, await stored('offline')]).toEqual([2, ['tell 5', tale(5)]])
})

test('a message that is kept survives a reload of the page', async () => {
  const page = await place.openThread('kept')
  await page.route('**/messages', (route) =>
    route.request().method() === 'POST' ? route.abort() : route.continue(),
  )
  await say(page, 'tell 4')
  await page.locator('.outgoing[data-state=waiting]').waitFor()
  await page.unroute('**/messages')
  await page.reload()
  expect(await answerWith(page, 'word4')).toBe(tale(4))
  expect(await stored('kept')).toEqual(['tell 4', tale(4)])
})

test('what waits is taken back, and a stopped thread continues', async () => {
  const page = await place.openThread('stopped')
  await say(page, 'tell 400')
  await page.locator('.message.streaming', { hasText: 'word5' }).waitFor()
  await say(page, 'never mind')
  await page.getByRole('tab', { name: /Queue/ }).click()
  await page.getByRole('tabpanel').getByRole('button', { name: 'Take back' }).click()
  await page.getByText('Nothing waits').waitFor()
  await pressStop(page)
  await page.getByText('Stopped: stopped').waitFor()
  await page.getByRole('button', { name: 'Continue' }).waitFor()
  expect(await stored('stopped')).toHaveLength(2)
})

test('files go up with a message and come down with a result', async () => {
  const page = await place.openThread('files')
  await page.locator('input[type=file]').setInputFiles({
    ...{ name: 'tent <b>.txt', mimeType: 'text/plain' },
    buffer: Buffer.from('A tent'),
  })
  await page.getByText('6 B').waitFor()
  await say(page, 'please paint')
  await answerWith(page, 'Gladly')
  const saved = page.waitForEvent('download')
  await page.locator('.message.user').getByRole('button', { name: 'Download tent <b>.txt' }).click()
  expect((await saved).suggestedFilename()).toMatch(/^tent .b.\.txt$/)
  // A picture is shown, from bytes that came with the token.
  await page.locator('.tool img[alt="red.png"]').waitFor()
  await page.getByRole('tab', { name: 'Files' }).click()
  await page.getByRole('button', { name: 'notes/' }).click()
  await page.getByRole('tabpanel').getByText('text/html').waitFor()
})

test('a list shows what matches a search and a status, with live counts', async () => {
  const page = await place.open('#/')
  await place.fixture.create({ id: 'needle-1', agent: 'desk' as 'clerk', title: 'Haystack 100%' })
  await place.fixture.create({
    id: 'untitled',
    agent: 'desk' as 'clerk',
    message: 'tell 2 of my <b>tent</b>',
  })
  const rows = page.getByRole('navigation').locator('.thread-row')
  // Without a title, by the words that it began with.
  await rows.filter({ hasText: 'tell 2 of my <b>tent</b>' }).waitFor()
  expect(await rows.filter({ hasText: 'untitled' }).count()).toBe(0)
  await rows.filter({ hasText: 'Haystack' }).waitFor()
  await page.getByLabel('Search threads').fill('haystack 100%')
  await until('one row', async () => (await rows.count()) === 1)
  await page.getByRole('button', { name: /^all 1$/ }).waitFor()
  await page.getByRole('button', { name: /^idle 1$/ }).click()
  await rows.first().click()
  await page.getByRole('heading', { name: 'Haystack 100%' }).waitFor()
  expect(await page.getByRole('link', { name: /Temporal/ }).getAttribute('href')).toBe(
    'http://127.0.0.1:8233/namespaces/default/workflows/needle-1',
  )
})

test('a token is asked for, checked, and in no address', async () => {
  const page = await place.open('#/')
  await page.evaluate('sessionStorage.clear()')
  await page.goto(`${place.url}/${threadAddress('needle-1')}`)
  await page.reload()
  await page.getByLabel('Token').fill('not-a-token-of-this-server')
  await page.getByRole('button', { name: 'Log in' }).click()
  await page.getByRole('alert').getByText('got another one').waitFor()
  await page.getByLabel('Token').fill(ACCOUNT_TOKEN)
  await page.getByRole('button', { name: 'Log in' }).click()
  // A thread of another account does not exist.
  await page.getByRole('alert').getByText('needle-1').waitFor()
  const logged = await place.open('#/')
  expect(logged.url()).not.toContain('token')
})

test('another answer and other words open forks, and the thread stays as it is', async () => {
  const page = await place.openThread('forked')
  await say(page, 'tell 3')
  await answerWith(page, 'word3')
  await page.locator('.message.assistant').hover()
  await page.getByRole('button', { name: 'Another answer, in a fork' }).click()
  await page.waitForURL((url) => !url.hash.endsWith('/forked'))
  expect(await answerWith(page, 'word3')).toBe(tale(3))
  expect(await page.locator('.message').count()).toBe(2)
  await page.locator('.message.user').hover()
  await page.getByRole('button', { name: 'Say it differently, in a fork' }).click()
  await page.getByLabel('Other words').fill('tell 5')
  const again = page.url()
  await page.getByRole('button', { name: 'Send in a fork' }).click()
  await page.waitForURL((url) => url.href !== again)
  expect(await answerWith(page, 'word5')).toBe(tale(5))
  expect(await stored('forked')).toEqual(['tell 3', tale(3)])
  const forks = []
  for await (const { forkedFrom } of place.fixture.threads.list())
    if (forkedFrom !== null) forks.push(forkedFrom.threadId)
  expect(forks).toContain('forked')
  expect(forks).toHaveLength(2)
})
