import { afterAll, beforeAll, expect, inject, test } from 'vitest'

import { defineAgent, defineModel, definePrompt, registry } from '../../src/index.js'
import { scriptedModel } from '../../src/testing/index.js'
import type { TestEnvironment } from '../../src/testing/index.js'
import { activityNames, recordedRuns } from '../support/histories.js'
import { testEnvironment } from '../support/test-store.js'

const desk = registry({
  models: [defineModel({ name: 'chat', provider: { languageModel: () => ({}) as never }, model: 'm' })],
  prompts: [definePrompt({ name: 'clerk', toolDescription: 'Answers', prompt: 'Clerk', model: 'chat' })],
  agents: [defineAgent({ name: 'clerk', sideA: { prompt: 'clerk' } })],
})
/** PostgreSQL needs a smaller sample: what a turn leaves is counted by rows, and no bound of its is near. */
const ROUND = process.env['EVERTHREAD_TEST_STORE'] === 'postgres' ? 40 : 100
const TABLES = [
  'messages',
  'events',
  'operations',
  'runs',
  'tool_calls',
  'plans',
  'deltas',
  'pending',
] as const

let env: TestEnvironment<typeof desk>
const chat = scriptedModel(() => ({ text: 'Yes.' }))

beforeAll(async () => {
  const workflowBundle = { codePath: inject('workflowBundlePath') }
  const worker = { maxCachedWorkflows: 10, workflowBundle }
  env = await testEnvironment({ registry: desk, models: { chat }, server: 'dev', worker })
})
afterAll(() => env.close())

async function rowCounts(): Promise<readonly number[]> {
  const counts: number[] = []
  for (const table of TABLES) {
    const query = await env.store.read((db) =>
      db
        .selectFrom(table)
        .select((select) => select.fn.countAll().as('rows'))
        .executeTakeFirstOrThrow(),
    )
    counts.push(Number(query.rows))
  }
  return counts
}

test(
  'K-26 the last of a hundred short turns and more costs what the first did',
  { timeout: 180_000 },
  async () => {
    const thread = await env.threads.create({ agent: 'clerk' })
    const counts: (readonly number[])[] = []
    for (let turn = 1; turn <= 3 * ROUND; turn += 1) {
      await thread.send(`Nr ${turn}`)
      await thread.waitUntilIdle()
      if (turn % ROUND === 0) counts.push(await rowCounts())
    }
    const added = [1, 2].map((round) =>
      TABLES.map((_table, index) => (counts[round]?.[index] ?? 0) - (counts[round - 1]?.[index] ?? 0)),
    )
    expect(added[1]).toEqual(added[0])
    // A question, an answer; a model call, a settle; no plan, and nothing that is left over.
    expect(added[0]?.filter((_, index) => TABLES[index] !== 'events')).toEqual([
      ...[2 * ROUND, 2 * ROUND, ROUND, 0, 0, 0, 0],
    ])
    const runs = await recordedRuns(env.threads.temporal, thread.threadId)
    const sizes = runs.map(({ history }) => history.events?.length ?? 0)
    expect(Math.max(...sizes)).toBeLessThan(300)
    expect(sizes.length).toBeGreaterThan(ROUND / 10)
    expect(activityNames(runs)).toEqual(Array.from({ length: 3 * ROUND }, () => 'thread.callModel'))
    expect(chat.requests).toHaveLength(3 * ROUND)
    expect(chat.requests.at(-1)?.messages).toEqual([{ role: 'user', text: `Nr ${3 * ROUND}` }])
  },
)
