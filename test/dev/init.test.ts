import { execFile, spawn } from 'node:child_process'
import { once } from 'node:events'
import { cp, readdir, readFile, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'

import { afterEach, beforeEach, expect, test } from 'vitest'

import { startDevServer } from '../support/servers.js'
import { until } from '../support/until.js'
import { COMMAND, initLinked, link, makeFolder, PACKAGE, run } from './linked-project.js'

const TSC = fileURLToPath(new URL('../../node_modules/.bin/tsc', import.meta.url))
const CREATE = fileURLToPath(new URL('../../packages/create-everthread', import.meta.url))

let place: Awaited<ReturnType<typeof makeFolder>>
beforeEach(async () => {
  place = await makeFolder()
})
afterEach(() => place.remove())

test('a new project passes its own types and its own test', async () => {
  const project = await initLinked(place.folder, 'my-agent')
  const [types, tests] = await Promise.all([run(project, [TSC]), run(project, ['--test'])])
  expect(types).toEqual({ code: 0, output: '' })
  expect(tests.output).toContain('pass 1')
  expect(tests.code).toBe(0)
})

test('its worker says in one line that it runs, and nothing else', async () => {
  const [project, server] = await Promise.all([initLinked(place.folder, 'my-agent'), startDevServer()])
  const env = { ...process.env, TEMPORAL_ADDRESS: server.address, EVERTHREAD_LOG_LEVEL: '' }
  const worker = spawn(process.execPath, ['worker.ts'], { cwd: project, env, stdio: 'pipe' })
  let shown = ''
  for (const stream of [worker.stdout, worker.stderr])
    stream.on('data', (chunk: Buffer) => (shown += chunk.toString()))
  await until('the line', async () => shown.includes('A worker runs'))
  worker.kill('SIGTERM')
  await once(worker, 'exit')
  await server.stop()
  expect(shown).toMatch(
    new RegExp(
      `^\\S+ \\[INFO\\] A worker runs: agents support; task queue "everthread-\\w{12}", store \\S+/threads.db, ` +
        `Temporal ${server.address}, namespace "default"\\.\\n$`,
    ),
  )
})

test('the versions are those of this package, and the model is of the provider whose key is set', async () => {
  const given = ['init', 'My Agent!', '--no-install', '--everthread', 'file:../everthread.tgz']
  const { output } = await run(place.folder, [COMMAND, ...given], { ANTHROPIC_API_KEY: 'k' })
  expect(output).toContain('claude-sonnet-4-5 (ANTHROPIC_API_KEY is set)')
  expect(output).toContain('npm run dev')
  const project = join(place.folder, 'My Agent!')
  const { name, dependencies } = JSON.parse(await readFile(join(project, 'package.json'), 'utf8')) as {
    readonly name: string
    readonly dependencies: Readonly<Record<string, string>>
  }
  const own = JSON.parse(await readFile(new URL('../../package.json', import.meta.url), 'utf8')) as {
    readonly version: string
    readonly peerDependencies: Readonly<Record<string, string>>
  }
  expect(name).toBe('my-agent')
  expect(dependencies).toMatchObject({
    everthread: 'file:../everthread.tgz',
    '@temporalio/worker': own.peerDependencies['@temporalio/worker'],
    '@ai-sdk/anthropic': expect.stringMatching(/^\^/),
  })
  expect(await readFile(join(project, 'agents.ts'), 'utf8')).toContain(`from '@ai-sdk/anthropic'`)
})

test.skipIf(process.platform === 'win32').each(["it's $(touch hacked) mine", '-x', 'a b', 'plain-1'])(
  'the line that enters the folder %s runs in a shell as it is',
  async (name) => {
    const { code, output } = await run(place.folder, [COMMAND, 'init', `./${name}`, '--no-install'])
    expect(code).toBe(0)
    const [line = ''] = /cd .*(?= && npm install)/.exec(output) ?? []
    const shell = await promisify(execFile)('sh', ['-c', `${line} && pwd`], { cwd: place.folder })
    expect(shell.stdout.trim().endsWith(`/${name}`)).toBe(true)
    expect(await readdir(place.folder)).toEqual([name])
    if (name === 'plain-1') expect(line).toBe('cd plain-1')
  },
)

test('a folder with files and a file are refused in a sentence, and nothing is written', async () => {
  await writeFile(join(place.folder, 'notes.txt'), 'mine')
  for (const [folder, got] of [
    ['.', 'got one with notes.txt'],
    ['notes.txt', 'got a file of that name'],
  ] as const) {
    const { code, output } = await run(place.folder, [COMMAND, 'init', folder, '--no-install'])
    expect(code).toBe(1)
    expect(output).toContain(
      `Expected "${folder}" to be an empty or a new folder, ${got}: nothing was written.`,
    )
  }
  expect(await readdir(place.folder)).toEqual(['notes.txt'])
})

test('where npm fails the project is whole, and the sentence says what to repeat', async () => {
  const given = ['init', 'a', '--everthread', 'file:./nothing.tgz']
  const { code, output } = await run(place.folder, [COMMAND, ...given], { npm_config_offline: 'true' })
  expect(code).toBe(1)
  expect(output).toMatch(/Expected npm install to succeed, got \d+, .* repeat npm install there\./)
  expect(await readdir(join(place.folder, 'a'))).toContain('agents.ts')
})

test('npm create everthread is the same command', async () => {
  await link(place.folder, 'everthread', PACKAGE)
  const installed = join(place.folder, 'node_modules/create-everthread')
  await cp(CREATE, installed, { recursive: true })
  const { output } = await run(place.folder, [join(installed, 'create-everthread.js'), 'b', '--no-install'])
  expect(output).toContain('Next: cd b && npm install && npm run dev')
})
