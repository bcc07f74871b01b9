import { execFileSync } from 'node:child_process'
import { createHash } from 'node:crypto'
import { existsSync, readFileSync, readdirSync, symlinkSync } from 'node:fs'
import { hostname } from 'node:os'
import { join } from 'node:path'
import { expect, test } from 'vitest'

import { until } from '../support/until.js'
import { createCheckout, isRunning } from './checkout.js'
import type { Checkout } from './checkout.js'

interface Delivery {
  readonly of: string
  readonly files: readonly string[]
  /** Before it delivers. */
  readonly lines?: readonly string[]
}

/** A curl that delivers an archive of these files of the folder `archive`, whatever is asked for. Answers its checksum. */
function deliver(checkout: Checkout, { of: name, files, lines = [] }: Delivery): string {
  const archive = join(checkout.folder, name)
  execFileSync('tar', ['-czf', archive, '-C', join(checkout.folder, 'archive'), ...files])
  checkout.program('curl', [
    '#!/bin/bash',
    ...lines,
    'while [ "$1" != -o ]; do shift; done',
    `cp ${archive} "$2"`,
  ])
  const sum = createHash('sha256').update(readFileSync(archive)).digest('hex')
  pin(checkout, sum, name)
  return sum
}

function pin(checkout: Checkout, sum: string, name: string): void {
  checkout.file('scripts/dev/checksums.txt', `${sum}  ${name}\n`)
}

const platform = `${process.platform}_${process.arch.replace('x64', 'amd64')}`
const CLI = `temporal_cli_1.5.1_${platform}.tar.gz`

/** A curl that delivers an archive with a CLI in it, and counts how often it was asked. */
function deliverCli(checkout: Checkout, lines: readonly string[] = []): string {
  const version = 'echo "temporal version 1.5.1 (Server 1.29.1, UI 2.42.1)"'
  checkout.program('temporal', ['#!/bin/sh', version], 'archive')
  const asked = `echo asked >>${checkout.folder}/requests`
  return deliver(checkout, { of: CLI, files: ['temporal'], lines: [asked, ...lines] })
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

/** A Go that notes the module and the packages of a build, and leaves what these lines put into `$out`. */
function buildWithGo(checkout: Checkout, lines: readonly string[]): void {
  checkout.program('go', [
    '#!/bin/sh',
    'if [ "$1" = env ]; then exit; fi',
    'cat "$2/go.mod" >>requests',
    'echo "$*" >>requests',
    'while [ "$1" != -o ]; do shift; done',
    'out=$2',
    ...lines,
  ])
}

test('a failed download falls back to a build, which leaves only the binary', async () => {
  const checkout = createCheckout()
  checkout.program('curl', ['#!/bin/sh', 'echo "curl: (6) no such host" >&2; exit 6'])
  buildWithGo(checkout, [
    'mkdir -p "$GOMODCACHE" "$GOCACHE" && touch "$GOMODCACHE/module" "$GOCACHE/object"',
    'printf \'#!/bin/sh\\necho "temporal version 0.0.0-DEV (Server 1.29.1, UI 2.42.1)"\\n\' >"$out/temporal"',
    'chmod +x "$out/temporal"',
  ])
  const run = checkout.run(['install'], installCli)
  expect(await run.ended).toBe(0)
  expect(run.output()).toContain('no official download (curl: (6) no such host)')
  expect(checkout.read('requests')).toMatch(
    /github\.com\/temporalio\/cli v1\.5\.1\n[^]* github\.com\/temporalio\/cli\/cmd\/temporal\n/,
  )
  expect(readdirSync(join(checkout.folder, 'cache'), { recursive: true })).toEqual([
    'temporal-cli-1.5.1',
    'temporal-cli-1.5.1/temporal',
  ])
})

test('a download that is not what was published is thrown away', async () => {
  const checkout = createCheckout()
  deliverCli(checkout)
  checkout.program('go', ['#!/bin/sh', 'exit 1'])
  pin(checkout, '0'.repeat(64), CLI)
  const run = checkout.run(['install'], installCli)
  expect(await run.ended).toBe(1)
  expect(run.output()).toContain(`the download is thrown away: expected ${'0'.repeat(64)} for ${CLI}, got`)
  // Of a version without a pin, where nothing is published beside it that names it.
  pin(checkout, '0'.repeat(64), 'another')
  const again = checkout.run(['install'], installCli)
  expect(await again.ended).toBe(1)
  expect(again.output()).toContain('the download is thrown away: expected a published checksum for')
  expect(readdirSync(join(checkout.folder, 'cache'))).toEqual([])
})

test.each([
  ['a list of checksums', (sum: string) => `${sum}  ${CLI}\n`],
  [
    'a description of a release',
    (sum: string) =>
      JSON.stringify(
        {
          assets: [
            { name: 'a', digest: 'sha256:0' },
            { name: CLI, digest: `sha256:${sum}` },
          ],
        },
        null,
        2,
      ),
  ],
])('a version without a pin is compared with %s', async (_what, published) => {
  const checkout = createCheckout()
  const sum = deliverCli(checkout)
  pin(checkout, '0'.repeat(64), 'another')
  const list = checkout.file('published', published(sum))
  checkout.program('curl', [
    '#!/bin/bash',
    'url=${!#}',
    'while [ "$1" != -o ]; do shift; done',
    `case "$url" in *checksums.txt) cp ${list} "$2" ;; *) cp ${join(checkout.folder, CLI)} "$2" ;; esac`,
  ])
  const run = checkout.run(['install'], installCli)
  expect(await run.ended, run.output()).toBe(0)
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
  const [system = '', architecture = ''] = platform.split('_')
  const name = `versitygw_v1.8.0_${system[0]?.toUpperCase()}${system.slice(1)}_${architecture.replace('amd64', 'x86_64')}`
  checkout.program('versitygw', program.trimEnd().split('\n'), `archive/${name}`)
  deliver(checkout, { of: `${name}.tar.gz`, files: [name] })
  expect(await checkout.run(['install'], { VERSITYGW_PATH: '' }).ended).toBe(0)
  expect(checkout.read('cache/versitygw-1.8.0/versitygw')).toBe(program)

  checkout.program('curl', ['#!/bin/sh', 'exit 6'])
  buildWithGo(checkout, [
    `printf '${program.replaceAll('\n', '\\n')}' >"$out/versitygw"; chmod +x "$out/versitygw"`,
  ])
  const EVERTHREAD_CACHE = `${checkout.folder}/other-cache`
  expect(await checkout.run(['install'], { VERSITYGW_PATH: '', EVERTHREAD_CACHE }).ended).toBe(0)
  expect(checkout.read('requests')).toMatch(
    /github\.com\/versity\/versitygw v1\.8\.0\n[^]* github\.com\/versity\/versitygw\/cmd\/versitygw\n/,
  )
  expect(readdirSync(EVERTHREAD_CACHE, { recursive: true })).toEqual([
    'versitygw-1.8.0',
    'versitygw-1.8.0/versitygw',
  ])
})

test('the Temporal server comes with its SQL tool, as a download or a build', async () => {
  const checkout = createCheckout()
  checkout.program('temporal-server', ['#!/bin/sh', 'echo "temporal version 1.29.1"'], 'archive')
  checkout.program('temporal-sql-tool', ['#!/bin/sh', 'echo update-schema'], 'archive')
  deliver(checkout, {
    of: `temporal_1.29.1_${platform}.tar.gz`,
    files: ['temporal-server', 'temporal-sql-tool'],
  })
  const folder = 'temporal-server-1.29.1'
  const installed = new Set([folder, `${folder}/temporal-server`, `${folder}/temporal-sql-tool`])
  const filesOf = (cache: string) => new Set(readdirSync(cache, { recursive: true, encoding: 'utf8' }))
  expect(await checkout.run(['install'], { TEMPORAL_SERVER_BIN_PATH: '' }).ended).toBe(0)
  expect(filesOf(join(checkout.folder, 'cache'))).toEqual(installed)

  // Go names a program by its folder.
  checkout.program('curl', ['#!/bin/sh', 'exit 6'])
  buildWithGo(checkout, [
    `cp ${checkout.folder}/archive/temporal-server "$out/server"`,
    `cp ${checkout.folder}/archive/temporal-sql-tool "$out/sql"`,
  ])
  const EVERTHREAD_CACHE = `${checkout.folder}/other-cache`
  expect(await checkout.run(['install'], { TEMPORAL_SERVER_BIN_PATH: '', EVERTHREAD_CACHE }).ended).toBe(0)
  const requests = checkout.read('requests')
  // With the dependencies of the CLI, which holds the server.
  expect(requests).toContain(
    'require github.com/temporalio/cli v1.5.1\nrequire go.temporal.io/server v1.29.1\n',
  )
  expect(requests).toContain(' go.temporal.io/server/cmd/server go.temporal.io/server/cmd/tools/sql\n')
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
