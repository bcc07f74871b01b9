/** What a user reads who has installed everthread without all that a door needs. `npm run build` makes what is tested. */
import { execFile } from 'node:child_process'
import { cpSync, existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync, symlinkSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'

import { afterAll, afterEach, beforeAll, beforeEach, expect, test } from 'vitest'

const PROJECT = fileURLToPath(new URL('../..', import.meta.url))

interface Package {
  readonly dependencies: Readonly<Record<string, string>>
  readonly peerDependencies: Readonly<Record<string, string>>
  readonly peerDependenciesMeta: Readonly<Record<string, unknown>>
}

/** A user's project with everthread, what npm installs with it, and no optional peer. */
let folder: string
let installed: string[]

beforeAll(() => {
  if (!existsSync(join(PROJECT, 'dist/chunks'))) throw new Error('Expected a build in dist: npm run build')
  folder = mkdtempSync(join(tmpdir(), 'everthread-peers-'))
  installed = []
  // A copy: Node looks for what it imports beside it.
  for (const part of ['dist', 'package.json'])
    cpSync(join(PROJECT, part), join(folder, 'node_modules/everthread', part), { recursive: true })
  const text = readFileSync(join(PROJECT, 'package.json'), 'utf8')
  const { dependencies, peerDependencies, peerDependenciesMeta } = JSON.parse(text) as Package
  for (const name of Object.keys({ ...dependencies, ...peerDependencies }))
    if (!(name in peerDependenciesMeta)) install(name)
})

beforeEach(() => {
  installed = []
})

afterEach(() => {
  for (const place of installed) rmSync(place)
})

afterAll(() => rmSync(folder, { recursive: true, force: true }))

const LOADS = {
  import: (door: string) => `await import('everthread/${door}').catch(show)`,
  require: (door: string) => `
    const { createRequire } = await import('node:module')
    try { createRequire(process.cwd() + '/')('everthread/${door}') } catch (error) { show(error) }`,
}

test.each([
  ['import', 'worker', [], 'activity worker workflow'],
  ['require', 'worker', [], 'activity worker workflow'],
  ['import', 'worker', ['worker', 'workflow'], 'activity'],
  ['import', 'worker', ['activity', 'testing'], 'worker workflow'],
  ['import', 'testing', [], 'activity worker workflow'],
  ['import', 'testing', ['activity', 'worker', 'workflow'], 'testing'],
] as const)(
  '%s of everthread/%s with the peers %j says in one sentence to install %s',
  async (way, door, peers, missing) => {
    for (const peer of peers) install(`@temporalio/${peer}`)
    const names = missing.split(' ').map((name) => `@temporalio/${name}`)
    const hint = ![...peers, ...names].some((name) => name.endsWith('testing'))
      ? ' (everthread/testing needs @temporalio/testing too)'
      : ''
    expect(await run(LOADS[way](door))).toEqual({
      name: 'ConfigError',
      problems: [
        `Expected ${names.join(', ')} beside everthread, got none: run npm install ${names.join(' ')}${hint}`,
      ],
    })
  },
)

test('an MCP server without its package says what to install', async () => {
  const shown = await run(`
    const [{ ThreadClient }, { createThreadApp }] = [await import('everthread/client'), await import('everthread/server')]
    const tokens = [{ token: 'a-token-that-is-long' }]
    try { createThreadApp({ client: new ThreadClient(), tokens, mcp: true }) } catch (error) { show(error) }`)
  expect(shown).toMatchObject({
    problems: [
      'Expected @modelcontextprotocol/server beside everthread, got none: run npm install @modelcontextprotocol/server',
    ],
  })
})

test('a client of MCP servers without its package says what to install', async () => {
  const shown = await run(`
    const { mcpServer } = await import('everthread/mcp')
    try { mcpServer({ name: 'files', command: 'files', tools: 'all' }) } catch (error) { show(error) }`)
  expect(shown).toMatchObject({
    problems: [
      "mcpServer 'files': expected @modelcontextprotocol/client beside everthread, got none: run npm install @modelcontextprotocol/client",
    ],
  })
})

test('workflow code that is bundled without its peer says so, and not what webpack says', async () => {
  for (const peer of ['activity', 'worker', 'testing']) install(`@temporalio/${peer}`)
  const shown = await run(`
    const { bundleWorkflowCode } = await import('@temporalio/worker')
    const { workflowBundleOptions } = await import('everthread/worker')
    await bundleWorkflowCode(workflowBundleOptions).catch(show)`)
  expect(shown).toEqual({
    name: 'ConfigError',
    problems: [
      'Expected @temporalio/workflow beside everthread, got none: run npm install @temporalio/workflow',
    ],
  })
})

test('definitions, client, server and the command need no optional peer', async () => {
  const doors = ['everthread', 'everthread/client', 'everthread/server']
  const loads = doors.map((door) => `names.push(...Object.keys(await import('${door}')))`).join('; ')
  const names = await run(`const names = []; ${loads}; show({ name: names.length })`)
  expect(names).toEqual({ name: expect.any(Number) })
  const command = join(folder, 'node_modules/everthread/dist/cli/everthread.js')
  await expect(promisify(execFile)(process.execPath, [command, '--help'])).resolves.toMatchObject({
    stdout: expect.stringContaining('everthread'),
  })
})

test('with its peers each door loads', async () => {
  for (const peer of ['activity', 'worker', 'workflow', 'testing']) install(`@temporalio/${peer}`)
  const shown = await run(`
    const { createWorker } = await import('everthread/worker')
    const { createTestEnvironment } = await import('everthread/testing')
    show({ name: typeof createWorker + ' ' + typeof createTestEnvironment })`)
  expect(shown).toEqual({ name: 'function function' })
})

/** What the code gives to `show`. */
async function run(code: string): Promise<unknown> {
  const show = `const show = ({ name, problems }) => console.log(JSON.stringify({ name, problems }));`
  const all = ['--input-type=module', '--eval', show + code]
  const { stdout } = await promisify(execFile)(process.execPath, all, { cwd: folder })
  return JSON.parse(stdout)
}

function install(name: string): void {
  const place = join(folder, 'node_modules', name)
  mkdirSync(dirname(place), { recursive: true })
  symlinkSync(join(PROJECT, 'node_modules', name), place)
  installed.push(place)
}
