import { readdir, readFile } from 'node:fs/promises'

import { historyFromJSON } from '@temporalio/common/lib/proto-utils.js'
import { expect, test } from 'vitest'

import { searchForContent } from '../support/histories.js'
import type { RecordedRun } from '../support/histories.js'
import { MARKER } from '../support/marker.js'

const folder = new URL('../../histories/', import.meta.url)

/** Everything that the recorded threads said, did and stored carries the marker: see `recorded-desk.ts`. */
async function keptRuns(): Promise<readonly RecordedRun[]> {
  const names = (await readdir(folder)).filter((name) => name.endsWith('.json'))
  const files = await Promise.all(names.map((name) => readFile(new URL(name, folder), 'utf8')))
  const kept = files.flatMap((file) => JSON.parse(file) as { workflowId: string; history: unknown }[])
  return kept.map(({ workflowId, history }) => ({
    workflowId,
    runId: '',
    history: historyFromJSON(history),
  }))
}

const runs = await keptRuns()

test('T5 no kept history holds a text, argument or result', () => {
  const { bytes, leaks } = searchForContent(runs)
  expect(leaks).toEqual([])
  expect(bytes).toBeGreaterThan(100_000)
  process.stdout.write(`searched ${bytes} bytes of ${runs.length} kept runs\n`)
})

test.each([
  [
    'a signal',
    { workflowExecutionSignaledEventAttributes: { signalName: 'queueMessage', input: payloads() } },
  ],
  ['a start', { workflowExecutionStartedEventAttributes: { input: payloads() } }],
  ['a memo', { workflowExecutionStartedEventAttributes: { memo: { fields: { title: payload() } } } }],
  ['an activity input', { activityTaskScheduledEventAttributes: { input: payloads() } }],
  ['a summary', { userMetadata: { summary: payload() } }],
  ['a failure', { activityTaskFailedEventAttributes: { failure: { message: `no ${MARKER}` } } }],
  ['a stack', { activityTaskFailedEventAttributes: { failure: { stackTrace: MARKER } } }],
])('one marker put by hand into %s is found', (_place, event) => {
  const [first] = runs
  if (first === undefined) throw new Error('Expected a kept history.')
  const events = [...(first.history.events ?? []), event]
  expect(searchForContent([{ ...first, history: { events } }]).leaks).toHaveLength(1)
})

function payload() {
  return {
    metadata: { encoding: Buffer.from('json/plain') },
    data: Buffer.from(JSON.stringify({ text: MARKER })),
  }
}

function payloads() {
  return { payloads: [payload()] }
}
