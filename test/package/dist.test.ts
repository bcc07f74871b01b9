/** Of what is published: `npm run build` makes it. */
import { execFile } from 'node:child_process'
import { existsSync, globSync, readFileSync } from 'node:fs'
import { dirname, join, relative } from 'node:path'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import { gzipSync } from 'node:zlib'

import { beforeAll, describe, expect, test } from 'vitest'

const PROJECT = fileURLToPath(new URL('../..', import.meta.url))
const DIST = join(PROJECT, 'dist')
const DOORS = [
  'index',
  'client/index',
  'mcp/index',
  'server/index',
  'testing/index',
  'views/index',
  'worker/index',
]
/** For browsers. */
const FOLD = 'fold/index.js'
const HTTP = 'http/index.js'
/** It loads React, which its user has. */
const REACT = 'react/index.js'
const COMMAND = 'cli/everthread.js'
/** Of `everthread dev`, which starts it by its path. */
const PROGRAM = 'dev/worker/worker-program.js'
const RESOLVE = join(PROJECT, 'test/store/processes/resolve-typescript.ts')

/** Imported by no module of Node's: `workflowBundleOptions` and what it alone knows name them. */
const BY_PATH = [
  'workflows/index.js',
  'workflows/interceptors.js',
  'workflows/beside-theirs.js',
  'protocol/payload-converter.js',
  'worker/without-comments.js',
]

const OWN_DEPENDENCIES = new Set([
  ...['@ai-sdk/provider', '@opentelemetry/api', '@temporalio/envconfig', '@temporalio/plugin'],
  ...[
    '@hono/node-server',
    '@hono/zod-openapi',
    'hono',
    'rate-limiter-flexible',
    'kysely',
    'pg',
    'openapi-fetch',
  ],
])

beforeAll(() => {
  if (!existsSync(join(DIST, 'chunks'))) throw new Error('Expected a build in dist: npm run build')
})

describe.each(DOORS)('%s', (door) => {
  test('loads the packages that its sources load, without Kysely, and few files', async () => {
    const [built, source] = await Promise.all([
      loaded(join(DIST, `${door}.js`)),
      loaded(join(PROJECT, 'src', `${door}.ts`)),
    ])
    expect(built.packages).toEqual(source.packages.filter((name) => name !== 'kysely'))
    expect(built.files).toBeLessThan(24)
    expect(source.files).toBeGreaterThan(built.files)
  })
})

test('the door of the fold of events loads nothing', async () => {
  expect(await loaded(join(DIST, FOLD))).toMatchObject({ packages: [] })
})

test('the door of the HTTP client loads what sends its requests', async () => {
  expect(await loaded(join(DIST, HTTP))).toMatchObject({ packages: ['openapi-fetch'] })
})

test.each([FOLD, HTTP, REACT, 'views/index.js'])(
  '%s has nothing of Node, so that a browser loads it',
  (door) => {
    const built = [...reachedFrom([door])].map((file) => readFileSync(join(DIST, file), 'utf8'))
    expect(built.filter((code) => /["']node:|process\.|Buffer/.test(code))).toEqual([])
  },
)

test('AR-W.1 the door of definitions loads no server, database, provider or interface', async () => {
  const { packages } = await loaded(join(PROJECT, 'src/index.ts'))
  expect(packages).toEqual(['zod'])
})

test('the door of views loads no package', async () => {
  const { packages } = await loaded(join(PROJECT, 'src/views/index.ts'))
  expect(packages).toEqual([])
})

test('AR-W.3 AR-S2.2 no provider, connector, interface or telemetry backend is a dependency', () => {
  const { dependencies } = JSON.parse(readFileSync(join(PROJECT, 'package.json'), 'utf8')) as {
    readonly dependencies: Readonly<Record<string, string>>
  }
  // Interfaces of models and telemetry, servers and a client for HTTP, and the stores that a user chooses from.
  expect(Object.keys(dependencies).filter((name) => !OWN_DEPENDENCIES.has(name))).toEqual([])
})

test('no module is in two files that one process loads', () => {
  const bundled = reachedFrom([...DOORS.map((door) => `${door}.js`), FOLD, HTTP, REACT, COMMAND, PROGRAM])
  const sources = [...bundled].flatMap((file) => sourcesOf(file))
  expect(sources.length).toBeGreaterThan(250)
  expect(sources.filter((source, index) => sources.indexOf(source) !== index)).toEqual([])
  const sandbox = reachedFrom(BY_PATH)
  expect([...bundled].filter((file) => sandbox.has(file))).toEqual([])
})

test('every file of code is reached, from a door or by its path', () => {
  const reached = reachedFrom([
    ...DOORS.map((door) => `${door}.js`),
    FOLD,
    HTTP,
    REACT,
    COMMAND,
    PROGRAM,
    ...BY_PATH,
  ])
  // The page's script is found by the server by its folder.
  const code = globSync('**/*.js', { cwd: DIST }).filter((file) => !file.startsWith('page/'))
  expect(code.filter((file) => !reached.has(file))).toEqual([])
})

test('the workflow bundle is made of the files that tsc emits for the sandbox', async () => {
  const { stdout } = await node(`
    import { bundleWorkflowCode, DefaultLogger } from '@temporalio/worker'
    import { EverthreadPlugin, workflowBundleOptions } from 'everthread/worker'
    const { code } = await bundleWorkflowCode({ ...workflowBundleOptions, logger: new DefaultLogger('ERROR') })
    const [source, map] = code.split('\\n//# sourceMappingURL=data:application/json;charset=utf-8;base64,')
    const modules = JSON.parse(Buffer.from(map, 'base64')).sources
    console.log(JSON.stringify({ modules, bytes: source.length, comments: source.includes('Continue-as-new: possible') }))`)
  const { modules, bytes, comments } = JSON.parse(stdout) as {
    readonly modules: readonly string[]
    readonly bytes: number
    readonly comments: boolean
  }
  const ours = modules
    .filter((name) => name.startsWith(PROJECT) && !name.includes('/node_modules/'))
    .map((name) => name.slice(PROJECT.length))
  // What tsc emits has maps, so it has the names of its sources; the entry is the bundler's own.
  expect(ours).toContain('dist/workflows/index-autogenerated-entrypoint.cjs')
  expect(ours.filter((name) => /^src\/(protocol|thread|workflows)\//.test(name)).length).toBe(ours.length - 1)
  expect(ours.length).toBeGreaterThan(10)
  expect(modules.some((name) => name.includes('kysely'))).toBe(false)
  expect(comments).toBe(false)
  expect(bytes).toBeLessThan(800_000)
})

test('a stack names the sources', async () => {
  const failing = node(
    `import { registry } from 'everthread'; registry({ models: [], prompts: [], agents: [{ name: '' }] })`,
    '--enable-source-maps',
  )
  await expect(failing).rejects.toThrow(/at registry \(.*src\/definitions\/registry\.ts:\d+:\d+\)/)
})

test('an error has the name of its class', async () => {
  const { stdout } = await node(`
    import * as door from 'everthread'
    const errors = Object.entries(door).filter(([name]) => name.endsWith('Error'))
    console.log(JSON.stringify(errors.filter(([name, type]) => type.name !== name).concat(errors.length)))`)
  expect(JSON.parse(stdout)).toEqual([expect.any(Number)])
  expect(JSON.parse(stdout)[0]).toBeGreaterThan(10)
})

test('the command is there, and what is inside has its licenses', async () => {
  const { stdout } = await promisify(execFile)(process.execPath, [join(DIST, COMMAND), '--version'])
  expect(stdout).toContain(
    (JSON.parse(readFileSync(join(PROJECT, 'package.json'), 'utf8')) as { readonly version: string }).version,
  )
  expect(readFileSync(join(DIST, 'chunks/kysely-LICENSE'), 'utf8')).toContain('MIT')
  expect(readFileSync(join(DIST, 'chunks/genai-prices-LICENSE'), 'utf8')).toContain('MIT')
})

test('the page has at most 120 KB compressed, with the licenses of what is inside', () => {
  const files = globSync('page/*', { cwd: DIST }).filter((file) => !file.endsWith('.txt'))
  expect(files.map((file) => file.replace(/-[\w-]{10}\./, '.')).toSorted()).toEqual([
    ...['page/icon.svg', 'page/index.html', 'page/page.css', 'page/page.js'],
  ])
  const bytes = files.map((file) => gzipSync(readFileSync(join(DIST, file))).length)
  expect(bytes.reduce((sum, one) => sum + one)).toBeLessThan(120_000)
  const licenses = readFileSync(join(DIST, 'page/LICENSES.txt'), 'utf8')
  for (const name of ['preact', '@preact/signals', 'micromark']) expect(licenses).toContain(`${name}\n\n`)
  // A browser asks for each of them by its hashed name.
  const html = readFileSync(join(DIST, 'page/index.html'), 'utf8')
  for (const file of files.filter((one) => !one.endsWith('.html'))) expect(html).toContain(file)
})

async function loaded(
  module: string,
): Promise<{ readonly packages: readonly string[]; readonly files: number }> {
  const script = join(PROJECT, 'test/package/loaded-packages.ts')
  const { stdout } = await promisify(execFile)(process.execPath, ['--import', RESOLVE, script, module])
  return JSON.parse(stdout) as { readonly packages: readonly string[]; readonly files: number }
}

function node(code: string, ...options: readonly string[]): Promise<{ readonly stdout: string }> {
  const all = [...options, '--input-type=module', '--eval', code]
  return promisify(execFile)(process.execPath, all, { cwd: PROJECT })
}

/** Files of `dist` that these import, at once or later, and themselves. */
function reachedFrom(entries: readonly string[]): ReadonlySet<string> {
  const reached = new Set(entries)
  for (const file of reached) {
    const code = readFileSync(join(DIST, file), 'utf8')
    for (const [, specifier = ''] of code.matchAll(
      /(?:^(?:import|export)[^'"\n]*|\bimport\()['"](\.[^'"]+\.js)['"]/gm,
    ))
      reached.add(relative(DIST, join(DIST, dirname(file), specifier)))
  }
  return reached
}

/** By its source map, which a file without code of ours lacks. */
function sourcesOf(file: string): readonly string[] {
  if (!existsSync(join(DIST, `${file}.map`))) return []
  const { sources } = JSON.parse(readFileSync(join(DIST, `${file}.map`), 'utf8')) as {
    readonly sources: readonly string[]
  }
  return sources.map((source) => join(dirname(file), source))
}
