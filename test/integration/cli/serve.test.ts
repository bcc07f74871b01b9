import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'

import { afterAll, afterEach, beforeAll, expect, test, vi } from 'vitest'

import { until } from '../../support/until.js'
import { openCliPlace, openScreen } from './cli-place.js'
import type { CliPlace } from './cli-place.js'

const TOKEN = 'a-token-of-the-account-acme'
const WORKER = 'a-token-of-workers-in-python'

let place: CliPlace

beforeAll(async () => {
  place = await openCliPlace()
})
afterEach(() => void vi.unstubAllEnvs())
afterAll(() => place.close())

test('serve answers over HTTP with the tokens of a file until it is asked to end', async () => {
  const file = join(place.folder, 'tokens')
  await writeFile(file, `# of acme\n${TOKEN} acme\n`)
  const screen = openScreen()
  const served = screen.run('serve', '--port', '0', '--tokens', file)
  const url = await until('its address', () => /serving threads at (\S+)/.exec(screen.shown)?.[1])
  expect(screen.shown).toContain('tokens: 0 of operators, 1 of accounts')
  expect((await fetch(`${url}/health`)).status).toBe(200)
  expect((await fetch(`${url}/threads`)).status).toBe(401)
  const made = await fetch(`${url}/threads`, {
    method: 'POST',
    headers: { authorization: `Bearer ${TOKEN}`, 'content-type': 'application/json' },
    body: JSON.stringify({ agent: 'support', key: 'ticket-17' }),
  })
  expect([made.status, await made.json()]).toMatchObject([201, { account: 'acme' }])
  expect(screen.shown).toMatch(/"route":"\/threads","account":"acme","status":201/)
  expect(screen.shown).not.toContain(TOKEN)
  screen.interrupt()
  expect(await served).toBe(0)
  await expect(fetch(`${url}/health`)).rejects.toThrow('fetch failed')
  screen.close()
})

test('serve gives calls of remote tools to the workers that it is told of', async () => {
  const [tokens, workers] = [join(place.folder, 'tokens-2'), join(place.folder, 'tool-workers')]
  await writeFile(tokens, TOKEN)
  await writeFile(workers, `${WORKER} python-tools\n`)
  const screen = openScreen()
  const served = screen.run('serve', '--port', '0', '--tokens', tokens, '--tool-workers', workers)
  const url = await until('its address', () => /serving threads at (\S+)/.exec(screen.shown)?.[1])
  expect(screen.shown).toContain('1 of operators, 0 of accounts, 1 of tool workers (python-tools)')
  const claim = (token: string): Promise<Response> =>
    fetch(`${url}/tool-calls/no-thread/no-call/claim`, {
      method: 'POST',
      headers: { authorization: `Bearer ${token}`, 'content-type': 'application/json' },
      body: JSON.stringify({ claimId: 'one' }),
    })
  const refused = await claim(WORKER)
  expect([refused.status, await refused.json()]).toMatchObject([404, { error: { code: 'call_not_found' } }])
  expect((await claim(TOKEN)).status).toBe(401)
  expect(screen.shown).not.toContain(WORKER)
  screen.interrupt()
  expect(await served).toBe(0)
  screen.close()
})

test.each([
  [['--no-page'], '', 401, null],
  [[], 'http://127.0.0.1:8233/', 200, 'http://127.0.0.1:8233/namespaces/default'],
  [['--temporal-ui', 'https://ui.test/namespaces/a/'], 'http://no', 200, 'https://ui.test/namespaces/a'],
])('serve %j has the page that it is told of', async (flags, variable, status, temporalUi) => {
  vi.stubEnv('EVERTHREAD_TOKENS', TOKEN)
  vi.stubEnv('EVERTHREAD_UI_URL', variable)
  const screen = openScreen()
  const served = screen.run('serve', '--port', '0', ...flags)
  const url = await until('its address', () => /serving threads at (\S+)/.exec(screen.shown)?.[1])
  const config = await fetch(`${url}/page/config.json`)
  expect(config.status).toBe(status)
  if (status === 200) expect(await config.json()).toMatchObject({ temporalUi })
  screen.interrupt()
  expect(await served).toBe(0)
  screen.close()
})

test('serve refuses what is no address of a Temporal UI', async () => {
  vi.stubEnv('EVERTHREAD_TOKENS', TOKEN)
  const screen = openScreen()
  expect(await screen.run('serve', '--port', '0', '--temporal-ui', 'javascript:alert(1)')).toBe(1)
  expect(screen.shown).toContain('to be the http address of a Temporal UI, got "javascript:alert(1)"')
  screen.close()
})

test('serve refuses a tool worker that serves no task queue', async () => {
  vi.stubEnv('EVERTHREAD_TOKENS', TOKEN)
  vi.stubEnv('EVERTHREAD_TOOL_WORKERS', WORKER)
  const screen = openScreen()
  expect(await screen.run('serve', '--port', '0')).toBe(1)
  expect(screen.shown).toContain('Expected "toolWorkers[0].taskQueues" to name a task queue')
  screen.close()
})

test.each([
  [['serve'], 'EVERTHREAD_TOKENS'],
  [['serve', '--tokens', '/nowhere/at-all'], 'Expected --tokens to name a file'],
  [['serve', '--port', 'x'], 'EVERTHREAD_TOKENS'],
])('%j without what it needs says so', async (line, words) => {
  const screen = openScreen()
  expect(await screen.run(...line)).toBe(1)
  expect(screen.shown).toContain(words)
  screen.close()
})

test('E4 a port that is taken is named with what to do', async () => {
  const file = join(place.folder, 'tokens-3')
  await writeFile(file, TOKEN)
  const [first, second] = [openScreen(), openScreen()]
  const served = first.run('serve', '--port', '0', '--tokens', file)
  const url = await until('its address', () => /serving threads at (\S+)/.exec(first.shown)?.[1])
  const { port } = new URL(url)
  expect(await second.run('serve', '--port', port, '--tokens', file)).toBe(1)
  expect(second.shown).toContain(
    `Expected port ${port} of 127.0.0.1 to be free to listen on, got one that another process listens on: end that one, or ` +
      'choose another port',
  )
  first.interrupt()
  expect(await served).toBe(0)
  for (const screen of [first, second]) screen.close()
})
