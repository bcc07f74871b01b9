// `npm run conformance`: writes docs/conformance.md from the last full test run and the list of requirements.
import { readFileSync, writeFileSync } from 'node:fs'

/** The ids of requirements.json, each with a reminder of what it stands for. */
export interface Requirements {
  readonly requirements: Readonly<Record<string, string>>
  /** Ids that no test will prove, each with the reason. */
  readonly exceptions: Readonly<Record<string, string>>
  /** Parts of a check that need a later feature, named beside the test that proves the rest. */
  readonly openParts: Readonly<Record<string, string>>
}

export interface TestOutcome {
  readonly title: string
  readonly state: 'passed' | 'failed' | 'skipped'
}

interface Row {
  readonly id: string
  readonly status: 'proved' | 'open' | 'excepted'
  readonly text: string
}

/** Requirements of the specification, and the failures that other runtimes met. */
const idPattern = /^(SA-[RA]-\d+\.\d+[a-z]?|K-\d+)$/

/** The requirement ids that a test title starts with, and the rest of it. */
export function readTitle(title: string): { readonly ids: readonly string[]; readonly fact: string } {
  const words = title.split(' ')
  const firstOther = words.findIndex((word) => !idPattern.test(word))
  const count = firstOther === -1 ? words.length : firstOther
  return { ids: words.slice(0, count), fact: words.slice(count).join(' ') }
}

/** One row an id: proved when all tests that name it passed, else open, unless it is excepted. */
export function conformanceRows(list: Requirements, tests: readonly TestOutcome[]): readonly Row[] {
  const byId = new Map<string, (TestOutcome & { readonly fact: string })[]>()
  for (const test of tests) {
    const { ids, fact } = readTitle(test.title)
    for (const id of ids) byId.set(id, [...(byId.get(id) ?? []), { ...test, fact }])
  }
  const unknown = [...byId.keys()].filter((id) => !(id in list.requirements))
  if (unknown.length > 0) {
    throw new Error(
      `Expected test titles to name ids of requirements.json, got ${unknown.join(', ')}: correct them`,
    )
  }
  return Object.keys(list.requirements).map((id) => conformanceRow(id, list, byId.get(id) ?? []))
}

function conformanceRow(
  id: string,
  list: Requirements,
  tests: readonly (TestOutcome & { readonly fact: string })[],
): Row {
  const reason = list.exceptions[id]
  if (reason !== undefined) return { id, status: 'excepted', text: reason }
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

/** The page: counts, the table, and what the ids stand for. */
export function conformancePage(list: Requirements, rows: readonly Row[]): string {
  const count = (status: Row['status']): number => rows.filter((row) => row.status === status).length
  return [
    '# Conformance to Standard Agents 0.1.0',
    '',
    'Written by `npm run conformance` from the last full run of `npm test`; not edited by hand. An id is proved when',
    'every test whose title starts with it passed; (+N) counts the tests beside the named one. What failed, was',
    'skipped or has no test is open.',
    '',
    `${count('proved')} proved, ${count('open')} open, ${count('excepted')} excepted, of ${rows.length}.`,
    '',
    '| id | status | test or reason |',
    '|---|---|---|',
    ...rows.map(({ id, status, text }) => `| ${id} | ${status} | ${text.replaceAll('|', '\\|')} |`),
    '',
    '## What the ids stand for',
    '',
    'SA-R and SA-A: the runtime and the agents page of the specification. K: failures that other runtimes met.',
    '',
    ...Object.entries(list.requirements).map(([id, words]) => `- ${id}: ${words}`),
    '',
  ].join('\n')
}

function readJson(path: string): unknown {
  return JSON.parse(readFileSync(new URL(path, import.meta.url), 'utf8'))
}

function main(): void {
  const list = readJson('requirements.json') as Requirements
  let tests: readonly TestOutcome[]
  try {
    tests = (readJson('../test-results/last-run.json') as { readonly tests: readonly TestOutcome[] }).tests
  } catch (cause) {
    throw new Error('There is no full test run to read: run npm test without filters first', { cause })
  }
  const rows = conformanceRows(list, tests)
  writeFileSync(new URL('../docs/conformance.md', import.meta.url), conformancePage(list, rows))
}

if (import.meta.main) main()
