// Owns: where each page of the repository stands in the site, in the order in which a newcomer reads.
// Does not own: the pages, and those that the build makes (HTTP API, API of the package, code of examples).
// Invariants: each page of `docs`, and what README of the repository sends readers to, has one place; a page without one, or a
// place without a page, fails the build by name.
import { globSync } from 'node:fs'
import { join } from 'node:path'

export const ROOT = join(import.meta.dirname, '..')

export interface Group {
  readonly title: string
  /** Pages of the repository, by their paths. */
  readonly pages: readonly string[]
  /** Made by the build, below the pages: shown after them. */
  readonly made?: 'examples' | 'http' | 'api'
  readonly collapsed?: boolean
}

const guide = (...names: readonly string[]): readonly string[] => names.map((name) => `docs/guide/${name}.md`)

const GROUPS: readonly Group[] = [
  {
    title: 'Start',
    pages: [
      'README.md',
      'docs/concepts.md',
      'docs/guide/README.md',
      ...guide('agent', 'dev', 'threads', 'queue', 'fork', 'testing'),
    ],
  },
  { title: 'Examples', pages: ['examples/README.md'], made: 'examples', collapsed: true },
  {
    title: 'Agents',
    pages: guide('agents', 'models', 'long-conversations', 'sessions', 'subagents', 'hooks', 'variables'),
  },
  {
    title: 'Tools',
    pages: guide(
      'tools',
      'http-tools',
      'workflow-tools',
      'mcp',
      'mcp-logins',
      'tool-failures',
      'tool-progress',
      'effects',
      'files',
      'other-languages',
    ),
  },
  {
    title: 'People',
    pages: guide(
      'approvals',
      'asking-people',
      'policy',
      'policy-in-use',
      'costs',
      'budgets',
      'limits',
      'page',
    ),
  },
  {
    title: 'Doors',
    pages: guide(
      'events',
      'read-models',
      'http',
      'browsers',
      'http-client',
      'react',
      'use-chat',
      'ag-ui',
      'mcp-server',
      'webhooks',
      'commands',
    ),
  },
  {
    title: 'Run it',
    pages: [
      ...guide('workers', 'own-workflows'),
      'docs/operations.md',
      'docs/guarantees.md',
      'docs/failures.md',
      'docs/benchmarks.md',
    ],
  },
  {
    title: 'Reference',
    pages: ['docs/generated/configuration.md', 'docs/generated/events.md', 'docs/errors.md'],
  },
  { title: 'HTTP API', pages: [], made: 'http', collapsed: true },
  { title: 'API of the package', pages: [], made: 'api', collapsed: true },
  {
    title: 'The project',
    pages: [
      'docs/architecture.md',
      'docs/dependencies.md',
      'docs/generated/conformance.md',
      'CONTRIBUTING.md',
      'test/README.md',
      'histories/README.md',
      'CHANGELOG.md',
    ],
    collapsed: true,
  },
]

/** Decisions have the order of their numbers, after their index. */
export function navigation(): readonly Group[] {
  const numbered = globSync('docs/decisions/0*.md', { cwd: ROOT }).toSorted()
  const decisions = { title: 'Decisions', pages: ['docs/decisions/README.md', ...numbered], collapsed: true }
  return [...GROUPS, decisions]
}

/** What is wrong with the places, one sentence each; `pages` are those of the repository that need one. */
export function navigationProblems(groups: readonly Group[], pages: readonly string[]): readonly string[] {
  const placed = groups.flatMap((group) => group.pages)
  return [
    ...pages
      .filter((page) => !placed.includes(page))
      .map((page) => `Expected a place for ${page}, got none: name it in a group of site/navigation.ts`),
    ...placed
      .filter((page, index) => placed.indexOf(page) !== index)
      .map((page) => `Expected one place for ${page}, got two: remove one from site/navigation.ts`),
    ...placed
      .filter((page) => !pages.includes(page))
      .map((page) => `Expected ${page}, got no such page: remove it from site/navigation.ts`),
  ]
}

/** The pages of the repository that need a place. */
export function sitePages(): readonly string[] {
  const own = ['README.md', 'CHANGELOG.md', 'CONTRIBUTING.md']
  const others = ['examples/README.md', 'test/README.md', 'histories/README.md']
  return [...own, ...others, ...globSync('docs/**/*.md', { cwd: ROOT })]
}
