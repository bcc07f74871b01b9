/**
 * `npm run record`: records every behaviour anew, on real servers, into `histories/unreleased`. It writes nowhere else:
 * what was released is never recorded again. The commit says why the order of commands changed. `-t families` records
 * one group alone.
 */
import { readdir, rm } from 'node:fs/promises'
import { join } from 'node:path'
import { afterAll, expect, test } from 'vitest'
import { assertReplays } from '../../src/testing/index.js'
import { fetchHistories, writeHistories } from '../../src/testing/record-histories.js'
import { eachOf } from '../support/each-of.js'
import { HISTORIES, UNRELEASED } from './kept-folders.js'
import { scenarioGroups } from './scenarios/groups.js'

/** One behaviour alone: its group's `-t` beside it. */
const only = process.env['EVERTHREAD_RECORD']
const folder = join(HISTORIES, UNRELEASED)
const recorded = new Set<string>()
/** Those that were recorded as a whole. */
const groups = new Set<string>()

test.each(scenarioGroups)('$name', { timeout: 600_000 }, async ({ name, start, concurrent }) => {
  const { env, scenarios, close } = await start()
  const record = async ([behaviour, run]: [string, () => Promise<readonly string[]>]): Promise<void> => {
    try {
      const ids = await run()
      const histories = await Promise.all(ids.map((id) => fetchHistories(env.threads.temporal.workflow, id)))
      const runs = histories.flat()
      expect(await assertReplays(runs)).toBe(runs.length)
      await writeHistories(join(folder, `${behaviour}.json.gz`), runs)
      recorded.add(`${behaviour}.json.gz`)
    } catch (error) {
      throw new Error(`Expected to record "${behaviour}", got: ${String(error)}`, { cause: error })
    }
  }
  try {
    const wanted = Object.entries(scenarios).filter(([behaviour]) => only === undefined || behaviour === only)
    await eachOf(wanted, record, concurrent ? 4 : 1)
    if (only === undefined) groups.add(name)
  } finally {
    await close()
  }
})

// Of behaviours that have another name now, once all are there.
afterAll(async () => {
  if (groups.size < scenarioGroups.length) return
  for (const name of await readdir(folder)) if (!recorded.has(name)) await rm(join(folder, name))
})
