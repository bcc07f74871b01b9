import { expect, test } from 'vitest'

import type { ThreadEvent } from '../protocol/events.js'
import { applyToRuns, isWorking } from './runs.js'
import type { Run } from './runs.js'

const usage = { inputTokens: 10, outputTokens: 2, cachedInputTokens: 0, cost: 7 }
let second = 0
/** Events of these tests have what the reducer reads; each comes a second after the one before. */
const event = (type: string, payload: object, scope: object = {}): ThreadEvent =>
  ({
    ...{ type, payload, runId: 'r1', stepId: 's1', ...scope },
    timestamp: new Date((second += 1_000)).toISOString(),
  }) as unknown as ThreadEvent
const apply = (...events: readonly ThreadEvent[]): readonly Run[] => events.reduce(applyToRuns, [])

test('a run has its steps with requests and tools, their times and their cost', () => {
  const request = { model: 'chat', attempt: 1 }
  const [run] = apply(
    event('run.started', { trigger: 'message' }),
    event('step.started', { step: 1, prompt: 'desk' }),
    event('context.resolved', { estimatedTokens: 400 }),
    event('model.requested', { ...request, routing: { reason: 'prompt_model' } }),
    event('model.completed', { ...request, milliseconds: 900, usage, finishReason: 'tool-calls' }),
    event('tool.started', { name: 'refund', preview: '{}' }, { toolCallId: 'c1' }),
    event(
      'tool.result',
      { name: 'refund', outcome: 'failed', errorCode: 'x', errorId: 'e1', preview: 'no' },
      { toolCallId: 'c1' },
    ),
    event('step.completed', { step: 1, reason: null }),
    event('run.completed', { reason: 'stop_on_response', steps: 1, usage }),
  )
  expect(run).toMatchObject({ outcome: 'completed', reason: 'stop_on_response', usage })
  expect(run?.steps).toMatchObject([{ number: 1, prompt: 'desk', contextTokens: 400 }])
  expect(run?.steps[0]?.requests).toMatchObject([{ model: 'chat', milliseconds: 900, usage }])
  const [tool] = run?.steps[0]?.tools ?? []
  expect(tool).toMatchObject({ id: 'c1', outcome: 'failed', errorCode: 'x', errorId: 'e1', result: 'no' })
  expect((tool?.endedAt ?? 0) - (tool?.startedAt ?? 0)).toBe(1_000)
})

test('a call that a person has changed says so, and by whom', () => {
  const [run] = apply(
    event('run.started', { trigger: 'message' }),
    event('step.started', { step: 1, prompt: 'desk' }),
    event('permission.resolved', { requestId: 'q1', resolution: 'allowed', by: 'ann' }, { toolCallId: 'c0' }),
    event(
      'permission.resolved',
      { requestId: 'q2', resolution: 'allowed', by: 'ann', changed: true },
      { toolCallId: 'c1' },
    ),
    event('tool.started', { name: 'refund', preview: '{}' }, { toolCallId: 'c0' }),
    event('tool.started', { name: 'refund', preview: '{}' }, { toolCallId: 'c1' }),
  )
  expect(run?.steps).toHaveLength(1)
  expect(run?.steps[0]?.tools.map(({ changed }) => changed)).toEqual([undefined, { by: 'ann' }])
})

test('a failed request keeps its error, and the next one is its own', () => {
  const [run] = apply(
    event('run.started', { trigger: 'message' }),
    event('model.requested', { model: 'chat', attempt: 1, routing: { reason: 'prompt_model' } }),
    event('model.failed', { model: 'chat', attempt: 1, error: 'bad_request', next: 'none', errorId: 'e9' }),
    event('model.requested', { model: 'other', attempt: 2, routing: { reason: 'fallback' } }),
  )
  expect(run?.steps[0]?.requests).toMatchObject([
    { model: 'chat', error: 'bad_request', errorId: 'e9' },
    { model: 'other', reason: 'fallback' },
  ])
  expect(isWorking([...(run === undefined ? [] : [run])])).toBe(true)
})

test('a log that is read from its middle begins with the run that it is in', () => {
  const runs = apply(
    event('runtime.warning', { code: 'queue_full' }, { runId: undefined }),
    event(
      'tool.result',
      { name: 'look_up', outcome: 'succeeded', errorCode: null, preview: 'x' },
      { toolCallId: 'c7' },
    ),
    event('run.failed', { reason: 'model_failed', steps: 3, usage, error: 'No prompt.' }),
  )
  expect(runs).toMatchObject([{ id: 'r1', outcome: 'failed', problem: 'No prompt.' }])
})

test('events that say nothing about runs leave the list as it is', () => {
  const runs = apply(event('run.started', { trigger: 'message' }))
  expect(applyToRuns(runs, event('thread.status', { status: 'x' }))).toBe(runs)
  expect(applyToRuns(runs, event('an.event.of.later', {}))).toBe(runs)
})

test('a running call shows its newest progress and its output, of the last attempt, until it ends', () => {
  const scope = { toolCallId: 'c1', runId: undefined, stepId: undefined }
  const report = (attempt: number, progress: number) =>
    event('tool.progress', { attempt, progress, total: 3 }, scope)
  const output = (attempt: number, offset: number, text: string) =>
    event('tool.output', { attempt, offset, text }, scope)
  const begun = apply(
    event('run.started', { trigger: 'message' }),
    event('step.started', { step: 1, prompt: 'desk' }),
    event('tool.started', { name: 'import', preview: '{}' }, { toolCallId: 'c1' }),
  )
  const live = (...events: readonly ThreadEvent[]) =>
    events.reduce(applyToRuns, begun)[0]?.steps[0]?.tools[0]?.live
  const first = [report(10_001, 1), output(10_001, 0, 'one '), output(10_001, 4, 'two'), report(10_001, 2)]
  expect(live(...first)).toEqual({ attempt: 10_001, progress: { progress: 2, total: 3 }, output: 'one two' })
  expect(live(...first, output(10_001, 4, 'two'))?.output).toBe('one two')
  expect(live(...first, output(20_001, 0, 'anew'))).toEqual({ attempt: 20_001, output: 'anew' })
  expect(live(...first, output(20_001, 0, 'anew'), report(10_001, 3))?.output).toBe('anew')
  const ended = { name: 'import', outcome: 'succeeded', errorCode: null, preview: 'ok', attachments: [] }
  expect(live(...first, event('tool.result', ended, { toolCallId: 'c1' }))).toBeUndefined()
})
