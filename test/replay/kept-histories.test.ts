import { readdir, readFile } from 'node:fs/promises'

import { expect, test } from 'vitest'

import { assertReplays } from '../../src/testing/index.js'
import type { RecordedHistory } from '../../src/testing/index.js'

const folder = new URL('../../histories/', import.meta.url)

interface KeptEvent {
  readonly eventType?: string
  activityTaskScheduledEventAttributes?: { activityType: { name: string } }
}

interface KeptHistory extends RecordedHistory {
  readonly history: { readonly events: readonly KeptEvent[] }
}

async function keptHistories(): Promise<ReadonlyMap<string, readonly KeptHistory[]>> {
  const names = (await readdir(folder)).filter((name) => name.endsWith('.json'))
  const kept = new Map<string, readonly KeptHistory[]>()
  for (const name of names)
    kept.set(name, JSON.parse(await readFile(new URL(name, folder), 'utf8')) as readonly KeptHistory[])
  return kept
}

const histories = await keptHistories()

test('there are kept histories', () => {
  expect(histories.size).toBeGreaterThanOrEqual(7)
})

test.each([...histories])('T11 SA-R-01.0 the kept history %s replays', async (_name, runs) => {
  expect(await assertReplays(runs)).toBe(runs.length)
})

test('a mutated history does not replay, and the error names it', async () => {
  const [[, runs] = []] = [...histories].filter(([name]) => name.startsWith('turn-with-a-tool'))
  const mutated = structuredClone(runs?.[0])
  const scheduled = mutated?.history.events.find(
    ({ activityTaskScheduledEventAttributes: attributes }) =>
      attributes?.activityType.name === 'thread.executeTool',
  )?.activityTaskScheduledEventAttributes
  if (mutated === undefined || scheduled === undefined)
    throw new Error('Expected a tool call in the history.')
  scheduled.activityType.name = 'thread.settle'
  await expect(assertReplays([mutated])).rejects.toThrow(mutated.workflowId)
})

test('T11 what a version skipped stays skipped on replay', async () => {
  const [[, runs] = []] = [...histories].filter(([name]) => name.startsWith('unknown-signal'))
  const events = runs?.flatMap(({ history }) => history.events) ?? []
  const signals = events.filter(({ eventType }) => eventType === 'EVENT_TYPE_WORKFLOW_EXECUTION_SIGNALED')
  const activities = events.flatMap(
    ({ activityTaskScheduledEventAttributes: attributes }) => attributes?.activityType.name ?? [],
  )
  expect(signals).toHaveLength(7)
  // Two answered messages, and nothing for what was not known.
  expect(new Set(activities)).toEqual(new Set(['thread.callModel', 'thread.settle']))
  expect(await assertReplays(runs ?? [])).toBeGreaterThan(0)
})
