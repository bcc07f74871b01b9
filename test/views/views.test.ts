/** What each view promises of its words, on recorded streams and on facts that no stream of ours has yet. */
import fc from 'fast-check'
import { describe, expect, test } from 'vitest'

import { agentRuntimeCore, agentRuntimeProfile } from '../../src/server/view-schemas.js'
import { fromTaskEvent, protolinkTaskView } from '../../src/views/index.js'
import type { TaskEvent } from '../../src/views/index.js'
import { viewed, viewOf } from '../support/view-rules.js'
import { everything, log, run, step, SUBJECT } from './recorded.js'
import type { MadeUp } from './recorded.js'

/** Of the draft, word for word. */
const SAMPLE = `{
"type": "tool.started",
"eventId": "evt_01",
"schemaVersion": "0.1.0",
"timestamp": "2026-05-08T02:30:00Z",
"sequence": 42,
"sessionId": "sess_123",
"threadId": "thread_123",
"turnId": "turn_123",
"taskId": "task_123",
"runId": "run_123",
"stepId": "step_123",
"toolCallId": "tool_123",
"traceId": "4bf92f3577b34da6a3ce929d0e0e4736",
"spanId": "00f067aa0ba902b7",
"payload": {
"toolName": "read_file",
"safeArgs": { "path": "README.md" },
"policy": "allowed"
}
}`

describe('the Agent Runtime view', () => {
  test('AR-ES.2 the schema accepts the sample of the draft verbatim, and nothing that is formed otherwise', () => {
    const sample = JSON.parse(SAMPLE) as object
    expect(agentRuntimeCore.parse(sample)).toEqual(sample)
    for (const wrong of [
      ...[{ event_id: 'e' }, { schemaVersion: 1 }, { timestamp: '2026-05-08 02:30' }, { sequence: 1.5 }],
      ...[{ traceId: 'xyz' }, { spanId: '00f067aa0ba902b' }, { payload: 'text' }, { type: '' }],
    ])
      expect(agentRuntimeCore.safeParse({ ...sample, ...wrong }).success, JSON.stringify(wrong)).toBe(false)
    // Ours of a call has the same fields in its payload.
    const started = viewOf('ar', SUBJECT, everything()).find(({ type }) => type === 'tool.started')
    expect(started?.payload).toMatchObject({
      ...{ toolName: 'look', safeArgs: { task: expect.any(String) }, policy: 'allowed' },
    })
  })

  test('AR-S1.2 AR-RM.12 our profile only adds: each event that it accepts the core accepts', () => {
    const events = viewOf('ar', SUBJECT, everything())
    const fields = Object.keys(JSON.parse(SAMPLE) as object)
    const changed = fc
      .tuple(
        fc.constantFrom(...events, JSON.parse(SAMPLE) as object),
        fc.dictionary(fc.constantFrom(...fields, 'actionId', 'refs', 'extra'), fc.anything()),
        fc.subarray([...fields, 'runtimeId']),
      )
      .map(([event, more, less]) => {
        const kept = Object.entries({ ...event, ...more }).filter(([name]) => !less.includes(name))
        return Object.fromEntries(kept) as object
      })
    fc.assert(
      fc.property(changed, (event) => {
        if (agentRuntimeProfile.safeParse(event).success)
          expect(agentRuntimeCore.safeParse(event).success).toBe(true)
      }),
      { numRuns: 2_000 },
    )
    // It is stricter: the core accepts what has no runtime, no sequence, or no id of what it is about.
    const [first] = events
    for (const missing of ['runtimeId', 'sequence', 'sessionId']) {
      const without = Object.fromEntries(Object.entries(first ?? {}).filter(([name]) => name !== missing))
      expect(agentRuntimeCore.safeParse(without).success, missing).toBe(true)
      expect(agentRuntimeProfile.safeParse(without).success, missing).toBe(false)
    }
    expect(events.every((event) => agentRuntimeProfile.safeParse(event).success)).toBe(true)
  })

  test('AR-ID.4 each message of a run is a turn with an id of its own, and all end with it', () => {
    const types = turnsOf(
      ...[run.started(), ...run.drained('m1', 'm2'), run.ended('completed', 'stop_on_response')],
    )
    expect(types).toEqual([
      ...['turn.submitted m1', 'turn.started m1', 'turn.submitted m2', 'turn.started m2'],
      ...['turn.completed m1', 'turn.completed m2'],
    ])
  })

  test('AR-EC.3 a turn begins where its message joins the queue, and ends with its run, or where it is taken back, refused or rejected', () => {
    const added = ['m1', 'm2', 'm3', 'm4', 'm5'].map((id) => ({ id, kind: 'message' }))
    const types = turnsOf(
      { type: 'queue.changed', payload: { waiting: 5, added } },
      { type: 'message.ended', messageId: 'm1', payload: { end: 'removed' } },
      { type: 'queue.changed', payload: { waiting: 3, removed: ['m1'] } },
      { type: 'message.ended', messageId: 'm2', payload: { end: 'refused', hook: 'h' } },
      ...[run.started(), ...run.drained('m5'), run.ended('completed', 'stop_on_response')],
      ...[run.started(), ...run.drained('m3'), run.ended('cancelled', 'terminated')],
      { type: 'thread.closed', payload: { outcome: 'terminated', reason: 'terminated', rejected: 1 } },
    )
    expect(types).toEqual([
      ...['turn.submitted m1', 'turn.submitted m2', 'turn.submitted m3', 'turn.submitted m4'],
      'turn.submitted m5',
      ...['turn.failed m1 "removed"', 'turn.failed m2 "refused"'],
      ...['turn.started m5', 'turn.completed m5', 'turn.started m3'],
      ...['turn.failed m3 "cancelled"', 'turn.failed m4 "rejected"'],
    ])
  })

  test('a turn has one beginning and one end, however late the log tells that its message joined the queue', () => {
    const added = ['m1', 'm2', 'm3', 'q1'].map((id) => ({ id, kind: id === 'q1' ? 'tool' : 'message' }))
    const types = turnsOf(
      { type: 'queue.changed', payload: { waiting: 0, removed: ['m2'] } },
      { type: 'queue.changed', payload: { waiting: 0, taken: ['m1', 'm3', 'q1'] } },
      ...[run.started(), ...run.drained('m1'), run.ended('completed', 'stop_on_response')],
      { type: 'queue.changed', payload: { waiting: 0, added } },
      { type: 'queue.changed', payload: { waiting: 0, added } },
    )
    expect(types).toEqual([
      ...['turn.submitted m1', 'turn.started m1', 'turn.completed m1'],
      ...['turn.submitted m2', 'turn.failed m2 "removed"', 'turn.submitted m3', 'turn.failed m3 "refused"'],
    ])
  })

  test('a run that no message began is a turn of its own', () => {
    const types = turnsOf(run.started('effect'), run.ended('failed', 'model_failed'))
    expect(types).toEqual([
      ...['turn.submitted t:run_1', 'turn.started t:run_1', 'turn.failed t:run_1 "failed"'],
    ])
  })

  test('an event has the trace that telemetry has recorded, and no other one', () => {
    const traceId = '4bf92f3577b34da6a3ce929d0e0e4736'
    const facts = log(
      { type: 'thread.reopened', traceId, spanId: '00f067aa0ba902b7' },
      { type: 'message.updated' },
    )
    const [traced, other] = viewOf('ar', SUBJECT, facts).filter(({ type }) =>
      ['thread.updated', 'message.updated'].includes(type),
    )
    expect(traced).toMatchObject({ traceId, spanId: '00f067aa0ba902b7' })
    expect(other).not.toHaveProperty('traceId')
  })

  test('a type that it does not know stays, under its own name', () => {
    const [event] = viewOf('ar', SUBJECT, log({ type: 'later.invention', payload: { some: 1 } }))
    expect(event).toMatchObject({ type: 'later.invention', payload: { some: 1 } })
  })
})

function turnsOf(...facts: readonly MadeUp[]): readonly string[] {
  return viewOf('ar', SUBJECT, log(...facts)).flatMap(({ type, turnId, payload }) => {
    if (!type.startsWith('turn.')) return []
    const outcome = type === 'turn.failed' ? ` ${JSON.stringify(payload['outcome'])}` : ''
    return [`${type} ${turnId}${outcome}`]
  })
}

/** What a thread does beside the recorded one: text that streams, a file, a budget. */
const MORE = log(
  ...[run.started(), ...run.drained('m1')],
  {
    type: 'budget.warning',
    ...step,
    payload: { limit: 'maxSteps', scope: 'run', period: 'total', most: 5, used: 4 },
  },
  {
    type: 'budget.exceeded',
    ...step,
    payload: { limit: 'maxSteps', scope: 'run', period: 'total', most: 5, used: 5 },
  },
  { type: 'file.changed', ...step, payload: { path: '/a/b.txt', change: 'created', size: 1, version: 'v' } },
  run.ended('failed', 'budget_exceeded'),
)
const DELTA = { type: 'model.delta', messageId: 'm2', threadId: 't', timestamp: '2026-01-01T00:00:00.000Z' }
const STREAMED = { ...DELTA, schemaVersion: 1, payload: { attempt: 1, offset: 0, text: 'Hel' } } as const

describe('the view of Protolink', () => {
  const tasks = (events = everything()): readonly TaskEvent[] => viewed(protolinkTaskView(SUBJECT), events)

  test('PL-EV.3 the ten types are named as there', () => {
    const events = [
      ...viewOf('pl', SUBJECT, everything()),
      ...viewOf('pl', SUBJECT, [...MORE, STREAMED as (typeof MORE)[number]]),
    ]
    expect([...new Set(events.map(({ type }) => type))]).toEqual(
      expect.arrayContaining([
        ...['task.status', 'task.artifact', 'task.error', 'task.progress', 'context.prepared'],
        ...['llm.call.started', 'llm.call.completed', 'llm.stream', 'budget.warning', 'budget.exceeded'],
      ]),
    )
  })

  test('PL-EV.1 the objects of the transport stay as they are beside the run events that are made of them', () => {
    const kinds = new Set([...tasks(), ...tasks(MORE)].map(({ kind }) => kind))
    expect(kinds).toEqual(new Set(['status-update', 'artifact-update', 'llm-stream']))
    const events = viewOf('pl', SUBJECT, everything())
    expect(events.map(({ payload }) => payload['kind'])).toEqual(tasks().map(({ kind }) => kind))
    expect(events.every(({ version }) => version === 1)).toBe(true)
  })

  test('PL-EV.5 promoted values are in the payload, beside the whole event of the transport', () => {
    const events = viewOf('pl', SUBJECT, everything())
    const payloadOf = (wanted: string) => events.find(({ type }) => type === wanted)?.payload
    expect(payloadOf('context.prepared')).toHaveProperty('manifest.tokens')
    expect(payloadOf('action.started')).toMatchObject({ action: { name: 'look' }, action_id: 'call_2_1_0' })
    expect(payloadOf('approval.required')).toMatchObject({
      ...{ request: { requestId: 'approval_call_2_2_0' }, action_id: 'call_2_2_0' },
    })
    expect(payloadOf('approval.decided')).toHaveProperty('decision.resolution', 'allowed')
    expect(events.find(({ delegation_id: id }) => id !== undefined)?.payload).toHaveProperty('delegation_id')
    const traced = viewOf('pl', SUBJECT, log({ type: 'runtime.warning', spanId: '00f067aa0ba902b7' }))
    expect(traced[0]?.payload).toHaveProperty('span_id', '00f067aa0ba902b7')
    for (const [index, task] of tasks().entries())
      expect(events[index]?.payload, task.kind).toMatchObject(JSON.parse(JSON.stringify(task)) as object)
  })

  test('PL-EV.6 the context of a final event is recovered from its serialized task', () => {
    const final = tasks().find((event) => event.kind === 'status-update' && event.final)
    expect(final).not.toHaveProperty('context')
    expect(fromTaskEvent(final as TaskEvent, 7)).toMatchObject({
      ...{ type: 'task.status', final: true, sequence: 7, agent_name: 'host' },
      run_id: expect.stringMatching(/^views-.*:run_\d+$/),
    })
  })

  test('a task that was stopped ends once, cancelled with its reason, and is no error', () => {
    const events = viewOf(
      'pl',
      SUBJECT,
      log(run.started(), ...run.drained('m1'), run.ended('cancelled', 'stopped')),
    )
    expect(events.filter(({ final }) => final)).toMatchObject([
      { payload: { state: 'canceled', task: { id: 'm1', metadata: { cancel_reason: 'stopped' } } } },
    ])
    expect(events.map(({ type }) => type)).not.toContain('task.error')
  })
})

describe('the view of OpenTelemetry', () => {
  test('a request is one span of its conventions, from the beginning to the end', () => {
    const spans = viewOf('otel', SUBJECT, everything()).filter((record) => record.signal === 'span')
    const [failed, answered] = spans.filter(({ name }) => name.startsWith('chat '))
    expect(failed).toMatchObject({ status: 'ERROR', attributes: { 'error.type': 'unavailable' } })
    expect(answered).toMatchObject({
      ...{ kind: 'CLIENT', status: 'UNSET' },
      attributes: {
        'gen_ai.operation.name': 'chat',
        'gen_ai.provider.name': 'scripted',
        'gen_ai.usage.input_tokens': 10,
        'gen_ai.response.finish_reasons': ['tool-calls'],
      },
    })
    for (const { startTimeUnixNano: from, endTimeUnixNano: to } of spans)
      expect(BigInt(to) >= BigInt(from)).toBe(true)
  })

  test('no text, argument or result is in it', () => {
    expect(JSON.stringify(viewOf('otel', SUBJECT, everything()))).not.toContain('q9zx7marker')
  })
})
