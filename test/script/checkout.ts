// A checkout in a temporary folder with the real temporal-dev.sh, and small programs in place of the CLI,
// the demo and the worker, so that what the script itself does can be tested in a second.
import { execFileSync, spawn } from 'node:child_process'
import { once } from 'node:events'
import {
  chmodSync,
  cpSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs'
import { rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'

import { onTestFinished } from 'vitest'

const project = fileURLToPath(new URL('../..', import.meta.url))

export interface ScriptRun {
  readonly pid: number
  /** All that was printed so far, on both streams. */
  output(): string
  /** The exit code, when it has ended. */
  readonly ended: Promise<number | null>
}

export interface Checkout {
  readonly folder: string
  /** A command line found before all others by the script, unless it has a place of its own. */
  program(name: string, lines: readonly string[], place?: string): string
  file(path: string, text: string): string
  read(path: string): string
  exists(path: string): boolean
  run(commandLine: readonly string[], environment?: Readonly<Record<string, string>>): ScriptRun
}

/** Answers `--version`, and `server start-dev` by listening on the port, with a child of its own. */
const fakeCli = (node: string): readonly string[] => [
  `#!${node}`,
  'const [command] = process.argv.slice(2)',
  "if (command === '--version') { console.log('temporal version 9.9.9 (Server 1.29.1, UI 2.42.1)'); process.exit() }",
  "const { appendFileSync } = require('node:fs')",
  "const child = require('node:child_process').spawn('sleep', ['600'])",
  "appendFileSync('pids', `${process.pid}\\n${child.pid}\\n`)",
  "appendFileSync('server-arguments', process.argv.slice(2).join('\\n'))",
  "const port = Number(process.argv.find((word) => word.startsWith('--port=')).slice(7))",
  "require('node:net').createServer().listen(port, '127.0.0.1', () => console.log(`Server:  localhost:${port}`))",
]

/** Makes the checkout, with servers that count as installed, and removes it after the test. */
export function createCheckout(): Checkout {
  const folder = mkdtempSync(join(tmpdir(), 'everthread-checkout-'))
  const node = process.execPath
  const checkout: Checkout = {
    folder,
    program: (name, lines, place = 'programs') => {
      const path = checkout.file(`${place}/${name}`, `${lines.join('\n')}\n`)
      chmodSync(path, 0o755)
      return path
    },
    file: (path, text) => {
      mkdirSync(dirname(join(folder, path)), { recursive: true })
      writeFileSync(join(folder, path), text)
      return join(folder, path)
    },
    read: (path) => readFileSync(join(folder, path), 'utf8'),
    exists: (path) => existsSync(join(folder, path)),
    run: (commandLine, environment = {}) => runScript(checkout, commandLine, environment),
  }
  cpSync(join(project, 'temporal-dev.sh'), join(folder, 'temporal-dev.sh'))
  cpSync(join(project, 'scripts/dev'), join(folder, 'scripts/dev'), { recursive: true })
  cpSync(join(project, 'test/python'), join(folder, 'test/python'), { recursive: true })
  checkout.file(
    'package.json',
    '{ "type": "commonjs", "scripts": { "build": "mkdir -p dist && touch dist/index.js" } }',
  )
  checkout.file('package-lock.json', '{}')
  checkout.file('src/index.ts', '')
  for (const name of ['scripts/build.ts', 'scripts/locked-packages.ts']) checkout.file(name, '')
  for (const name of ['tsconfig.json', 'tsconfig.build.json']) checkout.file(name, '{}')
  mkdirSync(join(folder, 'node_modules/.bin'), { recursive: true })
  symlinkSync(node, join(folder, 'node_modules/.bin/node'))
  const stamp = execFileSync('cksum', { input: '{}', encoding: 'utf8' })
  checkout.file('node_modules/.everthread-stamp', stamp)
  checkout.program('temporal-fake', fakeCli(node))
  for (const name of ['initdb', 'postgres'])
    checkout.program(name, ['#!/bin/sh', 'echo "postgres (PostgreSQL) 15.1"'])
  // Not in PATH: there it would be found by the tests that install it.
  checkout.program('temporal-server', ['#!/bin/sh', 'echo "temporal version 1.99.1"'], 'server')
  checkout.program('temporal-sql-tool', ['#!/bin/sh', 'echo "update-schema"'], 'server')
  checkout.program('versitygw-fake', [
    '#!/bin/sh',
    'echo "Version  : v9.9.9"; sleep 0.1; echo "Build    : none"',
  ])
  checkout.program('chromium-fake', ['#!/bin/sh', 'echo "Chromium 99.0.1"'])
  onTestFinished(() => rm(folder, { recursive: true, force: true }))
  return checkout
}

function runScript(
  checkout: Checkout,
  commandLine: readonly string[],
  environment: Readonly<Record<string, string>>,
): ScriptRun {
  const child = spawn(join(checkout.folder, 'temporal-dev.sh'), commandLine, {
    cwd: checkout.folder,
    stdio: ['ignore', 'pipe', 'pipe'],
    env: {
      HOME: checkout.folder,
      PATH: `${join(checkout.folder, 'programs')}:${process.env['PATH']}`,
      TMPDIR: process.env['TMPDIR'],
      EVERTHREAD_CACHE: join(checkout.folder, 'cache'),
      TEMPORAL_CLI_PATH: join(checkout.folder, 'programs/temporal-fake'),
      TEMPORAL_TEST_SERVER_PATH: '/bin/true',
      TEMPORAL_SERVER_BIN_PATH: join(checkout.folder, 'server'),
      POSTGRES_BIN_PATH: join(checkout.folder, 'programs'),
      VERSITYGW_PATH: join(checkout.folder, 'programs/versitygw-fake'),
      EVERTHREAD_PYTHON: '/bin/true',
      CHROMIUM_PATH: join(checkout.folder, 'programs/chromium-fake'),
      ...environment,
    },
  })
  let output = ''
  const read = (chunk: Buffer): void => void (output += chunk.toString())
  child.stdout.on('data', read)
  child.stderr.on('data', read)
  const ended = once(child, 'close').then(() => child.exitCode)
  onTestFinished(async () => {
    child.kill('SIGTERM')
    await ended
  })
  return { pid: child.pid ?? 0, output: () => output, ended }
}

/** Whether a process with this id is there. */
export function isRunning(pid: number): boolean {
  try {
    process.kill(pid, 0)
    return true
  } catch {
    return false
  }
}
