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

/** A folder inside the project, so that its files find vitest. */
function createFolder(): string {
  mkdirSync(join(project, 'test-results'), { recursive: true })
  const folder = mkdtempSync(join(project, 'test-results', 'reporter-'))
  onTestFinished(() => rm(folder, { recursive: true }))
  return folder
}

/** Runs vitest on files of the given text, and gives what it printed last and kept. `again`: as `./temporal-dev.sh test` does once more. */
async function runVitest(
  files: Readonly<Record<string, string>>,
  filters: readonly string[] = [],
  { folder = createFolder(), again = false } = {},
) {
  writeFileSync(join(folder, 'vitest.config.ts'), configuration)
  for (const [name, text] of Object.entries(files)) {
    writeFileSync(join(folder, name), `import { beforeAll, describe, test } from 'vitest'\n${text}`)
  }
  const command = [join(project, 'node_modules/vitest/vitest.mjs'), 'run', '--root', folder, ...filters]
  const { EVERTHREAD_TEST_AGAIN: _, ...env } = process.env
  const child = spawn(process.execPath, command, {
    stdio: ['ignore', 'pipe', 'ignore'],
    env: again ? { ...env, EVERTHREAD_TEST_AGAIN: '1' } : env,
  })
  let output = ''
  child.stdout.on('data', (chunk: Buffer) => void (output += chunk.toString()))
  await once(child, 'close')
  const kept = join(folder, 'test-results/last-run.json')
  const words = join(folder, 'test-results/again')
  return {
    unsteady: output.split('\n').filter((line) => line.startsWith('unsteady:')),
    again: existsSync(words) ? readFileSync(words, 'utf8') : '',
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
    { title: 'it holds', fullName: 'it holds', project: '', file: 'a.test.ts', state: 'passed' },
    { title: 'it breaks', fullName: 'one > it breaks', project: '', file: 'a.test.ts', state: 'failed' },
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

test('a file that failed in a full run may run again alone, and a test that passes only then is named', async () => {
  const folder = createFolder()
  const files = {
    'a.test.ts': passing,
    // The second time, it passes.
    'b.test.ts': `import { existsSync, writeFileSync } from 'node:fs'
      test('it wavers', () => { if (existsSync('${folder}/seen')) return; writeFileSync('${folder}/seen', ''); throw new Error('x') })`,
    'c.test.ts': "test('it breaks', () => { throw new Error('x') })",
  }
  const first = await runVitest(files, [], { folder })
  expect(first).toMatchObject({ code: 1, lastLine: '1 passed, 2 failed', unsteady: [] })
  expect(first.again.split('\n').toSorted()).toEqual(['', '--project=', 'b.test.ts', 'c.test.ts'])
  const second = await runVitest(files, ['b.test.ts', 'c.test.ts'], { folder, again: true })
  expect(second).toMatchObject({ code: 1, lastLine: '2 passed, 1 failed' })
  expect(second.unsteady).toEqual([
    'unsteady: failed, and passed when its file ran again:  b.test.ts > it wavers',
  ])
  expect(second.kept).toMatchObject([
    { title: 'it holds', state: 'passed' },
    { title: 'it wavers', state: 'passed', isUnsteady: true },
    { title: 'it breaks', state: 'failed' },
  ])
})

test('what fails in many files, or outside a test, does not run again', async () => {
  const broken = "test('it breaks', () => { throw new Error('x') })"
  const many = { 'a.test.ts': broken, 'b.test.ts': broken, 'c.test.ts': broken, 'd.test.ts': broken }
  expect(await runVitest(many)).toMatchObject({ lastLine: '0 passed, 4 failed', again: '' })
  const unloaded = { 'a.test.ts': broken, 'b.test.ts': "import './nowhere.js'" }
  expect(await runVitest(unloaded)).toMatchObject({ lastLine: '0 passed, 2 failed', again: '' })
})
