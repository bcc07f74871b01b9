import { existsSync, globSync, readFileSync, statSync } from 'node:fs'
import { basename, dirname, join, relative } from 'node:path'

import { describe, expect, test } from 'vitest'

const ROOT = join(import.meta.dirname, '..')
const {
  files: shipped,
  exports: doors,
  scripts,
} = JSON.parse(readFileSync(join(ROOT, 'package.json'), 'utf8')) as {
  readonly files: readonly string[]
  readonly exports: object
  readonly scripts: object
}
/** Pages of the repository; those of the package are among them. */
const PAGES = globSync('**/*.md', {
  cwd: ROOT,
  exclude: (path) =>
    /^(?:node_modules|dist|site|test-results|\.everthread)/.test(path) || path.includes('/node_modules'),
})
/** Folders of the repository with files of ours; what a build or a run makes is not among them. */
const FOLDERS = [
  'bench',
  'chaos',
  'docs',
  'examples',
  'histories',
  'scripts',
  'simulation',
  'site',
  'src',
  'test',
]
const NAMES = new Set(
  globSync(`{${FOLDERS.join()}}/**/*.{ts,tsx}`, { cwd: ROOT, exclude: ['site/node_modules'] }).map((path) =>
    basename(path),
  ),
)
const MODULES = globSync('src/*', { cwd: ROOT }).map((path) => path.slice('src/'.length))
const text = (page: string): string => readFileSync(join(ROOT, page), 'utf8')
const bytes = (page: string): number => statSync(join(ROOT, page)).size
const isShipped = (path: string): boolean =>
  ['README.md', 'LICENSE', 'package.json', ...shipped].some(
    (place) => path === place || path.startsWith(`${place}/`),
  )

const INDEX = 'docs/guide/README.md'
/** What a newcomer is sent to. */
const GUIDE = globSync('docs/guide/*.md', { cwd: ROOT }).filter((page) => page !== INDEX)
/**
 * Not for newcomers: whoever runs agents needs it once they are to be restricted, or to be paid for. The page of `agent()` is the
 * reference of what README begins with.
 */
const LATER = [
  'agent',
  'dev',
  'policy',
  'policy-in-use',
  'asking-people',
  'costs',
  'budgets',
  'limits',
  'sessions',
  'page',
  'read-models',
  'queue',
  'webhooks',
  'browsers',
  'http-client',
  'react',
  'mcp-server',
  'ag-ui',
  'use-chat',
  'fork',
  'long-conversations',
  'tool-failures',
  'http-tools',
  'workflow-tools',
  'mcp',
  'mcp-logins',
  'tool-progress',
].map((name) => `docs/guide/${name}.md`)
const FIRST = GUIDE.filter((page) => !LATER.includes(page))
const READING = ['README.md', 'docs/concepts.md', 'docs/guarantees.md', 'docs/architecture.md', ...FIRST]

describe('links', () => {
  test('of each page lead to what is there', () => {
    const broken = ({ path, anchor }: Link): boolean =>
      !existsSync(join(ROOT, path)) || !hasAnchor(path, anchor)
    expect(
      PAGES.flatMap((page) =>
        linksOf(page)
          .filter(broken)
          .map(({ target }) => `${page}: ${target}`),
      ),
    ).toEqual([])
  })

  test('of each page of the package lead to what the package has', () => {
    const outside = ({ path }: Link): boolean => !isShipped(path)
    const pages = PAGES.filter(isShipped)
    expect(
      pages.flatMap((page) =>
        linksOf(page)
          .filter(outside)
          .map(({ target }) => `${page}: ${target}`),
      ),
    ).toEqual([])
  })

  test('of README lead to the guide, and of the guide to each of its pages', () => {
    const linksIn = (page: string): readonly string[] => linksOf(page).map(({ path }) => path)
    expect(linksIn('README.md')).toContain(INDEX)
    expect(GUIDE.filter((page) => !linksIn(INDEX).includes(page))).toEqual([])
  })
})

test.each<readonly [page: string, most: number]>([
  ['README.md', 10],
  ['docs/concepts.md', 5],
  ['docs/guarantees.md', 12],
  ['docs/architecture.md', 12],
  ['docs/errors.md', 12],
  ['docs/benchmarks.md', 9],
  ['docs/operations.md', 23],
  ...FIRST.map((page) => [page, 7] as const),
  ...LATER.map((page) => [page, 9] as const),
])('%s has at most %i KB', (page, most) => {
  expect(bytes(page)).toBeLessThanOrEqual(most * 1024)
})

test('what a newcomer reads has at most 90 KB', () => {
  expect(READING.map(bytes).reduce((one, other) => one + other)).toBeLessThanOrEqual(90 * 1024)
})

test('each picture is small, and a page shows it', () => {
  const shown = PAGES.flatMap((page) => linksOf(page).map(({ path }) => path))
  const pictures = globSync('docs/images/*', { cwd: ROOT })
  expect(pictures.length).toBeGreaterThan(0)
  expect(pictures.filter((picture) => bytes(picture) > 150_000 || !shown.includes(picture))).toEqual([])
})

test('README has the command that runs every test', () => {
  expect(text('README.md')).toContain('./temporal-dev.sh test ')
})

test('each test that the page of failures names is there', () => {
  const named = [...text('docs/failures.md').matchAll(/^- \*\*.*\((.+)\)$/gm)].flatMap(([, proof = '']) =>
    [...proof.matchAll(/`([\w/.-]+)`/g)].map(([, name = '']) => name),
  )
  expect(named.length).toBeGreaterThan(150)
  const places = (name: string): readonly string[] => [`test/${name}.test.ts`, `test/${name}.ts`, name]
  expect(
    [...new Set(named)].filter((name) => !places(name).some((path) => existsSync(join(ROOT, path)))),
  ).toEqual([])
})

test('each file that a page names is there', () => {
  const named = PAGES.flatMap((page) => pathsIn(page).map((path) => ({ page, path })))
  expect(named.length).toBeGreaterThan(150)
  expect(
    named.filter(({ page, path }) => !isThere(path, page)).map(({ page, path }) => `${page}: ${path}`),
  ).toEqual([])
})

test('each npm script that a page names is there', () => {
  const named = PAGES.flatMap((page) =>
    [...text(page).matchAll(/npm run (?:-s )?([a-z][\w:-]*)/g)].map(([, script = '']) => script),
  )
  expect([...new Set(named)].filter((script) => !(script in scripts))).toEqual([])
})

test('the index of decisions names each of them', () => {
  const linked = linksOf('docs/decisions/README.md').map(({ path }) => path)
  expect(globSync('docs/decisions/0*.md', { cwd: ROOT }).filter((page) => !linked.includes(page))).toEqual([])
})

/** Texts in backticks that name a file or folder of the repository, whole or from below `src`, or a door of the package. */
function pathsIn(page: string): readonly string[] {
  const spans = [...text(page).matchAll(/(?<!`)`([\w./*-]+)`(?!`)/g)].map(([, span = '']) => span)
  return spans.filter((span) => {
    const [top = '', ...below] = span.split('/')
    if (below.length === 0) return /^[\w-]+(\.test)?\.ts$/.test(span)
    return top === 'everthread' || MODULES.includes(top) || FOLDERS.includes(top)
  })
}

function isThere(path: string, page: string): boolean {
  const [top = '', ...below] = path.split('/')
  if (top === 'everthread') return `./${below.join('/')}` in doors
  if (below.length === 0) return NAMES.has(path)
  const folderOrFile = path.replace(/\/\*$/, '')
  return ['', 'src', 'test', dirname(page)].some((place) =>
    ['', '.ts', '.test.ts'].some((end) => existsSync(join(ROOT, place, `${folderOrFile}${end}`))),
  )
}

interface Link {
  readonly target: string
  readonly path: string
  readonly anchor: string | undefined
}

/** Links to other pages and files, relative to the root; those to other sites are not looked at. */
function linksOf(page: string): readonly Link[] {
  const prose = text(page).replaceAll(/^```[\s\S]*?^```$/gm, '')
  return [...prose.matchAll(/\]\(([^)\s]+)\)/g)].flatMap(([, target = '']) => {
    if (/^[a-z]+:/.test(target)) return []
    const [file = '', anchor] = target.split('#')
    const path = file === '' ? page : relative(ROOT, join(ROOT, dirname(page), file))
    return [{ target, path: path.replace(/\/$/, ''), anchor }]
  })
}

function hasAnchor(path: string, anchor: string | undefined): boolean {
  if (anchor === undefined || !path.endsWith('.md')) return anchor === undefined
  const headings = text(path)
    .replaceAll(/^```[\s\S]*?^```$/gm, '')
    .matchAll(/^#+ (.*)$/gm)
  return [...headings].some(([, heading = '']) => slugOf(heading) === anchor)
}

/** As GitHub makes it. */
function slugOf(heading: string): string {
  return heading
    .toLowerCase()
    .replaceAll(/[^\p{L}\p{N} _-]/gu, '')
    .replaceAll(' ', '-')
}
