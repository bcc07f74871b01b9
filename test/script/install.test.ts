import { existsSync, readdirSync, symlinkSync } from 'node:fs'
import { hostname } from 'node:os'
import { join } from 'node:path'
import { expect, test } from 'vitest'

import { until } from '../support/until.js'
import { createCheckout, isRunning } from './checkout.js'
import type { Checkout } from './checkout.js'

/** A curl that delivers an archive with a CLI in it, and counts how often it was asked. */
function deliverCli(checkout: Checkout, lines: readonly string[] = []): void {
  checkout.file('archive/temporal', '#!/bin/sh\necho "temporal version 1.5.1 (Server 1.29.1, UI 2.42.1)"\n')
  checkout.program('curl', [
    '#!/bin/bash',
    `echo asked >>${checkout.folder}/requests`,
    ...lines,
    'while [ "$1" != -o ]; do shift; done',
    `chmod +x ${checkout.folder}/archive/temporal`,
    `tar -czf "$2" -C ${checkout.folder}/archive temporal`,
  ])
}

const installCli = { TEMPORAL_CLI_PATH: '' }

test('two runs at once install the Temporal CLI once', async () => {
  const checkout = createCheckout()
  deliverCli(checkout, [`until [ -e ${checkout.folder}/go-on ]; do sleep 0.05; done`])
  const first = checkout.run(['install'], installCli)
  await until('the first run to download', () => checkout.exists('requests'))
  const second = checkout.run(['install'], installCli)
  await until('the second run to wait', () => second.output().includes('waiting for it'))
  checkout.file('go-on', '')
  expect(await first.ended).toBe(0)
  expect(await second.ended).toBe(0)
  expect(checkout.read('requests')).toBe('asked\n')
  expect(readdirSync(join(checkout.folder, 'cache'))).toEqual(['temporal-cli-1.5.1'])
})

test('a lock whose holder is dead is taken over', async () => {
  const checkout = createCheckout()
  deliverCli(checkout)
  checkout.file('cache/.keep', '')
  symlinkSync(`${hostname()}:4194999`, join(checkout.folder, 'cache/temporal-cli.lock'))
  expect(await checkout.run(['install'], installCli).ended).toBe(0)
  expect(existsSync(join(checkout.folder, 'cache/temporal-cli-1.5.1/temporal'))).toBe(true)
})

test('a cached CLI that does not run is installed anew', async () => {
  const checkout = createCheckout()
  deliverCli(checkout)
  checkout.file('cache/temporal-cli-1.5.1/temporal', 'cut off')
  expect(await checkout.run(['install'], installCli).ended).toBe(0)
  expect(checkout.read('requests')).toBe('asked\n')
  expect(await checkout.run(['install'], installCli).ended).toBe(0)
  expect(checkout.read('requests')).toBe('asked\n')
})

test('a failed download falls back to a build, which leaves only the binary', async () => {
  const checkout = createCheckout()
  checkout.program('curl', ['#!/bin/sh', 'echo "curl: (6) no such host" >&2; exit 6'])
  checkout.program('go', [
    '#!/bin/sh',
    'if [ "$1" = env ]; then exit; fi',
    'echo "$*" >>requests',
    'mkdir -p "$GOMODCACHE" "$GOCACHE" && touch "$GOMODCACHE/module" "$GOCACHE/object"',
    'printf \'#!/bin/sh\\necho "temporal version 0.0.0-DEV (Server 1.29.1, UI 2.42.1)"\\n\' >"$GOBIN/temporal"',
    'chmod +x "$GOBIN/temporal"',
  ])
  const run = checkout.run(['install'], installCli)
  expect(await run.ended).toBe(0)
  expect(run.output()).toContain('no official download (curl: (6) no such host)')
  expect(checkout.read('requests')).toContain('github.com/temporalio/cli/cmd/temporal@v1.5.1')
  expect(readdirSync(join(checkout.folder, 'cache'), { recursive: true })).toEqual([
    'temporal-cli-1.5.1',
    'temporal-cli-1.5.1/temporal',
  ])
})

test('a stopped install ends its download and leaves nothing', async () => {
  const checkout = createCheckout()
  deliverCli(checkout, [`echo $$ >${checkout.folder}/curl-pid; sleep 600`])
  const run = checkout.run(['install'], installCli)
  await until('the download', () => checkout.exists('curl-pid') && checkout.read('curl-pid') !== '')
  process.kill(run.pid, 'SIGINT')
  expect(await run.ended).toBe(130)
  expect(isRunning(Number(checkout.read('curl-pid')))).toBe(false)
  expect(readdirSync(join(checkout.folder, 'cache'))).toEqual([])
})

test('the S3 server comes as a download, else as a build', async () => {
  const checkout = createCheckout()
  const program = '#!/bin/sh\necho "Version  : v1.8.0"\n'
  checkout.program('curl', [
    '#!/bin/bash',
    'url=${!#}',
    'while [ "$1" != -o ]; do shift; done',
    `name=$(basename "$url" .tar.gz); mkdir -p ${checkout.folder}/archive/$name`,
    `printf '${program.replaceAll('\n', '\\n')}' >${checkout.folder}/archive/$name/versitygw`,
    `chmod +x ${checkout.folder}/archive/$name/versitygw`,
    `tar -czf "$2" -C ${checkout.folder}/archive "$name"`,
  ])
  expect(await checkout.run(['install'], { VERSITYGW_PATH: '' }).ended).toBe(0)
  expect(checkout.read('cache/versitygw-1.8.0/versitygw')).toBe(program)

  checkout.program('curl', ['#!/bin/sh', 'exit 6'])
  checkout.program('go', [
    '#!/bin/sh',
    'if [ "$1" = env ]; then exit; fi',
    'echo "$*" >>requests',
    `printf '${program.replaceAll('\n', '\\n')}' >"$GOBIN/versitygw"; chmod +x "$GOBIN/versitygw"`,
  ])
  const EVERTHREAD_CACHE = `${checkout.folder}/other-cache`
  expect(await checkout.run(['install'], { VERSITYGW_PATH: '', EVERTHREAD_CACHE }).ended).toBe(0)
  expect(checkout.read('requests')).toContain('github.com/versity/versitygw/cmd/versitygw@v1.8.0')
  expect(readdirSync(EVERTHREAD_CACHE, { recursive: true })).toEqual([
    'versitygw-1.8.0',
    'versitygw-1.8.0/versitygw',
  ])
})

test('the Temporal server comes with its SQL tool, as a download or a build', async () => {
  const checkout = createCheckout()
  checkout.program('temporal-server', ['#!/bin/sh', 'echo "temporal version 1.29.1"'], 'archive')
  checkout.program('temporal-sql-tool', ['#!/bin/sh', 'echo update-schema'], 'archive')
  checkout.program('curl', [
    '#!/bin/bash',
    'while [ "$1" != -o ]; do shift; done',
    `tar -czf "$2" -C ${checkout.folder}/archive temporal-server temporal-sql-tool`,
  ])
  const folder = 'temporal-server-1.29.1'
  const installed = new Set([folder, `${folder}/temporal-server`, `${folder}/temporal-sql-tool`])
  const filesOf = (cache: string) => new Set(readdirSync(cache, { recursive: true, encoding: 'utf8' }))
  expect(await checkout.run(['install'], { TEMPORAL_SERVER_BIN_PATH: '' }).ended).toBe(0)
  expect(filesOf(join(checkout.folder, 'cache'))).toEqual(installed)

  // Go names a program by its folder.
  checkout.program('curl', ['#!/bin/sh', 'exit 6'])
  checkout.program('go', [
    '#!/bin/sh',
    'if [ "$1" = env ]; then exit; fi',
    'echo "$*" >>requests',
    `cp ${checkout.folder}/archive/temporal-server "$GOBIN/server"`,
    `cp ${checkout.folder}/archive/temporal-sql-tool "$GOBIN/sql"`,
  ])
  const EVERTHREAD_CACHE = `${checkout.folder}/other-cache`
  expect(await checkout.run(['install'], { TEMPORAL_SERVER_BIN_PATH: '', EVERTHREAD_CACHE }).ended).toBe(0)
  expect(checkout.read('requests')).toContain('go.temporal.io/server/cmd/server@v1.29.1')
  expect(checkout.read('requests')).toContain('go.temporal.io/server/cmd/tools/sql@v1.29.1')
  expect(filesOf(EVERTHREAD_CACHE)).toEqual(installed)
})

test('a Temporal server without its SQL tool is installed anew', async () => {
  const checkout = createCheckout()
  checkout.program(
    'temporal-server',
    ['#!/bin/sh', 'echo "temporal version 1.29.1"'],
    'cache/temporal-server-1.29.1',
  )
  checkout.program('curl', ['#!/bin/sh', 'echo asked >>requests; exit 6'])
  checkout.program('go', ['#!/bin/sh', 'exit 1'])
  const run = checkout.run(['install'], { TEMPORAL_SERVER_BIN_PATH: '' })
  expect(await run.ended).toBe(1)
  expect(checkout.read('requests')).toBe('asked\n')
  expect(run.output()).toMatch(/no Temporal server: the build failed as shown/)
})
