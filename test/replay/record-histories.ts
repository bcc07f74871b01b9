/**
 * `npm run record`: records the kept histories anew, on a real dev server. Before the tag 0.1.0 that is done in the
 * commit that changes the order of commands, with the reason; from then on only new files are added.
 */
import { readdir, rm, writeFile } from 'node:fs/promises'

import { historyToJSON } from '@temporalio/common/lib/proto-utils.js'
import { afterAll, beforeAll, expect, test } from 'vitest'

import { assertReplays, createTestEnvironment } from '../../src/testing/index.js'
import type { TestEnvironment } from '../../src/testing/index.js'
import { recordedRuns } from '../support/histories.js'
import { recordedDesk, scriptedModels } from './recorded-desk.js'
import { scenarios } from './scenarios.js'

const folder = new URL('../../histories/', import.meta.url)
const date = new Date().toISOString().slice(0, 10)
let env: TestEnvironment<typeof recordedDesk>

beforeAll(async () => {
  for (const name of await readdir(folder)) if (name.endsWith('.json')) await rm(new URL(name, folder))
  env = await createTestEnvironment({ registry: recordedDesk, models: scriptedModels, server: 'dev' })
})
afterAll(() => env.close())

for (const [behaviour, run] of Object.entries(scenarios)) {
  test(behaviour, async () => {
    const threadIds = await run(env)
    const runs = (await Promise.all(threadIds.map((id) => recordedRuns(env.threads.temporal, id)))).flat()
    expect(await assertReplays(runs)).toBe(runs.length)
    const kept = runs.map(({ workflowId, history }) => ({
      workflowId,
      history: JSON.parse(historyToJSON(history)) as unknown,
    }))
    await writeFile(new URL(`${behaviour}-${date}.json`, folder), `${JSON.stringify(kept, null, 1)}\n`)
  })
}
