import { join } from 'node:path'
import { expect, test } from 'vitest'
import { assertReplays } from '../../src/testing/index.js'
import { readHistories } from '../../src/testing/record-histories.js'
import type { FoundRun } from '../../src/testing/record-histories.js'
import { HISTORIES, keptFolders } from './kept-folders.js'
import { activityOf, attributesOf, isOf, mutations } from './mutations.js'
import type { KeptEvent } from './mutations.js'
import { releaseProblems, taggedVersions } from './released-histories.js'

interface KeptHistory extends FoundRun {
  readonly history: { readonly events: readonly KeptEvent[] }
}

const folders = await keptFolders(HISTORIES)
const kept: KeptHistory[] = []
for (const folder of folders)
  // Written by `recordHistories`, of Temporal's own JSON.
  for await (const run of readHistories(join(HISTORIES, folder))) kept.push(run as KeptHistory)
const files = [...new Set(kept.map(({ file }) => file.slice(HISTORIES.length + 1)))]

test.each(files)('T11 SA-R-01.0 the kept history %s replays', async (name) => {
  expect(await assertReplays(join(HISTORIES, name))).toBeGreaterThan(0)
})

test('T11 the histories of released versions are as they were released', async () => {
  const tagged = await taggedVersions(HISTORIES)
  process.stdout.write(
    `kept histories: ${folders.join(', ')}; compared with tags: ${tagged.map(([, tag]) => tag).join(', ') || 'none here'}\n`,
  )
  expect(await releaseProblems(HISTORIES)).toEqual([])
})

test.each(Object.entries(mutations))('T11 a history with %s does not replay', async (name, mutation) => {
  const mutated = kept.flatMap((run) => {
    const events = mutation(structuredClone(run.history.events))
    return events === null ? [] : [{ ...run, history: { events } }]
  })
  expect(mutated.length).toBeGreaterThan(0)
  const error = await assertReplays(mutated).then(
    () => new Error('all replayed'),
    (problem: Error) => problem,
  )
  const all = mutated.length
  expect(error.message.split('\n')[0]).toBe(`Expected ${all} histories to replay, got ${all} that do not:`)
  process.stdout.write(`${name}: ${all} mutated histories refused\n`)
})

test('T11 what a version skipped stays skipped on replay', async () => {
  for (const folder of folders) {
    const prefix = join(HISTORIES, folder, 'unknown-signal-field-and-start-option')
    const runs = kept.filter(({ file }) => file.startsWith(prefix))
    const events = runs.flatMap(({ history }) => history.events)
    expect(events.filter((event) => isOf(event, 'WORKFLOW_EXECUTION_SIGNALED'))).toHaveLength(7)
    const activities = events.flatMap((event) =>
      isOf(event, 'ACTIVITY_TASK_SCHEDULED') ? [activityOf(event)] : [],
    )
    // Two answered messages, and nothing for what was not known.
    expect(new Set(activities)).toEqual(new Set(['thread.callModel', 'thread.settle']))
    expect(attributesOf(events[0] ?? {})['workflowType']).toEqual({ name: 'agentThread' })
  }
})
