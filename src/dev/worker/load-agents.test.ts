import { execFile } from 'node:child_process'
import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import { expect, onTestFinished, test } from 'vitest'
import type { describeProblem, loadAgents } from './load-agents.js'

const PROJECT = fileURLToPath(new URL('../../..', import.meta.url))
const RESOLVE = join(PROJECT, 'test/store/processes/resolve-typescript.ts')

/** Runs the two functions in a process of Node's own, because vitest reads TypeScript in another way. */
const PROGRAM = `
  import { loadAgents, describeProblem } from '${join(PROJECT, 'src/dev/worker/load-agents.ts')}'
  const found = []
  for (const file of process.argv.slice(1)) {
    try {
      found.push((await loadAgents(file)).warnings)
    } catch (error) {
      found.push(describeProblem(error))
    }
  }
  console.log(JSON.stringify(found))`

type Case = Readonly<Record<string, string>>

/** For each case the warnings of its registry, or the problem; the first file of a case is loaded, in a folder of its own. */
async function load(
  cases: readonly Case[],
): Promise<readonly (ReturnType<typeof describeProblem> | Registry['warnings'])[]> {
  const folder = await mkdtemp(join(tmpdir(), 'everthread-load-'))
  onTestFinished(() => rm(folder, { recursive: true }))
  await writeFile(join(folder, 'package.json'), '{"type":"module"}')
  const files: string[] = []
  for (const [index, texts] of cases.entries()) {
    await mkdir(join(folder, `${index}`))
    for (const [path, text] of Object.entries(texts)) await writeFile(join(folder, `${index}`, path), text)
    files.push(join(folder, `${index}`, Object.keys(texts)[0] ?? ''))
  }
  const line = ['--import', RESOLVE, '--input-type=module', '--eval', PROGRAM, ...files]
  const { stdout } = await promisify(execFile)(process.execPath, line, { cwd: folder })
  return JSON.parse(stdout.replaceAll(`${folder}/`, '')) as Awaited<ReturnType<typeof load>>
}

type Registry = Awaited<ReturnType<typeof loadAgents>>

const REGISTRY = '{ names: () => ({}), warnings: ["w"] }'

test('the registry is the default export, or the only one that is a registry', async () => {
  const sound = [
    { 'agents.ts': `export default ${REGISTRY} as object` },
    { 'agents.ts': `export const other = 1; export const a = ${REGISTRY}` },
    { 'agents.ts': `export { a } from './a.js'`, 'a.ts': `export const a: object = ${REGISTRY}` },
  ]
  expect(await load(sound)).toEqual(sound.map(() => ['w']))
})

test('agents in the short form are one registry together', async () => {
  const made = `import { agent } from '${join(PROJECT, 'src/index.ts')}'
    const model = { specificationVersion: 'v4', provider: 'x', modelId: 'm', supportedUrls: {} } as never
    export const one = agent({ name: 'one', model, instructions: 'Help.' })
    export const two = agent({ name: 'two', model, instructions: 'Help.' }); export default one`
  expect(await load([{ 'agents.ts': made }])).toEqual([[]])
})

test('a file without a registry, or with several, is a sentence', async () => {
  const texts = ['export const a = 1', '', `export const a = ${REGISTRY}, b = ${REGISTRY}`]
  expect(await load(texts.map((text) => ({ 'agents.ts': text })))).toEqual(
    ['a.', 'a file without exports.', 'a, b: export one of them as default.'].map((got) =>
      expect.stringContaining(
        `expected agents among its exports, results of agent(), or one result of registry() or loadRegistry(), got ${got}`,
      ),
    ),
  )
})

test('what cannot be loaded is a sentence with its place', async () => {
  const cases = [
    { 'agents.ts': 'const a: number = 1\nconst b = = 2' },
    { 'agents.js': 'const a = 1\nconst b = = 2' },
    { 'agents.ts': `import './tools.ts'`, 'tools.ts': 'enum A { x }' },
    { 'agents.ts': '\nnull.x' },
    { 'agents.ts': `import './gone.ts'` },
    { 'agents.ts': `import { b } from './b.ts'`, 'b.ts': 'export const a = 1' },
  ]
  expect(await load(cases)).toEqual([
    '0/agents.ts:2: Expression expected',
    "1/agents.js: Unexpected token '='",
    '2/tools.ts:1: TypeScript enum is not supported in strip-only mode',
    "3/agents.ts:2: Cannot read properties of null (reading 'x')",
    "Cannot find module '4/gone.ts' imported from 4/agents.ts",
    "5/agents.ts:1: The requested module './b.ts' does not provide an export named 'b'",
  ])
})
