/** Classes, items and references of the Agent Runtime view, on a recorded stream and on facts that no stream of ours has. */
import { describe, expect, test } from 'vitest'
import { z } from 'zod'

import { agentRuntimeProfile } from '../../src/server/view-schemas.js'
import { ITEM_KINDS, itemsOf, refsOf } from '../../src/views/agent-runtime-items.js'
import type { AgentRuntimeEvent, ViewedFact } from '../../src/views/index.js'
import { viewOf } from '../support/view-rules.js'
import { everything, log, run, step, SUBJECT } from './recorded.js'
import type { MadeUp } from './recorded.js'

const view = (facts: readonly ViewedFact[]): readonly AgentRuntimeEvent[] => viewOf('ar', SUBJECT, facts)
const madeUp = (...facts: readonly MadeUp[]) => view(log(...facts))

const TRACE = { traceId: '4bf92f3577b34da6a3ce929d0e0e4736', spanId: '00f067aa0ba902b7' }
const usage = { inputTokens: 1, outputTokens: 1, cachedInputTokens: 0, cost: null }
const answered = { model: 'm', attempt: 1, usage, finishReason: 'stop', milliseconds: 1 }

/** What the recorded thread has not done. */
const MORE: readonly MadeUp[] = [
  ...[run.started(), ...run.drained('m1')],
  { type: 'thread.status', payload: { status: 'Looks for order A-17' } },
  {
    type: 'model.completed',
    ...{ ...step, messageId: 'm2', payload: { ...answered, reasoningCharacters: 3, responseId: 'resp_1' } },
  },
  {
    type: 'message.created',
    ...{ ...step, messageId: 'm2' },
    payload: { role: 'assistant', message: { reasoning_content: 'Hm.' } },
  },
  {
    type: 'hook.failed',
    ...step,
    payload: { hook: 'h', point: 'before_tool_call', code: 'threw', fails: 'open' },
  },
  { type: 'runtime.error', payload: { errorId: 'e1' } },
  { ...run.ended('completed', 'stop_on_response'), ...TRACE },
]

test('AR-EC.5 what a run is doing has a phase, a title, a detail, checkpoints and metadata', () => {
  const payload = z.strictObject({
    ...{ phase: z.string().min(1), title: z.string(), detail: z.string().nullable() },
    ...{ checkpoints: z.array(z.unknown()), metadata: z.record(z.string(), z.unknown()) },
  })
  const statuses = [...view(everything()), ...madeUp(...MORE)].filter(({ type }) => type === 'run.status')
  for (const status of statuses) payload.parse(status.payload)
  const phases = new Set(statuses.map(({ payload: { phase } }) => phase))
  expect(phases).toEqual(
    new Set([
      ...['drain', 'assemble_context', 'call_model', 'persist_answer', 'execute_tools', 'persist_results'],
      ...['stop_conditions', 'status'],
    ]),
  )
  expect(statuses.at(-1)?.payload).toMatchObject({ phase: expect.any(String) })
  expect(statuses.map(({ payload: { title } }) => title)).toContain('Looks for order A-17')
})

describe('with types of others in the log', () => {
  /** Types of a vendor, and events of a tool's code that are named like ours, after each fact. */
  function extended(facts: readonly ViewedFact[]): readonly ViewedFact[] {
    const more = facts.flatMap(({ runId, stepId, toolCallId }, at) => [
      ...[facts[at] as ViewedFact],
      ...log(
        { type: 'lime.draft.changed', payload: { text: 'x' }, ...(runId !== undefined && { runId }) },
        { type: 'custom', payload: { name: 'turn.completed', data: { status: 'completed' } } },
        {
          ...{ type: 'custom', payload: { name: 'tool.failed', data: null } },
          ...{ ...(stepId !== undefined && { stepId }), ...(toolCallId !== undefined && { toolCallId }) },
        },
      ),
    ])
    return more.map((fact, at) => ({ ...fact, sequence: at + 1, eventId: `t:${at + 1}` }) as ViewedFact)
  }

  test('AR-EC.20 the classes of the draft come as without them, and those of the vendor keep their names', () => {
    for (const facts of [everything(), log(...MORE)]) {
      const plain = view(facts)
      const both = view(extended(facts))
      const isOthers = ({ type }: AgentRuntimeEvent) => type === 'custom' || type.startsWith('lime.')
      const shape = ({ eventId: _id, sequence: _number, ...event }: AgentRuntimeEvent) => {
        const { itemId: _own, ...payload } = event.payload
        return { ...event, payload }
      }
      expect(both.filter((event) => !isOthers(event)).map(shape)).toEqual(plain.map(shape))
      expect(both.filter(({ type }) => type === 'lime.draft.changed')).toHaveLength(facts.length)
      for (const event of both) agentRuntimeProfile.parse(event)
    }
  })
})

test('AR-RM.7 each item has one of the kinds of the draft, and each kind is one of the schema', () => {
  const items = [...view(everything()), ...madeUp(...MORE)].filter(({ type }) => type.startsWith('item.'))
  const fileChange = {
    type: 'file.changed',
    payload: { path: '/a', change: 'created', size: 1, version: 'v' },
  }
  const note = { type: 'message.created', messageId: 'm3', payload: { role: 'system' } }
  const warning = { type: 'runtime.warning', payload: { code: 'queue_full' } }
  items.push(...madeUp(fileChange, note, warning).filter(({ type }) => type.startsWith('item.')))
  expect(new Set(items.map(({ payload: { kind } }) => kind))).toEqual(new Set(ITEM_KINDS))
  for (const item of items) {
    agentRuntimeProfile.parse(item)
    const other = { ...item, payload: { ...item.payload, kind: 'other' } }
    expect(agentRuntimeProfile.safeParse(other).success).toBe(false)
  }
  // Text is the message of whoever says it; what a model thinks, and what a trace shows, are items of their own.
  expect(ITEM_KINDS).toEqual(
    expect.arrayContaining([
      ...['status', 'agent_message', 'reasoning', 'tool_call', 'approval_request', 'file_change', 'warning'],
      'evidence_link',
    ]),
  )
})

test('AR-ES.7 turns, items, hooks and permissions are found by the beginning of their names', () => {
  const events = [...view(everything()), ...madeUp(...MORE)]
  const named = (prefix: string) => events.filter(({ type }) => type.startsWith(prefix))
  expect(new Set(named('turn.').map(({ type }) => type))).toEqual(
    new Set(['turn.submitted', 'turn.started', 'turn.completed', 'turn.failed']),
  )
  const kinds = new Set(named('item.').map(({ payload: { kind } }) => kind))
  for (const kind of ['agent_message', 'reasoning', 'tool_call', 'file_change', 'error'])
    expect(kinds).toContain(kind)
  expect(new Set(named('hook.').map(({ type }) => type))).toEqual(
    new Set(['hook.started', 'hook.completed', 'hook.failed']),
  )
  expect(new Set(named('permission.').map(({ type }) => type))).toEqual(
    new Set(['permission.evaluated', 'permission.requested', 'permission.resolved']),
  )
  // What is told once begins and ends once.
  const ends = named('item.completed').map(({ payload: { itemId } }) => itemId)
  expect(new Set(ends).size).toBe(ends.length)
  const begun = named('item.started').map(({ payload: { itemId } }) => itemId)
  expect(begun.filter((id) => !ends.includes(id))).toEqual([])
})

test('AR-RM.11 a call or request without a trace says that it is missing, and one with a trace names it', () => {
  const call = { ...step, toolCallId: 'c', payload: { name: 'look', preview: '{}', truncated: false } }
  const result = { ...step, toolCallId: 'c', payload: { name: 'look', outcome: 'succeeded' } }
  const both = (more: object) => [
    { type: 'tool.started', ...call, ...more },
    { type: 'tool.result', ...result, ...more },
    { type: 'model.completed', ...step, payload: answered, ...more },
  ]
  const about = (events: readonly AgentRuntimeEvent[]) =>
    events.filter(({ type }) => /^(tool|model)\./.test(type))
  const without = about(madeUp(...both({})))
  expect(without).toHaveLength(4)
  for (const { refs, traceId } of without) {
    expect(refs).toMatchObject({ trace: 'missing_correlation' })
    expect(traceId).toBeUndefined()
  }
  for (const { refs, traceId, spanId } of about(madeUp(...both(TRACE)))) {
    expect(refs ?? {}).not.toHaveProperty('trace')
    expect({ traceId, spanId }).toEqual(TRACE)
  }
})

test('AR-EC.9 a call is told by its beginning, arguments, progress and result, or its failure', () => {
  const about = (toolCallId: string) => ({ ...step, toolCallId })
  const started = { name: 'look', preview: '{"id":1}', truncated: false }
  const piece = { attempt: 1, offset: 0, text: '{"i', name: 'look' }
  const told = madeUp(
    { type: 'tool.args', messageId: 'm1', toolCallId: 'c1', payload: piece },
    { type: 'tool.started', ...about('c1'), payload: started },
    { type: 'tool.progress', toolCallId: 'c1', payload: { attempt: 1, progress: 1, total: 3 } },
    { type: 'tool.result', ...about('c1'), payload: { name: 'look', outcome: 'succeeded' } },
    { type: 'tool.started', ...about('c2'), payload: started },
    { type: 'tool.result', ...about('c2'), payload: { name: 'look', outcome: 'failed', errorCode: 'threw' } },
  ).filter(({ type }) => type.startsWith('tool.'))
  expect(told.map(({ type, toolCallId }) => [type, toolCallId])).toEqual([
    ...[
      ['tool.args', 'c1'],
      ['tool.started', 'c1'],
      ['tool.args', 'c1'],
      ['tool.progress', 'c1'],
      ['tool.result', 'c1'],
    ],
    ...[
      ['tool.started', 'c2'],
      ['tool.args', 'c2'],
      ['tool.failed', 'c2'],
    ],
  ])
  expect(told[0]).toMatchObject({ payload: { toolName: 'look', attempt: 1, offset: 0, text: '{"i' } })
  expect(told[2]).toMatchObject({ payload: { toolName: 'look', args: { id: 1 } } })
  expect(told[3]).toMatchObject({ payload: { progress: 1, total: 3 } })
})

test('AR-ID.6 a run that goes on with what another one has left has a new id, and the task of that', () => {
  const runs = (id: string) => ({
    started: run.started(id === 'run_1' || id === 'run_4' ? 'message' : 'continue', id),
    ended: (how: string) => ({ ...run.ended(how, 'x'), runId: id }),
  })
  const [one, two, three, four] = ['run_1', 'run_2', 'run_3', 'run_4'].map(runs)
  const message = (messageId: string, runId: string) => ({
    ...{ type: 'message.created', messageId, runId, payload: { role: 'user' } },
  })
  const facts = [
    ...[one?.started, message('m1', 'run_1'), one?.ended('failed')],
    // What goes on may be interrupted, and goes on again.
    ...[two?.started, two?.ended('cancelled'), three?.started, three?.ended('completed')],
    ...[four?.started, message('m2', 'run_4'), four?.ended('completed')],
  ].flatMap((fact) => fact ?? [])
  const tasks = madeUp(...facts).flatMap(({ type, runId, taskId }) =>
    /^run\.(completed|failed|cancelled)$/.test(type) ? [[runId, taskId]] : [],
  )
  expect(tasks).toEqual([
    ['t:run_1', 'm1'],
    ['t:run_2', 'm1'],
    ['t:run_3', 'm1'],
    ['t:run_4', 'm2'],
  ])
})

test('the message of a result is no item beside its call', () => {
  const [result] = log({ type: 'message.created', messageId: 'm', payload: { role: 'tool' } })
  expect(result && itemsOf(result, { reasoned: false })).toEqual([])
})

test('an event about nothing else has no reference and no item', () => {
  const [plain] = log({ type: 'thread.reopened' })
  expect(plain && [refsOf(plain), itemsOf(plain, { reasoned: false })]).toEqual([undefined, []])
})
