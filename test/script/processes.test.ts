import { once } from 'node:events'
import { chmodSync } from 'node:fs'
import { createServer } from 'node:net'
import { expect, onTestFinished, test } from 'vitest'

import { freePort } from '../support/free-port.js'
import { until } from '../support/until.js'
import { createCheckout, isRunning } from './checkout.js'
import type { Checkout, ScriptRun } from './checkout.js'

/** The ids that server, worker and their children wrote down. */
function startedPids(checkout: Checkout): readonly number[] {
  return checkout.read('pids').trim().split('\n').map(Number)
}

const staysUp = "require('fs').appendFileSync('pids', process.pid + '\\n'); setInterval(() => {}, 1000)"

async function startUp(
  checkout: Checkout,
  environment: Readonly<Record<string, string>> = {},
): Promise<ScriptRun> {
  checkout.file('examples/demo/up.ts', staysUp)
  const run = checkout.run(['up'], environment)
  await until('the worker', () => checkout.exists('pids') && startedPids(checkout).length === 3)
  return run
}

for (const [signal, code] of [
  ['SIGINT', 130],
  ['SIGTERM', 143],
  ['SIGHUP', 129],
] as const) {
  test(`${signal} ends the server, the worker and their children`, async () => {
    const checkout = createCheckout()
    const run = await startUp(checkout)
    process.kill(run.pid, signal)
    expect(await run.ended).toBe(code)
    await until('no process to be left', () => !startedPids(checkout).some(isRunning))
  })
}

test('a worker that ends by itself ends the server too', async () => {
  const checkout = createCheckout()
  const run = await startUp(checkout)
  process.kill(startedPids(checkout)[2] ?? 0, 'SIGKILL')
  expect(await run.ended).toBe(1)
  expect(run.output()).toContain('the worker or the HTTP server ended by itself')
  await until('no process to be left', () => !startedPids(checkout).some(isRunning))
})

test('up keeps its data and runs once in a checkout', async () => {
  const checkout = createCheckout()
  const run = await startUp(checkout)
  expect(checkout.read('server-arguments')).toContain(
    `--db-filename=${checkout.folder}/.everthread/temporal.db`,
  )
  expect(checkout.read('server-arguments')).toContain('history.transferProcessorMaxPollRPS=2000')
  const second = checkout.run(['up'])
  expect(await second.ended).toBe(1)
  expect(second.output()).toContain('has `up` running in this checkout: stop it')
  expect(isRunning(run.pid)).toBe(true)
})

test('a failed demo gives its exit code and leaves no process', async () => {
  const checkout = createCheckout()
  checkout.file(
    'examples/demo/run.ts',
    "require('fs').writeFileSync('arguments', process.argv.slice(2).join(' ')); process.exit(7)",
  )
  const run = checkout.run(['demo', '--crash'])
  expect(await run.ended).toBe(7)
  expect(checkout.read('arguments')).toBe('--crash')
  await until('no process to be left', () => !startedPids(checkout).some(isRunning))
})

test('demo --keep leaves the server up until Ctrl-C', async () => {
  const checkout = createCheckout()
  checkout.file('examples/demo/run.ts', "console.log('demo: ok')")
  const run = checkout.run(['demo', '--keep'])
  await until('the demo to end', () => run.output().includes('run until Ctrl-C'))
  expect(startedPids(checkout).every(isRunning)).toBe(true)
  process.kill(run.pid, 'SIGINT')
  expect(await run.ended).toBe(130)
  await until('no process to be left', () => !startedPids(checkout).some(isRunning))
})

test('the demo gets its server, its store and no production settings', async () => {
  const checkout = createCheckout()
  checkout.file(
    'examples/demo/run.ts',
    "require('fs').writeFileSync('environment', JSON.stringify(process.env))",
  )
  const port = String(await freePort())
  const run = checkout.run(['demo', '--port', port], {
    TEMPORAL_API_KEY: 'secret',
    TEMPORAL_TLS_SERVER_NAME: 'x',
  })
  expect(await run.ended, run.output()).toBe(0)
  const environment = JSON.parse(checkout.read('environment')) as Record<string, string>
  expect(environment['TEMPORAL_ADDRESS']).toBe(`127.0.0.1:${port}`)
  expect(environment['EVERTHREAD_UI_URL']).toMatch(/^http:\/\/127\.0\.0\.1:\d+$/)
  expect(environment['EVERTHREAD_DATABASE_URL']).toMatch(/^file:\/.*threads\.db$/)
  expect(environment).not.toHaveProperty('TEMPORAL_API_KEY')
  expect(environment).not.toHaveProperty('TEMPORAL_TLS_SERVER_NAME')
})

test('a failed test run ends what it left behind', async () => {
  const checkout = createCheckout()
  const vitest = checkout.file(
    'node_modules/.bin/vitest',
    '#!/bin/sh\nsleep 600 & echo $! >pids\necho "$TEMPORAL_TEST_SERVER_PATH $*"\necho "1 passed, 1 failed"\nexit 3\n',
  )
  chmodSync(vitest, 0o755)
  const run = checkout.run(['test', 'src/thread'])
  expect(await run.ended).toBe(3)
  expect(run.output()).toMatch(/\/bin\/true run src\/thread\n1 passed, 1 failed\n$/)
  await until('no process to be left', () => !startedPids(checkout).some(isRunning))
})

test('a whole run is made once more for the files that it names, and its result counts', async () => {
  const checkout = createCheckout()
  const vitest = checkout.file(
    'node_modules/.bin/vitest',
    [
      '#!/bin/sh',
      'mkdir -p test-results',
      'echo "$EVERTHREAD_TEST_AGAIN $*"',
      '[ -z "$EVERTHREAD_TEST_AGAIN" ] || exit "$(cat again-code)"',
      'printf "%s\\n" --project=page "test/a b.test.ts" >test-results/again',
      'exit 1',
    ].join('\n'),
  )
  chmodSync(vitest, 0o755)
  checkout.file('again-code', '0')
  const green = checkout.run(['test'])
  expect(await green.ended).toBe(0)
  expect(green.output()).toMatch(/ run\n.*once more: .*\n1 run --project=page test\/a b\.test\.ts\n$/)
  checkout.file('again-code', '3')
  const red = checkout.run(['test'])
  expect(await red.ended).toBe(3)
  // Somebody who names tests sees what fails at once.
  const named = checkout.run(['test', 'src/thread'])
  expect(await named.ended).toBe(1)
  expect(named.output()).not.toContain('once more')
})

test('a quick test run checks first, and tests nothing where the check fails', async () => {
  const checkout = createCheckout()
  const fake = (code: number): readonly string[] => ['#!/bin/sh', 'echo "checks: $*"', `exit ${code}`]
  const vitest = checkout.file('node_modules/.bin/vitest', '#!/bin/sh\necho "tests: $*"\nexit 3\n')
  chmodSync(vitest, 0o755)
  // PostgreSQL, S3, Python and Chromium are not asked for.
  const missing = {
    ...{ POSTGRES_BIN_PATH: '/nowhere', VERSITYGW_PATH: '/nowhere' },
    ...{ EVERTHREAD_PYTHON: '/nowhere', CHROMIUM_PATH: '/nowhere' },
  }
  checkout.program('npm', fake(0))
  const green = checkout.run(['test', '--quick', '--bail=1'], missing)
  expect(await green.ended).toBe(3)
  expect(green.output()).toMatch(
    /^checks: run --silent check\ntests: run --project unit --project types --project servers src\/ .* --bail=1\n$/,
  )
  checkout.program('npm', fake(1))
  const red = checkout.run(['test', '--quick'], missing)
  expect(await red.ended).toBe(1)
  expect(red.output()).toContain('`npm run check` failed, as shown; no test was run.')
  expect(red.output()).not.toContain('tests:')
})

test('TEMPORAL_ADDRESS is used instead of starting a server', async () => {
  const checkout = createCheckout()
  checkout.file(
    'examples/demo/run.ts',
    "require('fs').writeFileSync('address', process.env.TEMPORAL_ADDRESS)",
  )
  expect(await checkout.run(['demo'], { TEMPORAL_ADDRESS: 'elsewhere:7233' }).ended).toBe(0)
  expect(checkout.read('address')).toBe('elsewhere:7233')
  expect(checkout.exists('pids')).toBe(false)
})

test('a port in use is one sentence and stays in use', async () => {
  const checkout = createCheckout()
  const other = createServer().listen(0, '127.0.0.1')
  onTestFinished(() => void other.close())
  await once(other, 'listening')
  const { port } = other.address() as { readonly port: number }
  const run = checkout.run(['server', '--port', String(port)])
  expect(await run.ended).toBe(1)
  expect(run.output()).toMatch(
    new RegExp(`^temporal-dev: port ${port} is in use by another program: .*\\.\\n$`),
  )
  expect(other.listening).toBe(true)
})

test('without an asked port the first free one is taken', async () => {
  const checkout = createCheckout()
  const first = checkout.run(['server'])
  await until('the first server', () => first.output().includes('Ctrl-C'))
  const second = checkout.run(['server'])
  await until('the second server', () => second.output().includes('Ctrl-C'))
  const address = /server: (\S+)/
  expect(address.exec(second.output())?.[1]).not.toBe(address.exec(first.output())?.[1])
})

test('the real server starts, answers and ends with Ctrl-C', async () => {
  const checkout = createCheckout()
  const cli = process.env['TEMPORAL_CLI_PATH'] ?? ''
  const run = checkout.run(['server'], { TEMPORAL_CLI_PATH: cli })
  await until('the server', () => run.output().includes('Ctrl-C'))
  const ui = /Temporal UI: (\S+)/.exec(run.output())?.[1] ?? ''
  expect((await fetch(ui)).status).toBe(200)
  process.kill(run.pid, 'SIGINT')
  expect(await run.ended).toBe(130)
  await expect(fetch(ui)).rejects.toThrow()
})
