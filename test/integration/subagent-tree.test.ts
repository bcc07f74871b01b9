import { afterAll, beforeAll, expect, test } from 'vitest'
import type { ThreadHandle } from '../../src/client/index.js'
import type { ThreadTree } from '../../src/client/lists/thread-tree.js'
import type { Message } from '../../src/index.js'
import { marked } from '../support/marker.js'
import { factsOf } from '../support/thread-facts.js'
import { until } from '../support/until.js'
import { createFixture } from './worker/fixture.js'
import type { Fixture } from './worker/fixture.js'
import { startFleet } from './worker/fleet.js'
import type { Fleet } from './worker/fleet.js'
import { BRANCHES, LEAVES } from './worker/tree-script.js'
import { expectWholeLog, wholeTranscript } from './worker/whole-thread.js'

const MINUTE = 60_000
const ROOT = 'tree'
const THREADS = 1 + BRANCHES + BRANCHES * LEAVES
/** Closed threads at which the worker is killed. */
const KILLS_AT = [0.2, 0.5, 0.8].map((share) => Math.round(share * THREADS))

let fixture: Fixture
let fleet: Fleet

beforeAll(async () => {
  fixture = await createFixture()
  fleet = await startFleet(fixture)
})
afterAll(() => fixture.close())

const numbers = (count: number): readonly number[] => Array.from({ length: count }, (_, index) => index + 1)
/** What each thread makes of the one file of the root. */
const leafFile = (branch: number, leaf: number): string => `${WHOLE} ${branch} ${leaf} changed`
const branchFile = (branch: number): string =>
  numbers(LEAVES)
    .map((leaf) => leafFile(branch, leaf))
    .join('\n')
const WHOLE = marked('whole')

interface Counts {
  threads: number
  reports: number
  messages: number
  attachments: number
  files: number
  'model requests': number
}

test(
  `T3 T4 T7 a tree of ${THREADS} threads survives three kills`,
  async () => {
    const started = Date.now()
    const data = Buffer.from(WHOLE)
    const attachments = [{ name: 'whole.txt', mimeType: 'text/plain', data }]
    const message = { content: marked(`Go #${ROOT}`), attachments }
    const root = await fixture.create({ id: ROOT, agent: 'director', message })
    for (const closed of KILLS_AT) {
      await until(`${closed} closed threads`, async () => (await closedBelow(root)) >= closed, 3 * MINUTE)
      await fleet.kill()
      await fleet.replaceDead()
    }
    await root.waitUntilIdle({ timeout: '5 minutes', children: true })
    const seconds = (Date.now() - started) / 1000
    const counts = await countTree(await root.tree())
    print({ ...counts, kills: KILLS_AT.length, seconds })
    expect(counts).toMatchObject({ threads: THREADS, reports: THREADS - 1 })
  },
  10 * MINUTE,
)

function print(counts: object): void {
  const told = Object.entries(counts).map(([name, count]) => `${String(count)} ${name}`)
  process.stdout.write(`a tree with subagents: ${told.join(', ')}\n`)
}

async function closedBelow(thread: ThreadHandle): Promise<number> {
  const { children } = await thread.tree()
  return [...children, ...children.flatMap((child) => child.children)].filter(
    ({ closedAt }) => closedAt !== null,
  ).length
}

/** Looks at all threads from outside, one by one. */
async function countTree(root: ThreadTree): Promise<Counts> {
  const counts = { threads: 0, reports: 0, messages: 0, attachments: 0, files: 0, 'model requests': 0 }
  await lookAt({ node: root, place: [], counts })
  return counts
}

/** A thread and its whole transcript. */
interface Seen {
  readonly thread: ThreadHandle
  readonly rows: readonly Message[]
}

interface Look {
  readonly node: ThreadTree
  /** Its number among its siblings, behind that of its parent. */
  readonly place: readonly number[]
  readonly counts: Counts
}

async function lookAt({ node, place, counts }: Look): Promise<void> {
  const thread = fixture.threads.get(node.threadId)
  const rows = await wholeTranscript(thread)
  await expectWholeLog(thread)
  const name = [ROOT, ...place].join('-')
  expect(rows[0]?.content).toContain(`#${name} `)
  expect(node.children).toHaveLength([BRANCHES, LEAVES, 0][place.length] ?? 0)
  if (place.length > 0) expectClosed(node)
  expect(countRoles(rows)).toMatchObject(ROWS[roleOf(place)])
  for (const [index, child] of node.children.entries()) {
    const inside = [...place, index + 1]
    await expectReported({ thread, rows, place: inside })
    await lookAt({ node: child, place: inside, counts })
  }
  counts.threads += 1
  counts.reports += node.children.length
  counts.messages += rows.length
  counts.attachments += rows.reduce((sum, { attachments }) => sum + attachments.length, 0)
  counts.files += await filesIn(thread, '/')
  counts['model requests'] += await expectRequests({ thread, rows }, name)
}

type Role = 'director' | 'manager' | 'foreman' | 'hand'

/** Rows of each role; the director says something for each report, or for several at once. */
const ROWS: Readonly<Record<Role, object>> = {
  director: { user: 1 + BRANCHES, tool: 1 + BRANCHES },
  manager: { user: 1, tool: 4, assistant: 3 },
  foreman: { user: 1, tool: 3 + LEAVES, assistant: 3 },
  hand: { user: 1, tool: 2, assistant: 2 },
}

function roleOf([branch, leaf]: readonly number[]): Role {
  if (branch === undefined) return 'director'
  if (leaf !== undefined) return 'hand'
  return branch % 2 === 0 ? 'manager' : 'foreman'
}

function countRoles(rows: readonly Message[]): Readonly<Record<string, number>> {
  const counted: Record<string, number> = {}
  for (const { role } of rows) counted[role] = (counted[role] ?? 0) + 1
  return counted
}

/** T4: one request for each answer, but for those that a kill cut: the log has these. @returns how many came */
async function expectRequests({ thread, rows }: Seen, name: string): Promise<number> {
  const facts = await factsOf(thread)
  const begun = facts.filter(({ type }) => type === 'model.requested').length
  const answers = rows.filter(({ role }) => role === 'assistant').length
  const requests = fixture.model.requests(name)
  expect(requests.length).toBeGreaterThanOrEqual(answers)
  expect(requests.length).toBeLessThanOrEqual(begun)
  const lengths = requests.map(({ length }) => length)
  expect(lengths).toEqual(lengths.toSorted((one, other) => one - other))
  expect(new Set(lengths).size).toBe(answers)
  return requests.length
}

function expectClosed({ status, closedAt, entry }: ThreadTree): void {
  expect({ status, entry }).toMatchObject({ status: 'completed', entry: { status: 'completed' } })
  expect(closedAt).not.toBeNull()
}

/** Exactly one row has the child's words, and among its files is the child's, with its bytes. */
async function expectReported({ thread, rows, place }: Seen & Pick<Look, 'place'>): Promise<void> {
  const words = marked(`Result of #${[ROOT, ...place].join('-')}.`)
  const found = rows.flatMap((row) => {
    const times = (row.content ?? '').split(words).length - 1
    return row.role !== 'assistant' && times > 0 ? [{ row, times }] : []
  })
  const others = rows.filter(({ role }) => role !== 'assistant').map(({ content }) => content)
  expect(
    found.map(({ times }) => times),
    `${words} in ${others.join('\n')}`,
  ).toEqual([1])
  const texts = await Promise.all(
    (found[0]?.row.attachments ?? []).map(async ({ path }) =>
      Buffer.from((await thread.readFile(path)) ?? new ArrayBuffer(0)).toString(),
    ),
  )
  const [branch = 0, leaf] = place
  const expected = leaf === undefined ? branchFile(branch) : leafFile(branch, leaf)
  expect(texts).toContain(expected)
  expect(texts.filter((text) => text === expected)).toHaveLength(1)
}

async function filesIn(thread: ThreadHandle, folder: string): Promise<number> {
  const { entries } = await thread.readdirFile(folder)
  let files = 0
  for (const { path, isDirectory } of entries) files += isDirectory ? await filesIn(thread, path) : 1
  return files
}

test('T5 no text or file is in the histories of the tree', async () => {
  const { bytes, leaks } = await fixture.search()
  expect(leaks).toEqual([])
  expect(bytes).toBeGreaterThan(1_000_000)
})
