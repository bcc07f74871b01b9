import { expect, test } from 'vitest'

import { seededRandom } from '../../test/support/seeded-random.js'
import { fold } from './fold-events.js'
import type { FoldedThread } from './fold-events.js'
import type { EventScope, JoinedFact } from '../protocol/events.js'

const USAGE = { inputTokens: 1, outputTokens: 1, cachedInputTokens: 0, cost: null }

/** The events of a thread, numbered from 1. */
function log(...events: readonly (readonly [type: string, payload?: object, scope?: EventScope])[]) {
  return events.map(([type, payload = {}, scope = {}], index): JoinedFact => {
    const sequence = index + 1
    const place = { threadId: 't', sessionId: 't', runtimeId: 's' }
    const about = { ...place, schemaVersion: 1, timestamp: '2026-01-01T00:00:00.000Z' }
    return { ...about, ...scope, sequence, eventId: `t:${sequence}`, type, payload } as JoinedFact
  })
}

const STARTED = ['thread.started', { agent: 'clerk', parent: null }] as const
const RUN = { runId: 'run_1' }

const TURN = log(
  STARTED,
  ['queue.changed', { waiting: 2, added: [item('m1'), item('m2')], queue: [] }],
  ['run.started', { trigger: 'message' }, RUN],
  ['side.started', { side: 'a' }, RUN],
  ['step.started', { step: 1 }, RUN],
  ['message.created', { role: 'user', message: null, truncated: false, bytes: 0 }, { messageId: 'm1' }],
  ['model.requested', {}, RUN],
  ['subagent.spawned', { reference: 'c', name: 'helper', threadName: 'Ann' }, { childId: 'c' }],
  ['subagent.input', { reference: 'c', name: 'helper' }, { childId: 'c' }],
  ['action.required', { requestId: 'r', kind: 'approval', toolName: 'refund' }, RUN],
  ['effect.scheduled', { effectId: 'late', name: 'remind', time: 9 }],
  ['effect.scheduled', { effectId: 'soon', name: 'remind', time: 5 }],
  ['action.resolved', { requestId: 'r', kind: 'approval', decision: 'approved', by: null }, RUN],
  ['subagent.status', { reference: 'c', name: 'helper', status: 'reads' }, { childId: 'c' }],
  ['subagent.completed', { reference: 'c', name: 'helper' }, { childId: 'c' }],
  ['effect.completed', { effectId: 'soon', name: 'remind' }],
  ['queue.changed', { waiting: 0, taken: ['m2'], queue: [] }],
  ['run.completed', { reason: 'stop_on_response', steps: 1, usage: USAGE, status: 'idle' }, RUN],
)

function item(id: string) {
  return { id, kind: 'message' as const }
}

test('AR-ES.4 a log folds into agent, runs, requests, effects and subagents', () => {
  expect(fold(TURN)).toEqual({
    ...{ threadId: 't', agent: 'clerk', parent: null, status: 'idle', statusText: null, run: null },
    ...{ lastRun: { runId: 'run_1', reason: 'stop_on_response', steps: 1 }, pending: [] },
    ...{ queue: [], isQueueWhole: true },
    effects: [{ id: 'late', name: 'remind', scheduledAt: 9 }],
    children: [{ reference: 'c', name: 'helper', threadName: 'Ann', status: 'completed' }],
    ...{ lastSequence: 18, gapAfter: null, held: [] },
  })
})

test('within a run the status says what it waits for', () => {
  const until = (sequence: number) => fold(TURN.slice(0, sequence))
  expect(until(1)).toMatchObject({ status: 'idle', run: null })
  expect(until(5)).toMatchObject({ status: 'running', run: { runId: 'run_1', side: 'a', steps: 1 } })
  expect(until(10)).toMatchObject({
    status: 'waiting_permission',
    pending: [{ id: 'r', toolName: 'refund' }],
  })
  expect(until(13)).toMatchObject({ status: 'running', pending: [] })
  expect(until(12).effects.map(({ id }) => id)).toEqual(['soon', 'late'])
  const waiting = log(
    STARTED,
    ['run.started', { trigger: 'message' }, RUN],
    ['model.failed', { model: 'm', attempt: 1, error: 'rate_limited', next: 'wait' }, RUN],
  )
  expect(fold(waiting).status).toBe('waiting_resource')
})

test('the queue keeps its order: what joins is last, what is promoted first', () => {
  const changes = log(
    STARTED,
    ['queue.changed', { waiting: 3, added: [item('1'), item('2'), item('3')] }],
    ['queue.changed', { waiting: 3, promoted: ['3'] }],
    ['queue.changed', { waiting: 2, removed: ['1'] }],
    ['queue.changed', { waiting: 2, added: [item('4')], taken: ['3'] }],
    ['message.ended', { end: 'removed' }, { messageId: '2' }],
    // It joined and left before the event was written.
    ['queue.changed', { waiting: 1, added: [item('5')], removed: ['5'] }],
    ['queue.changed', { waiting: 2, added: [{ id: 'e', kind: 'effect' }, item('4')] }],
  )
  const orders = changes.map((_, index) =>
    fold(changes.slice(0, index + 1))
      .queue.map(({ id }) => id)
      .join(''),
  )
  expect(orders).toEqual(['', '123', '312', '32', '24', '4', '4', '4e'])
})

test('a queue of which not all changes were listed says so until a snapshot has them', () => {
  const changes = log(
    STARTED,
    ['queue.changed', { waiting: 2, added: [item('1'), item('2')] }],
    ['queue.changed', { waiting: 300, unlisted: 298 }],
    ['queue.changed', { waiting: 299, taken: ['1'] }],
  )
  expect(fold(changes.slice(0, 2))).toMatchObject({ isQueueWhole: true, queue: [item('1'), item('2')] })
  const partly = fold(changes)
  expect(partly).toMatchObject({ isQueueWhole: false, queue: [item('2')] })
  const snapshot = { ...partly, queue: Array.from({ length: 299 }, (_, index) => item(`m${index}`)) }
  const { held: _held, gapAfter: _gap, isQueueWhole: _whole, ...given } = snapshot
  expect(fold(given, [])).toMatchObject({ isQueueWhole: true, queue: given.queue })
  expect(fold([...changes, ...log(...changes.map(() => STARTED), ['thread.closed', {}])])).toMatchObject({
    ...{ isQueueWhole: true, queue: [], lastSequence: 5 },
  })
})

test('AR-ES.4 a gap is told and nothing behind it counts until it is filled', () => {
  const [first = TURN[0], ...rest] = TURN
  const [second, ...others] = rest
  if (first === undefined || second === undefined) throw new Error('Expected events')
  const gap = fold([first, ...others])
  expect(gap).toMatchObject({ lastSequence: 1, gapAfter: 1, status: 'idle', run: null })
  expect(gap.held).toHaveLength(others.length)
  const kept = JSON.parse(JSON.stringify(gap)) as FoldedThread
  expect(fold(kept, [second])).toEqual(fold(TURN))
})

test('more than a thousand events behind a gap are read again', () => {
  const many = log(STARTED, ...Array.from({ length: 3_000 }, () => ['custom', {}] as const))
  const gap = fold(many.filter(({ sequence }) => sequence !== 2))
  expect(gap.held).toHaveLength(1_000)
  expect(gap.gapAfter).toBe(1)
  expect(fold(gap, many.slice(1))).toEqual(fold(many))
})

test('AR-ES.4 500 readers with cuts, duplicates, swaps and gaps end equal', () => {
  const whole = fold(TURN)
  for (let seed = 1; seed <= 500; seed += 1) expect(readBadly(TURN, seed)).toEqual(whole)
})

/** Reads a log with a connection that loses, repeats and swaps, and comes back at the gap that it is told of. */
function readBadly(events: readonly JoinedFact[], seed: number): FoldedThread {
  const random = seededRandom(seed)
  let state = fold([])
  while (state.lastSequence < events.length || state.gapAfter !== null) {
    const after = state.gapAfter ?? state.lastSequence
    const page = events.slice(after, after + 1 + random.below(8))
    const lost = page.filter(() => random.chance(0.8))
    const repeated = [...lost, ...lost.filter(() => random.chance(0.4))]
    const swapped = repeated.toSorted(() => random.below(3) - 1)
    state = fold(JSON.parse(JSON.stringify(state)) as FoldedThread, swapped)
  }
  return state
}

test('a fold goes on from a snapshot as from the events before it', () => {
  const before = fold(TURN.slice(0, 9))
  const { children, ...fields } = before
  const snapshot = {
    ...fields,
    run: { runId: 'run_1', side: 'a' as const, steps: 1, doing: null },
    children: children.map((child) => ({ ...child, description: 'Helps' })),
  }
  const { held: _held, gapAfter: _gap, isQueueWhole: _whole, ...given } = snapshot
  expect(fold(given, TURN)).toEqual(fold(TURN))
  expect(fold(given, [])).toEqual(before)
})

test('deltas, unknown types and old events change nothing', () => {
  const whole = fold(TURN)
  const unknown = log(...TURN.map(() => ['new.thing', { what: 1 }] as const), ['new.thing', { what: 1 }])
  expect(fold(whole, unknown)).toEqual({ ...whole, lastSequence: 19 })
  expect(fold(whole, TURN)).toEqual(whole)
})

test('events of two threads are refused', () => {
  const [first] = TURN
  if (first === undefined) throw new Error('Expected events')
  expect(() => fold([first, { ...first, threadId: 'u' }])).toThrow(
    'Expected events of the thread "t", got one of "u": fold each by itself.',
  )
})

test('nothing folds into an idle thread without a name', () => {
  expect(fold([])).toMatchObject({ threadId: '', status: 'idle', lastSequence: 0, gapAfter: null })
})
