import { afterAll, beforeAll, expect, test } from 'vitest'

import { serveAuthorization, serveGuarded } from '../mcp/login-test-server.js'
import { toolResults } from '../support/thread-facts.js'
import { openPlace, threadAddress } from './place.js'
import type { Place } from './place.js'

let place: Place
const ends: (() => Promise<void>)[] = []
beforeAll(async () => {
  const issuer = await serveAuthorization()
  const guarded = await serveGuarded({
    register(server) {
      server.registerTool('book', { description: 'Books' }, () => ({
        content: [{ type: 'text', text: 'Booked' }],
      }))
    },
    issuer: () => issuer.url,
    scopeOf: (token) => issuer.scopeOf(token),
  })
  place = await openPlace({
    ...{ desk: 'mcp', mcpUrl: guarded.url },
    answerer(messages) {
      const results = messages.filter(({ role }) => role === 'tool').length
      const name = ['connect_web', 'book'][results]
      return name === undefined ? { text: 'All is done.' } : { toolCalls: [{ name, input: '{}' }] }
    },
  })
  ends.push(place.close, issuer.close, guarded.close)
})
afterAll(async () => {
  for (const end of ends) await end()
})

test('a person logs in in a tab of its own, which hands the login to the tab that knows them', async () => {
  const thread = await place.fixture.create({ id: 'page-login', message: 'Hello' })
  const page = await place.open(threadAddress('page-login'))
  const card = page.getByRole('region', { name: 'Request: Log in to web' })
  await card.getByText('You are asked for it by').waitFor()
  const opened = page.context().waitForEvent('page')
  await card.getByRole('link', { name: 'Connect web' }).click()
  const tab = await opened
  await tab.getByText('You are logged in to web.').waitFor()
  // Nothing of the login stays in the address.
  expect(new URL(tab.url()).search).toBe('')
  await page.getByText('All is done.').waitFor()
  expect((await toolResults(thread)).at(-1)).toMatchObject({ tool_status: 'success', content: 'Booked' })
})
