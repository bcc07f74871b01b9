import { afterAll, beforeAll, expect, test } from 'vitest'

import { until } from '../support/until.js'
import { answerWith, openPlace, say, threadAddress } from './place.js'
import type { Place } from './place.js'

let place: Place
beforeAll(async () => {
  place = await openPlace()
})
afterAll(() => place.close())

/** The text of the newest result of a tool. */
async function resultIn(id: string): Promise<string | null | undefined> {
  const { messages } = await place.fixture.threads.get(id).messages()
  return messages.findLast(({ role }) => role === 'tool')?.content
}

/** Buttons are pressed by the keyboard: what the run tells moves a card that has just come, and a mouse may miss. */
test('an approval with an edited argument runs the call with it', async () => {
  const page = await place.openThread('edited')
  await say(page, 'please refund')
  const card = page.getByRole('region', { name: 'Request: Approve refund?' })
  await card.getByRole('button', { name: 'Edit the arguments' }).click()
  await card.getByLabel('euros').fill('no number')
  await card.getByRole('button', { name: 'Approve with these arguments' }).press('Enter')
  await card.getByRole('alert').getByText('Expected "euros" to be a number, got "no number".').waitFor()
  // What the schema refuses, the server refuses, and the request stays.
  await card.getByLabel('euros').fill('-1')
  await card.getByRole('button', { name: 'Approve with these arguments' }).press('Enter')
  await card.getByRole('alert').getByText(/euros/).waitFor()
  await card.getByLabel('euros').fill('25')
  await card.getByRole('button', { name: 'Approve with these arguments' }).press('Enter')
  await answerWith(page, 'done')
  expect(await resultIn('edited')).toContain('25 euros are refunded.')
  await card.waitFor({ state: 'detached' })
  // Both are shown, also once the events of the answer are gone.
  await page.getByText('changed by a person').waitFor()
  for (const _ of ['now', 'after a reload']) {
    await page.locator('.tool-head').first().click()
    await page.getByLabel('Proposed arguments of refund').getByText('"euros": 40').waitFor()
    await page.getByLabel('Executed arguments of refund').getByText('"euros": 25').waitFor()
    await page.reload()
  }
})

test('a budget that is raised lets the same run go on', async () => {
  await place.fixture.create({
    ...{ id: 'poor', agent: 'desk' as 'clerk', message: 'please look_up' },
    budgets: { thread: { maxToolCalls: 1, onExceeded: 'ask' } },
  })
  const page = await place.open(threadAddress('poor'))
  await answerWith(page, 'done')
  await say(page, 'please look_up')
  const card = page.getByRole('region', { name: 'Request: Raise the budget? maxToolCalls of the thread' })
  await card.getByText('Used 1 of 1').waitFor()
  await card.getByLabel('New limit').fill('1')
  await card.getByRole('button', { name: 'Raise it' }).click()
  await card.getByRole('alert').waitFor()
  await card.getByLabel('New limit').fill('3')
  await card.getByRole('button', { name: 'Raise it' }).click()
  await card.waitFor({ state: 'detached' })
  await until('both answers', async () => (await page.getByText('done').count()) === 2)
  // Its text is there before its run has ended.
  await expect
    .poll(async () => place.fixture.threads.get('poor').result())
    .toMatchObject({ runId: 'run_2', reason: 'stop_on_response' })
  await page.getByRole('tab', { name: 'Usage' }).click()
  await page
    .getByRole('tabpanel')
    .getByText(/2 \/ 3/)
    .waitFor()
})

test('a denial with a reason reaches the agent', async () => {
  const page = await place.openThread('denied')
  await say(page, 'please refund')
  const card = page.getByRole('region', { name: 'Request: Approve refund?' })
  await card.getByRole('button', { name: 'Deny' }).click()
  await card.getByLabel('Reason, for the agent').fill('The tent is used.')
  await card.getByRole('button', { name: 'Deny the call' }).click()
  await answerWith(page, 'done')
  expect(await resultIn('denied')).toContain('The tent is used.')
  await page.locator('.tool[data-outcome=denied]').waitFor()
})

/** Streams of events stand still while `window.isHeld` is true. */
const HOLDS_EVENTS = `{
  const fetched = window.fetch
  window.fetch = async (request) => {
    const response = await fetched(request)
    if (!request.url.includes('/events')) return response
    const hold = async (part, controller) => {
      while (window.isHeld) await new Promise((resolve) => setTimeout(resolve, 50))
      controller.enqueue(part)
    }
    return new Response(response.body.pipeThrough(new TransformStream({ transform: hold })), response)
  }
}`

test('two tabs that answer one request: the first decides, the second reads that', async () => {
  const first = await place.openThread('two-tabs')
  const second = await place.open(threadAddress('two-tabs'))
  await second.addInitScript(HOLDS_EVENTS)
  await second.reload()
  await say(first, 'please refund')
  const cards = [first, second].map((page) => page.getByRole('region', { name: 'Request: Approve refund?' }))
  await Promise.all(cards.map((card) => card.waitFor()))
  // To the second tab no event comes any more, so that its person still sees the request.
  await second.evaluate('void (window.isHeld = true)')
  await first.getByRole('button', { name: 'Approve', exact: true }).click()
  await answerWith(first, 'done')
  await second.getByRole('button', { name: 'Deny' }).click()
  await second.getByRole('button', { name: 'Deny the call' }).click()
  await second.getByText('Already answered by somebody else').waitFor()
  expect(await resultIn('two-tabs')).toBe('40 euros are refunded.')
})

test('an approval that is remembered asks once', async () => {
  const page = await place.openThread('remembered')
  await say(page, 'please refund')
  await page.getByLabel('Remember the approval of refund').selectOption('thread')
  await page.getByRole('button', { name: 'Approve', exact: true }).click()
  await answerWith(page, 'done')
  await say(page, 'please refund')
  const done = page.locator('.tool[data-outcome=succeeded]')
  await until('two refunds', async () => (await done.count()) === 2)
})

test('a result in the place of a call, and a result by the form of a tool', async () => {
  const page = await place.openThread('form')
  await say(page, 'please refund')
  await page.getByRole('button', { name: 'Answer in its place' }).click()
  await page.getByLabel('Result, in the place of the call').fill('It was paid back in cash.')
  await page.getByRole('button', { name: 'Give this result' }).click()
  await answerWith(page, 'done')
  expect(await resultIn('form')).toContain('It was paid back in cash.')
  await say(page, 'please survey')
  const card = page.getByRole('region', { name: 'Request: survey waits for its result' })
  await card.getByLabel('Stars').fill('4')
  await card.getByLabel('Again?').check()
  await card.getByRole('button', { name: 'Give the result' }).click()
  await card.waitFor({ state: 'detached' })
  await until('the result', async () => (await resultIn('form'))?.includes('"stars":4'))
})

test('a thread that lacks a variable asks for it and goes on', async () => {
  await place.fixture.create({ id: 'mail', agent: 'mailer' as 'clerk', message: 'Hello' })
  const page = await place.open(threadAddress('mail'))
  const card = page.getByRole('region', { name: 'Request: mailer needs variables' })
  await card.getByLabel('MAIL_KEY').fill('a-key')
  await card.getByRole('button', { name: 'Set them' }).click()
  await answerWith(page, 'Gladly')
})

test('a subagent is in the tree, and what it used counts', async () => {
  const page = await place.openThread('family')
  await say(page, 'please researcher')
  await answerWith(page, 'done')
  await page.getByRole('tab', { name: /Agents/ }).click()
  await page
    .getByRole('tabpanel')
    .getByRole('link', { name: /researcher/ })
    .click()
  await page.getByRole('link', { name: 'parent' }).waitFor()
  await page.goBack()
  await page.getByRole('tab', { name: 'Usage' }).click()
  await page.getByRole('tabpanel').getByText('maxToolCalls').waitFor()
  await page.getByRole('tab', { name: 'Steps' }).click()
  await page.getByRole('tabpanel').getByText('stop on response').first().waitFor()
})
