import { join } from 'node:path'
import { expect, test } from 'vitest'
import { assertReplays } from '../../src/testing/index.js'
import { HISTORIES, keptFolders, keptHistories } from './kept-folders.js'
import { activityOf, attributesOf, isOf } from './mutations.js'
import { releaseProblems, taggedVersions } from './released-histories.js'

const folders = await keptFolders(HISTORIES)
const kept = await keptHistories()
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

test('T11 what a version skipped stays skipped on replay', async () => {
  for (const folder of folders) {
    const prefix = join(HISTORIES, folder, 'unknown-signal-field-and-start-option')
    const runs = kept.filter(({ file }) => file.startsWith(prefix))
    const events = runs.flatMap(({ history }) => history.events)
    expect(events.filter((event) => isOf(event, 'WORKFLOW_EXECUTION_SIGNALED'))).toHaveLength(7)
    const activities = events.flatMap((event) =>
      isOf(event, 'ACTIVITY_TASK_SCHEDULED') ? [activityOf(event)] : [],
    )
    // Two answered messages, warnings that came meanwhile, and nothing else for what was not known.
    expect(new Set(activities)).toEqual(new Set(['thread.callModel', 'thread.settle']))
    expect(attributesOf(events[0] ?? {})['workflowType']).toEqual({ name: 'agentThread' })
  }
})
