import { execFileSync } from 'node:child_process'
import { symlinkSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'

import { createCheckout } from './checkout.js'
import type { Checkout } from './checkout.js'

// What the script needs to say anything at all, and nothing that could install something.
const bareTools = [
  'bash',
  'env',
  'cat',
  'cksum',
  'dirname',
  'grep',
  'ln',
  'mkdir',
  'mktemp',
  'mv',
  'readlink',
]
const moreBareTools = ['rm', 'sed', 'sleep', 'tail', 'uname', 'npm', 'node']

function barePath(checkout: Checkout): string {
  for (const tool of [...bareTools, ...moreBareTools]) {
    const path = execFileSync('sh', ['-c', `command -v ${tool}`], { encoding: 'utf8' }).trim()
    checkout.file('bare/.keep', '')
    symlinkSync(path, join(checkout.folder, 'bare', tool))
  }
  return join(checkout.folder, 'bare')
}

test('doctor says what was found where', async () => {
  const run = createCheckout().run(['doctor'])
  expect(await run.ended).toBe(0)
  expect(run.output()).toMatch(/^ok +Temporal CLI .*temporal-fake \(TEMPORAL_CLI_PATH; temporal version 9/m)
  expect(run.output()).toMatch(
    /^ok +Temporal server .*server \(TEMPORAL_SERVER_BIN_PATH; temporal version 1\.99\.1\)$/m,
  )
  expect(run.output()).toMatch(/^ok +time-skipping test server +\/bin\/true \(TEMPORAL_TEST_SERVER_PATH\)$/m)
  expect(run.output()).toMatch(/^ok +S3 server for tests .*versitygw-fake \(VERSITYGW_PATH\)$/m)
  expect(run.output()).toMatch(
    /^ok +PostgreSQL .*programs \(POSTGRES_BIN_PATH; postgres \(PostgreSQL\) 15\.1\)$/m,
  )
  expect(run.output()).toMatch(/^ok +Chromium .*chromium-fake \(CHROMIUM_PATH\)$/m)
})

test('doctor counts what is missing and says what to do', async () => {
  const checkout = createCheckout()
  const names = [
    'TEMPORAL_CLI_PATH',
    'TEMPORAL_SERVER_BIN_PATH',
    'TEMPORAL_TEST_SERVER_PATH',
    'VERSITYGW_PATH',
  ]
  const environment = {
    PATH: barePath(checkout),
    ...Object.fromEntries(names.map((name) => [name, ''])),
  }
  const run = checkout.run(['doctor'], environment)
  expect(await run.ended).toBe(1)
  expect(run.output()).toMatch(/^MISSING +Temporal CLI +install curl or Go, or set TEMPORAL_CLI_PATH$/m)
  expect(run.output()).toMatch(
    /^MISSING +Temporal server +install curl or Go, or set TEMPORAL_SERVER_BIN_PATH$/m,
  )
  expect(run.output()).toMatch(/^MISSING +time-skipping test server +install curl, or Java 11 and Maven/m)
  expect(run.output()).toMatch(/^MISSING +S3 server for tests +install curl or Go, or set VERSITYGW_PATH$/m)
  expect(run.output()).toContain('4 of the above must be put right')
})

test('a wrong TEMPORAL_CLI_PATH is reported and never replaced', async () => {
  const checkout = createCheckout()
  const environment = { TEMPORAL_CLI_PATH: '/nowhere/temporal' }
  const doctor = checkout.run(['doctor'], environment)
  expect(await doctor.ended).toBe(1)
  expect(doctor.output()).toMatch(/^MISSING +Temporal CLI +TEMPORAL_CLI_PATH names \/nowhere\/temporal/m)
  const install = checkout.run(['install'], environment)
  expect(await install.ended).toBe(1)
  expect(install.output().trim().split('\n')).toHaveLength(1)
})

test('a wrong VERSITYGW_PATH is reported and never replaced', async () => {
  const checkout = createCheckout()
  const environment = { VERSITYGW_PATH: '/nowhere/versitygw' }
  const doctor = checkout.run(['doctor'], environment)
  expect(await doctor.ended).toBe(1)
  expect(doctor.output()).toMatch(/^MISSING +S3 server for tests +VERSITYGW_PATH names \/nowhere\/versitygw/m)
  const install = checkout.run(['install'], environment)
  expect(await install.ended).toBe(1)
  expect(install.output().trim().split('\n')).toHaveLength(1)
})

test('a wrong TEMPORAL_SERVER_BIN_PATH is reported and never replaced', async () => {
  const checkout = createCheckout()
  const environment = { TEMPORAL_SERVER_BIN_PATH: '/nowhere' }
  const doctor = checkout.run(['doctor'], environment)
  expect(await doctor.ended).toBe(1)
  expect(doctor.output()).toMatch(/^MISSING +Temporal server +TEMPORAL_SERVER_BIN_PATH names \/nowhere/m)
  const install = checkout.run(['install'], environment)
  expect(await install.ended).toBe(1)
  expect(install.output().trim().split('\n')).toHaveLength(1)
})

test('a wrong CHROMIUM_PATH is reported and never replaced', async () => {
  const checkout = createCheckout()
  const environment = { CHROMIUM_PATH: '/nowhere' }
  const doctor = checkout.run(['doctor'], environment)
  expect(await doctor.ended).toBe(1)
  expect(doctor.output()).toMatch(/^MISSING +Chromium +CHROMIUM_PATH names \/nowhere/m)
  const install = checkout.run(['install'], environment)
  expect(await install.ended).toBe(1)
  expect(install.output().trim().split('\n')).toHaveLength(1)
})

test('a wrong POSTGRES_BIN_PATH is reported and never replaced', async () => {
  const checkout = createCheckout()
  const environment = { POSTGRES_BIN_PATH: '/nowhere' }
  const doctor = checkout.run(['doctor'], environment)
  expect(await doctor.ended).toBe(1)
  expect(doctor.output()).toMatch(/^MISSING +PostgreSQL +POSTGRES_BIN_PATH names \/nowhere/m)
  const install = checkout.run(['install'], environment)
  expect(await install.ended).toBe(1)
  expect(install.output().trim().split('\n')).toHaveLength(1)
})

test('neither Go nor Java is answered with one sentence', async () => {
  const checkout = createCheckout()
  const PATH = barePath(checkout)
  const noGo = checkout.run(['install'], { PATH, TEMPORAL_CLI_PATH: '' })
  expect(await noGo.ended).toBe(1)
  expect(noGo.output()).toMatch(/no Go to build it; install Go, or set TEMPORAL_CLI_PATH\.$/m)
  const noServer = checkout.run(['install'], { PATH, TEMPORAL_SERVER_BIN_PATH: '' })
  expect(await noServer.ended).toBe(1)
  expect(noServer.output()).toMatch(
    /^temporal-dev: no Temporal server: .* no Go to build it; install Go, or set/m,
  )
  const noS3 = checkout.run(['install'], { PATH, VERSITYGW_PATH: '' })
  expect(await noS3.ended).toBe(1)
  expect(noS3.output()).toMatch(/no Go to build it; install Go, or set VERSITYGW_PATH\.$/m)
  const noJava = checkout.run(['install'], { PATH, TEMPORAL_TEST_SERVER_PATH: '' })
  expect(await noJava.ended).toBe(1)
  expect(noJava.output()).toMatch(/no Java to run it on; install Java 11 or later and Maven/)
})

test('an unknown command or option is one sentence', async () => {
  const checkout = createCheckout()
  for (const commandLine of [['dance'], ['up', '--crash'], ['demo', '--fast'], ['server', '--port', 'x']]) {
    const run = checkout.run(commandLine)
    expect(await run.ended, commandLine.join(' ')).toBe(1)
    expect(run.output().trim().split('\n'), commandLine.join(' ')).toHaveLength(1)
  }
})
