// `npm run build`: dist, as it is published (decision 44). Declarations and what webpack takes by path are tsc's, a file
// for each module; all else that runs is bundled into the doors of package.json and the chunks that they share.
import { spawnSync } from 'node:child_process'
import { createHash } from 'node:crypto'
import {
  chmodSync,
  copyFileSync,
  existsSync,
  globSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  writeFileSync,
} from 'node:fs'
import { join } from 'node:path'

import { rolldown } from 'rolldown'
import type { InputOptions } from 'rolldown'
import prices from '../src/definitions/prices/price-table.json' with { type: 'json' }

const ROOT = join(import.meta.dirname, '..')
const SOURCE = join(ROOT, 'src')
const DIST = join(ROOT, 'dist')
/** At the depth of `dist`, so that paths in source maps hold; it takes that place when it is whole. Builds may meet. */
const NEXT = join(ROOT, `dist-next-${process.pid}`)
const LAST = join(ROOT, `dist-last-${process.pid}`)

/** The entries of workflow code, and a loader of its bundler: both see files, not imports (`src/worker/workflow-bundle.ts`). */
const BY_PATH = [
  'workflows/index',
  'workflows/interceptors',
  'workflows/beside-theirs',
  'protocol/payload-converter',
  'worker/without-comments',
]

/** Of worker processes of `everthread dev`, which starts it by its path. */
const PROGRAM = 'dev/worker/worker-program.js'

/** A worker that starts reads half as many files without its own. Everything else stays the user's to install once. */
const INSIDE = 'kysely'

interface Package {
  readonly bin: { readonly everthread: string }
  readonly exports: Readonly<Record<string, string | { readonly default: string }>>
}

rmSync(NEXT, { recursive: true, force: true })
compile()
dropAllBut(await modulesBehind(BY_PATH))
await bundle(doors())
copyFileSync(join(ROOT, 'node_modules', INSIDE, 'LICENSE'), join(NEXT, 'chunks', `${INSIDE}-LICENSE`))
// The bundler leaves out what no code reads.
writeFileSync(join(NEXT, 'chunks', 'genai-prices-LICENSE'), prices.licence)
await buildPage()
chmodSync(join(NEXT, 'cli/everthread.js'), 0o755)
if (existsSync(DIST)) renameSync(DIST, LAST)
renameSync(NEXT, DIST)
rmSync(LAST, { recursive: true, force: true })

function compile(): void {
  const options = ['-p', 'tsconfig.build.json', '--outDir', NEXT]
  const { status } = spawnSync(join(ROOT, 'node_modules/.bin/tsc'), options, { cwd: ROOT, stdio: 'inherit' })
  if (status === 0) return
  rmSync(NEXT, { recursive: true, force: true })
  // It has said why.
  process.exit(1)
}

/** The modules that those load, themselves too, by their names in `src`. */
async function modulesBehind(entries: readonly string[]): Promise<ReadonlySet<string>> {
  const graph = await rolldown({ ...input(entries), treeshake: false })
  const { output } = await graph.generate({ preserveModules: true })
  const modules = output.flatMap((chunk) => (chunk.type === 'chunk' ? chunk.moduleIds : []))
  return new Set(
    modules.filter((id) => id.startsWith(SOURCE)).map((id) => nameOf(id.slice(SOURCE.length + 1))),
  )
}

function dropAllBut(modules: ReadonlySet<string>): void {
  for (const file of globSync('**/*.{js,js.map,json}', { cwd: NEXT }))
    if (!modules.has(nameOf(file))) rmSync(join(NEXT, file))
}

async function bundle(entries: readonly string[]): Promise<void> {
  const modules = await rolldown(input(entries))
  await modules.write({
    dir: NEXT,
    sourcemap: true,
    sourcemapExcludeSources: true,
    // One folder deep, as the modules are in `src`: they find their package by `import.meta.url`.
    chunkFileNames: 'chunks/[name].js',
    comments: { jsdoc: false },
    // Errors are told by the name of their class.
    keepNames: true,
    // A process that loads a chunk after an update in place gets what it asks for by name, or an error.
    minifyInternalExports: false,
    codeSplitting: { groups: [{ name: INSIDE, test: new RegExp(`/node_modules/${INSIDE}/`) }] },
  })
}

function input(entries: readonly string[]): InputOptions {
  return {
    input: Object.fromEntries(entries.map((name) => [name, join(SOURCE, `${name}.ts`)])),
    // The runtime of 'node' imports `node:module`, and the doors for browsers share it.
    platform: 'neutral',
    external: (id) => !/^[./]/.test(id) && id !== INSIDE,
    resolve: { extensionAlias: { '.js': ['.ts', '.js'] } },
    transform: { target: 'es2023' },
  }
}

/** What users import and run, without the door of workflow code. */
function doors(): readonly string[] {
  const { bin, exports } = JSON.parse(readFileSync(join(ROOT, 'package.json'), 'utf8')) as Package
  const files = Object.values(exports).flatMap((door) => (typeof door === 'string' ? [] : [door.default]))
  return [...files, bin.everthread, PROGRAM]
    .map((file) => nameOf(file.replace('./dist/', '')))
    .filter((name) => !BY_PATH.includes(name))
}

/** The page that people see, for browsers: one script and one style sheet, whose names change with their content. */
async function buildPage(): Promise<void> {
  const page = await rolldown({
    input: join(SOURCE, 'page/main.tsx'),
    platform: 'browser',
    resolve: { extensionAlias: { '.js': ['.ts', '.tsx', '.js'] } },
    transform: { target: 'es2022' },
  })
  const { output } = await page.generate({ minify: true, codeSplitting: false, comments: { legal: false } })
  const [script] = output
  const modules = script.moduleIds
  const folder = join(NEXT, 'page')
  mkdirSync(folder)
  const named = (name: string, content: string): readonly [string, string] => {
    const [base = '', type = ''] = name.split('.')
    const hashed = `${base}-${createHash('sha256').update(content).digest('base64url').slice(0, 10)}.${type}`
    writeFileSync(join(folder, hashed), content)
    return [name, hashed]
  }
  const source = (name: string): string => readFileSync(join(SOURCE, 'page', name), 'utf8')
  const names = [
    named('page.js', script.code),
    named('page.css', source('page.css').replaceAll(/\/\*[\s\S]*?\*\/|^\s+/gm, '')),
    named('icon.svg', source('icon.svg')),
  ]
  const html = names.reduce((text, [name, hashed]) => text.replace(name, hashed), source('index.html'))
  writeFileSync(join(folder, 'index.html'), html)
  writeFileSync(join(folder, 'LICENSES.txt'), licensesOf(modules))
}

/** The licenses of the packages whose code is inside. */
function licensesOf(modules: readonly string[]): string {
  const found = modules.flatMap((id) => /.*\/node_modules\/(?:@[^/]+\/)?[^/]+/.exec(id)?.[0] ?? [])
  const folders = [...new Set(found)].toSorted()
  return folders
    .map((folder) => {
      const file = readdirSync(folder).find((name) => /^licen[cs]e/i.test(name))
      if (file === undefined) throw new Error(`Expected a license in ${folder}, got none.`)
      return `${folder.split('/node_modules/').at(-1)}\n\n${readFileSync(join(folder, file), 'utf8').trim()}\n`
    })
    .join('\n---\n\n')
}

function nameOf(file: string): string {
  return file.replace(/\.(js|js\.map|ts)$/, '')
}
