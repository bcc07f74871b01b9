import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { existsSync, mkdirSync, mkdtempSync, readFileSync, writeFileSync } from 'node:fs'
import { rm } from 'node:fs/promises'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { expect, onTestFinished, test } from 'vitest'

const project = fileURLToPath(new URL('../..', import.meta.url))

const configuration = `
import { RunReporter } from '${project}test/support/run-reporter.js'
export default { test: { reporters: ['default', new RunReporter()] } }
`

/** Runs vitest on files of the given text, and gives what it printed last and kept. */
async function runVitest(files: Readonly<Record<string, string>>, filters: readonly string[] = []) {
  // Inside the project, so that the files find vitest.
  mkdirSync(join(project, 'test-results'), { recursive: true })
  const folder = mkdtempSync(join(project, 'test-results', 'reporter-'))
  onTestFinished(() => rm(folder, { recursive: true }))
  writeFileSync(join(folder, 'vitest.config.ts'), configuration)
  for (const [name, text] of Object.entries(files)) {
    writeFileSync(join(folder, name), `import { beforeAll, describe, test } from 'vitest'\n${text}`)
  }
  const command = [join(project, 'node_modules/vitest/vitest.mjs'), 'run', '--root', folder, ...filters]
  const child = spawn(process.execPath, command, { stdio: ['ignore', 'pipe', 'ignore'] })
  let output = ''
  child.stdout.on('data', (chunk: Buffer) => void (output += chunk.toString()))
  await once(child, 'close')
  const kept = join(folder, 'test-results/last-run.json')
  return {
    code: child.exitCode,
    lastLine: output.split('\n').at(-2),
    end: output.slice(-1),
    kept: existsSync(kept)
      ? (JSON.parse(readFileSync(kept, 'utf8')) as { readonly tests: unknown }).tests
      : undefined,
  }
}

const passing = "test('it holds', () => {})"

test('the last line counts the tests and nothing else', async () => {
  const run = await runVitest({
    'a.test.ts': passing,
    'b.test.ts': `${passing}\ntest.skip('later', () => {})`,
  })
  expect(run).toMatchObject({ code: 0, lastLine: '2 passed, 0 failed, 1 skipped', end: '\n' })
})

test('a full run is kept with every test and state', async () => {
  const broken = "describe('one', () => { test('it breaks', () => { throw new Error('x') }) })"
  const run = await runVitest({ 'a.test.ts': `${passing}\n${broken}` })
  expect(run).toMatchObject({ code: 1, lastLine: '1 passed, 1 failed' })
  expect(run.kept).toEqual([
    { title: 'it holds', fullName: 'it holds', file: 'a.test.ts', state: 'passed' },
    { title: 'it breaks', fullName: 'one > it breaks', file: 'a.test.ts', state: 'failed' },
  ])
})

test('a filtered run is not kept', async () => {
  const files = { 'a.test.ts': passing, 'b.test.ts': passing }
  expect(await runVitest(files, ['a.test.ts'])).toMatchObject({
    lastLine: '1 passed, 0 failed',
    kept: undefined,
  })
  expect((await runVitest(files, ['-t', 'holds'])).kept).toBeUndefined()
})

test('a file that does not load counts as failed', async () => {
  const run = await runVitest({ 'a.test.ts': passing, 'b.test.ts': "import './nowhere.js'" })
  expect(run).toMatchObject({ code: 1, lastLine: '1 passed, 1 failed' })
})

test('a failing hook and a stray rejection count as failed', async () => {
  const hook =
    "describe('one', () => { beforeAll(() => { throw new Error('x') }); test('it waits', () => {}) })"
  const hooked = await runVitest({ 'a.test.ts': hook })
  expect(hooked).toMatchObject({ code: 1, lastLine: '0 passed, 1 failed, 1 skipped' })
  const stray = "test('it rejects', async () => { void Promise.reject(new Error('x')) })"
  expect(await runVitest({ 'a.test.ts': stray })).toMatchObject({ code: 1, lastLine: '1 passed, 1 failed' })
})

test('a run without a test is a failed one', async () => {
  expect(await runVitest({}, ['nothing'])).toMatchObject({ code: 1, lastLine: '0 passed, 1 failed' })
})
