// `npm run docs`: the documents of the repository as a site, in site/dist (decision 86).
// Owns: the steps: packages of the generator, pages, API, site, checks. A failed step leaves the site that was there.
import { spawnSync } from 'node:child_process'
import { createHash } from 'node:crypto'
import {
  cpSync,
  existsSync,
  globSync,
  mkdirSync,
  readFileSync,
  renameSync,
  rmSync,
  statSync,
  writeFileSync,
} from 'node:fs'
import { dirname, join } from 'node:path'
import process from 'node:process'

import { installLockedPackages } from '../scripts/locked-packages.ts'
import { siteProblems } from './built-site.ts'
import { httpPages } from './http-api.ts'
import type { OpenApi } from './http-api.ts'
import { llmsFull, llmsIndex } from './llms.ts'
import { navigation, navigationProblems, ROOT, sitePages } from './navigation.ts'
import { readPages, titleOf } from './pages.ts'
import type { SitePage } from './pages.ts'
import { sidebarOf } from './sidebar.ts'
import type { SidebarGroup } from './sidebar.ts'

const SITE = import.meta.dirname
const PAGES = join(SITE, '.pages')
const NEXT = join(SITE, '.next')
const DIST = join(SITE, 'dist')

/** Runs a program of this folder's packages to its end. */
function run(command: string, args: readonly string[], env: Readonly<Record<string, string>> = {}): void {
  const path = `${join(SITE, 'node_modules', '.bin')}:${process.env['PATH']}`
  const { status, error } = spawnSync(command, args, {
    cwd: SITE,
    stdio: ['ignore', 'inherit', 'inherit'],
    env: { ...process.env, PATH: path, ...env },
  })
  if (error !== undefined) throw error
  if (status !== 0) fail([`\`${command} ${args.join(' ')}\` failed, as shown`])
}

function fail(problems: readonly string[]): never {
  for (const problem of problems) console.error(problem)
  process.exit(1)
}

function write(address: string, text: string, folder = PAGES): void {
  const path = join(folder, address)
  mkdirSync(dirname(path), { recursive: true })
  writeFileSync(path, text)
}

/** Of all that the site is made of: a site with the same one is the same site. */
function fingerprintOfSources(): string {
  const hash = createHash('sha256')
  const patterns = [
    ...['*.md', 'package.json', 'tsconfig.json', '{test,histories}/README.md'],
    ...['{docs,examples,src}/**/*.*', 'site/*.{ts,json}', 'site/.vitepress/{config.ts,theme/*}'],
  ]
  // What the build of an example leaves is no source.
  const exclude = ['**/{node_modules,.next}', '**/*.tsbuildinfo', '**/next-env.d.ts']
  for (const path of globSync(patterns, { cwd: ROOT, exclude }).toSorted()) {
    const file = join(ROOT, path)
    if (statSync(file).isFile()) hash.update(`${path}\n`).update(readFileSync(file))
  }
  return hash.digest('hex')
}

/** Writes all pages, and what stands at their left. */
function writePages(): { readonly pages: readonly SitePage[]; readonly groups: readonly SidebarGroup[] } {
  const groups = navigation()
  const misplaced = navigationProblems(groups, sitePages())
  if (misplaced.length > 0) fail(misplaced)
  rmSync(PAGES, { recursive: true, force: true })
  const read = readPages(
    ROOT,
    groups.flatMap((group) => group.pages),
  )
  if (read.problems.length > 0) fail(read.problems)
  const document = JSON.parse(readFileSync(join(ROOT, 'docs/generated/openapi.json'), 'utf8')) as OpenApi
  const pages = [...read.pages, ...httpPages(document)]
  for (const { address, markdown } of pages) write(address, markdown)
  for (const [address, source] of read.files) {
    const target = join(PAGES, address.endsWith('.json') ? 'public' : '', address)
    mkdirSync(dirname(target), { recursive: true })
    cpSync(join(ROOT, source), target)
  }
  cpSync(join(ROOT, 'src/page/icon.svg'), join(PAGES, 'public/icon.svg'))
  run('node', ['api.ts', join(PAGES, 'api')])
  const api = globSync('api/**/*.md', { cwd: PAGES })
    .toSorted()
    .map((address) => {
      const markdown = readFileSync(join(PAGES, address), 'utf8')
      return { address, title: titleOf(markdown), markdown }
    })
  const all = [...pages, ...api]
  const sidebar = sidebarOf(groups, all)
  const links = sidebar.map(({ items, ...group }) => ({
    ...group,
    items: items.map(({ text, address }) => ({ text, link: `/${address.replace(/(?:index)?\.md$/, '')}` })),
  }))
  write('sidebar.json', JSON.stringify(links))
  return { pages: all, groups: sidebar }
}

const began = Date.now()
installLockedPackages(SITE)
const fingerprint = fingerprintOfSources()
const stamp = join(DIST, '.sources')
// For the tests, which read a site that CI has built before them.
if (process.argv.includes('--if-changed') && existsSync(stamp) && readFileSync(stamp, 'utf8') === fingerprint)
  process.exit()
const { pages, groups } = writePages()
run('tsc', ['-p', '.'])
// Tests have another NODE_ENV, of which Vue would make a build for development.
run('vitepress', ['build', '.'], { EVERTHREAD_SITE_OUT: '.next', NODE_ENV: 'production' })
const byAddress = new Map(pages.map((page) => [page.address, page]))
for (const { address, markdown } of pages) write(address, markdown, NEXT)
write('llms.txt', llmsIndex(groups, byAddress), NEXT)
write('llms-full.txt', llmsFull(groups, byAddress), NEXT)
const problems = siteProblems(NEXT)
if (problems.length > 0) fail(problems)
write('.sources', fingerprint, NEXT)
rmSync(DIST, { recursive: true, force: true })
renameSync(NEXT, DIST)
console.log(`${pages.length} pages in site/dist, in ${Math.round((Date.now() - began) / 1000)} s`)
