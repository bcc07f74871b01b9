import { historyFromJSON } from '@temporalio/common/lib/proto-utils.js'
import { expect, test } from 'vitest'
import { readHistories } from '../../src/testing/record-histories.js'
import { searchForContent } from '../support/histories.js'
import type { RecordedRun } from '../support/histories.js'
import { MARKER } from '../support/marker.js'
import { HISTORIES } from './kept-folders.js'

/** Everything that the recorded threads said, did and stored carries the marker: see `scenarios/`. */
async function keptRuns(): Promise<readonly RecordedRun[]> {
  const kept: RecordedRun[] = []
  for await (const { workflowId, runId = '', history } of readHistories(HISTORIES))
    kept.push({ workflowId, runId, history: historyFromJSON(history) })
  return kept
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
