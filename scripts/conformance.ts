// `npm run conformance`: writes docs/generated/conformance.md from the last full test run and the list of requirements.
import { readFileSync, writeFileSync } from 'node:fs'

import { FAMILIES, UNAVAILABLE } from '../src/views/capabilities.ts'

/** The ids of requirements.json, each with a reminder of what it stands for. */
export interface Requirements {
  readonly requirements: Readonly<Record<string, string>>
  /** Ids that no test will prove, each with the reason: the product does something else on purpose. */
  readonly exceptions: Readonly<Record<string, string>>
  /** Ids of things that cannot exist here, each with the reason. */
  readonly unavailable: Readonly<Record<string, string>>
  /** Parts of a check that need a later feature, named beside the test that proves the rest. */
  readonly openParts: Readonly<Record<string, string>>
}

export interface TestOutcome {
  readonly title: string
  /** With the titles of the groups that the test is in before its own. */
  readonly fullName?: string
  readonly state: 'passed' | 'failed' | 'skipped'
}

const STATUSES = ['proved', 'open', 'excepted', 'unavailable'] as const

interface Row {
  readonly id: string
  readonly status: (typeof STATUSES)[number]
  readonly text: string
}

/** Where ids come from, in the order of the page. */
const SEEDS = [
  { of: '000 Standard Agents, Runtime', ids: 'SA-R', pattern: /^SA-R-\d+\.\d+[a-z]?$/ },
  { of: '003 Standard Agents, Agents', ids: 'SA-A', pattern: /^SA-A-\d+\.\d+[a-z]?$/ },
  { of: '001 Agent Runtime', ids: 'AR', pattern: /^AR-[A-Z]+\d?\.\d+[a-z]?$/ },
  { of: '002 Agent Platform Runtime', ids: 'KP', pattern: /^KP-\d+\.\d+$/ },
  { of: '004 runtime layer of Protolink', ids: 'PL', pattern: /^PL-[A-Z]+\.\d+$/ },
] as const

/** Failures that other runtimes met: no specification asks for them, so the page counts and lists them apart. */
const failurePattern = /^K-\d+$/

/** The numbers of our own invariants may stand among the ids of a title. */
const invariantPattern = /^T\d+$/
/** What is meant as an id, however it is spelt. */
const idLikePatterns = [/^\W?(?:SA|AR|KP|PL|K)-[\w.-]*\d/i, /^\W?(?:SA|AR|KP|PL)[A-Z_.-]*\d/]

const isId = (word: string): boolean =>
  failurePattern.test(word) || SEEDS.some(({ pattern }) => pattern.test(word))
const isIdLike = (word: string): boolean => idLikePatterns.some((pattern) => pattern.test(word))

/** The requirement ids that a test title starts with, and the rest of it. */
export function readTitle(title: string): { readonly ids: readonly string[]; readonly fact: string } {
  const words = title.split(' ')
  const firstOther = words.findIndex((word) => !isId(word) && !invariantPattern.test(word))
  const leading = firstOther === -1 ? words : words.slice(0, firstOther)
  const ids = leading.filter(isId)
  return { ids, fact: words.filter((word, at) => at >= leading.length || !ids.includes(word)).join(' ') }
}

/** One row an id: proved when all tests that name it passed, else open, unless it is excepted or unavailable. */
export function conformanceRows(list: Requirements, tests: readonly TestOutcome[]): readonly Row[] {
  refuseWrongLists(list)
  const byId = new Map<string, (TestOutcome & { readonly fact: string })[]>()
  const wrong = new Set<string>()
  for (const test of tests) {
    const { ids, fact } = readTitle(test.title)
    for (const id of ids) {
      byId.set(id, [...(byId.get(id) ?? []), { ...test, fact }])
      if (!(id in list.requirements) || id in list.unavailable) wrong.add(id)
    }
    // An id of a group proves nothing: it would be passed over in silence.
    const groups = test.fullName?.slice(0, -test.title.length) ?? ''
    for (const word of `${groups} ${fact}`.split(' ').filter(isIdLike)) wrong.add(word)
  }
  if (wrong.size > 0) {
    throw new Error(
      'Expected titles of tests to start with ids of requirements.json that are not unavailable, and to name none ' +
        `behind other words or in the title of a group, got ${[...wrong].join(', ')}: correct these titles`,
    )
  }
  return Object.keys(list.requirements).map((id) => conformanceRow(id, list, byId.get(id) ?? []))
}

function refuseWrongLists({ requirements, exceptions, unavailable, openParts }: Requirements): void {
  const ids = Object.keys(requirements)
  const unknown = [
    ...ids.filter((id) => !isId(id)),
    ...Object.keys({ ...exceptions, ...unavailable, ...openParts }).filter((id) => !ids.includes(id)),
  ]
  if (unknown.length > 0) {
    throw new Error(`Expected every id of requirements.json to be a requirement, got ${unknown.join(', ')}`)
  }
  const twice = Object.keys(exceptions).filter((id) => id in unavailable)
  if (twice.length > 0) {
    throw new Error(`Expected an id to be excepted or unavailable, got both for ${twice.join(', ')}`)
  }
}

function conformanceRow(
  id: string,
  list: Requirements,
  tests: readonly (TestOutcome & { readonly fact: string })[],
): Row {
  const exception = list.exceptions[id]
  if (exception !== undefined) return { id, status: 'excepted', text: exception }
  const unavailable = list.unavailable[id]
  if (unavailable !== undefined) return { id, status: 'unavailable', text: unavailable }
  const [first] = tests
  if (!first) return { id, status: 'open', text: '' }
  const unproved = tests.find(({ state }) => state !== 'passed')
  if (unproved) return { id, status: 'open', text: `${unproved.state}: ${unproved.fact}` }
  const others = tests.length > 1 ? ` (+${tests.length - 1})` : ''
  const openPart = list.openParts[id]
  return {
    id,
    status: 'proved',
    text: `${first.fact}${others}${openPart === undefined ? '' : `; ${openPart}`}`,
  }
}

/** One line of the table of counts: the cells of its seed, or of all rows. */
function countsOf(label: string, rows: readonly Row[]): string {
  const counts = STATUSES.map((status) => rows.filter((row) => row.status === status).length)
  return `| ${[label, ...counts, rows.length].join(' | ')} |`
}

/** The eleven concerns of the Agent Runtime draft, in its order, and the rows that are about them. */
const CONCERNS: readonly (readonly [name: string, rows: RegExp])[] = [
  ['identity and correlation ids', /^AR-(ID|RM)\./],
  ['event classes and envelope', /^AR-(EN|EC|EF|ES)\./],
  ['control actions and write boundaries', /^AR-(CP|CC|S1)\./],
  ['durable snapshots and read models', /^AR-(SN|SS|CF|VA)\./],
  ['facts of tools, context, models and policy', /^AR-(TC|S3|S4)\./],
  ['requests of people, queue and resume', /^AR-(CC\.[3-9]|CP\.([2-9]|15)|SN\.4|PS\.[89]|CF\.3)$/],
  ['export of evidence, replay and observability', /^AR-(ER|VA\.8|SN\.8|EC\.15)/],
  [
    'permission, sandbox, hooks, processes, channels, peers',
    /^AR-(PS|HP|EE|EF\.[1-48]|S3\.[239]|SN\.(9|10|14))(\.|$)/,
  ],
  [
    'routing, candidates, cost, quota, rate limits, budgets',
    /^AR-(MR|EF\.[57]|S3\.1[01]|SN\.11|EC\.17)(\.|$)/,
  ],
  [
    'tasks, attempts, graphs, jobs, large output, reconstruction',
    /^AR-(AT|TK|EC\.4|EF\.(6|9|10|11)|S3\.[5-8]|SN\.(5|12)|CC\.13)(\.|$)/,
  ],
  ['instrumentation of benchmarks', /^AR-(EF\.12|CP\.21|CC\.15|SN\.13|ER\.[56])$/],
]

/** `covered`: nothing of it is open; `unavailable`: all of it is. */
function statusOf(rows: readonly Row[]): string {
  if (rows.every(({ status }) => status === 'unavailable')) return 'unavailable'
  return rows.some(({ status }) => status === 'open') ? 'partial' : 'covered'
}

/** How far each concern and each layer of the draft goes. */
function concernTables(rows: readonly Row[]): readonly string[] {
  return [
    '## The eleven concerns of the Agent Runtime draft',
    '',
    `| concern | status | ${STATUSES.join(' | ')} | all |`,
    `|---|---|${'---|'.repeat(STATUSES.length + 1)}`,
    ...CONCERNS.map(([name, pattern], index) => {
      const about = rows.filter(({ id }) => pattern.test(id))
      return countsOf(`${index + 1}. ${name} | ${statusOf(about)}`, about)
    }),
    '',
    '## Its three layers',
    '',
    'A capability belongs to the public core, which every runtime of the kind has, to the recommended extensions, or to a profile, which is stricter and',
    'never weaker. `threads.capabilities()` and `GET /capabilities` say the same.',
    '',
    '| layer | capability | status | where, or why not |',
    '|---|---|---|---|',
    ...FAMILIES.map(({ layer, name, status, detail }) => `| ${layer} | ${name} | ${status} | ${detail} |`),
  ]
}

/** Rows by their section: the part of an id before its number. */
function sectionTable(rows: readonly Row[]): readonly string[] {
  const sections = [...new Set(rows.map(({ id }) => sectionOf(id)))]
  return [
    '## By section',
    '',
    `| section | ${STATUSES.join(' | ')} | all |`,
    `|---|${'---|'.repeat(STATUSES.length + 1)}`,
    ...sections.map((section) =>
      countsOf(
        section,
        rows.filter(({ id }) => sectionOf(id) === section),
      ),
    ),
  ]
}

function sectionOf(id: string): string {
  return id.startsWith('KP-') ? id.slice(0, 5) : id.replace(/\.\d+[a-z]?$/, '')
}

function tableOf(rows: readonly Row[]): readonly string[] {
  return [
    '| id | status | test or reason |',
    '|---|---|---|',
    ...rows.map(({ id, status, text }) => `| ${id} | ${status} | ${text.replaceAll('|', '\\|')} |`),
  ]
}

/** The page: counts by seed, a row for each requirement, the failures of others, and what the ids stand for. */
export function conformancePage(list: Requirements, rows: readonly Row[]): string {
  const failures = rows.filter(({ id }) => failurePattern.test(id))
  const requirements = rows.filter(({ id }) => !failurePattern.test(id))
  return [
    '# Conformance',
    '',
    'Written by `npm run conformance` from the last full run of `npm test`; not edited by hand. An id is proved when',
    'every test whose title starts with it passed; (+N) counts the runs of tests beside the named one (one test may run',
    'in three modes and on two stores). What failed, was skipped or has no test is open. Excepted is what the product',
    'does otherwise on purpose, unavailable what cannot exist in it; both have their reason.',
    '',
    `| seed | ${STATUSES.join(' | ')} | all |`,
    `|---|${'---|'.repeat(STATUSES.length + 1)}`,
    ...SEEDS.map(({ of, ids, pattern }) =>
      countsOf(
        `${of} (${ids})`,
        requirements.filter(({ id }) => pattern.test(id)),
      ),
    ),
    countsOf('**all**', requirements),
    '',
    ...concernTables(requirements),
    '',
    ...sectionTable(requirements),
    '',
    '## Each requirement',
    '',
    ...tableOf(requirements),
    '',
    '## Failures that other runtimes met',
    '',
    ...tableOf(failures),
    '',
    '## What the ids stand for',
    '',
    ...Object.entries(list.requirements).map(([id, words]) => `- ${id}: ${words}`),
    '',
  ].join('\n')
}

/** The list of the file, with what the product itself says that it has not. */
export function readRequirements(): Requirements {
  const list = readJson('requirements.json') as Omit<Requirements, 'unavailable'>
  return { ...list, unavailable: Object.fromEntries(UNAVAILABLE.map(({ id, reason }) => [id, reason])) }
}

function readJson(path: string): unknown {
  return JSON.parse(readFileSync(new URL(path, import.meta.url), 'utf8'))
}

function main(): void {
  const list = readRequirements()
  let tests: readonly TestOutcome[]
  try {
    tests = (readJson('../test-results/last-run.json') as { readonly tests: readonly TestOutcome[] }).tests
  } catch (cause) {
    throw new Error('There is no full test run to read: run npm test without filters first', { cause })
  }
  const rows = conformanceRows(list, tests)
  writeFileSync(new URL('../docs/generated/conformance.md', import.meta.url), conformancePage(list, rows))
}

if (import.meta.main) main()
