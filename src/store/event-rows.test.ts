import { expect, test } from 'vitest'

import { fact, phaseFact } from '../protocol/facts.js'
import type { Fact } from '../protocol/facts.js'
import { anyFact } from '../../test/support/any-fact.js'
import { EVENTS_PER_ROW, packEvents, unpackEvents } from './event-rows.js'

const STEP = { runId: 'run_1', stepId: 'step_1_2' }

/** Unpacks rows into facts. */
const read = (events: readonly Fact[]) =>
  packEvents(events, 10).flatMap((row) =>
    unpackEvents(row).map(({ sequence, ...event }, index) => ({ ...event, place: [sequence, index] })),
  )

test('unpacked events equal the packed ones', () => {
  const events: readonly Fact[] = [
    anyFact('thread.started', { agent: 'a' }),
    phaseFact(3, STEP),
    anyFact('tool.result', { name: 'x' }, { ...STEP, toolCallId: 'c', messageId: 'm' }),
    anyFact('message.created', {}, { messageId: 'm', runId: 'run_1' }),
    fact('message.created', { role: 'user' }, { messageId: 'n', childId: 'k' }),
    phaseFact(4, {}),
  ]
  const given = events.map(({ type, scope = {}, payload }) => ({ type, scope, payload }))
  expect(read(events).map(({ place: _place, ...event }) => event)).toEqual(given)
  expect(read(events).map(({ place: [sequence] }) => sequence)).toEqual([11, 12, 13, 14, 15, 16])
})

test('a row stores each name once, and events refer to it', () => {
  const events = [
    phaseFact(7, { runId: 'run_1', stepId: 'step_1_1' }),
    phaseFact(1, STEP),
    fact('message.created', { role: 'user' }, { ...STEP, messageId: 'm' }),
  ]
  const [row, ...others] = packEvents(events, 0)
  expect(others).toEqual([])
  expect(JSON.parse(row?.scope ?? '')).toEqual([
    [0, 'run_1'],
    [1, 'step_1_1'],
    [1, 'step_1_2'],
    [2, 'm'],
  ])
  expect(row?.events).toBe('[[7,"01"],[1,"02"],["message.created","023",{"role":"user"}]]')
})

test('a phase event takes a few bytes, unless it has other payload', () => {
  const [row] = packEvents([phaseFact(7, STEP)], 0)
  expect(row?.events).toBe('[[7,"01"]]')
  const more: readonly Fact[] = [
    fact('step.phase', { phase: 7, name: 'other' }, STEP),
    anyFact('step.phase', { phase: 9, name: 'of a newer version' }, STEP),
    anyFact('step.phase', {}, STEP),
  ]
  expect(read(more).map(({ payload }) => payload)).toEqual(more.map(({ payload }) => payload))
})

test('a row holds a bounded number of events, and of names', () => {
  const phases = Array.from({ length: EVENTS_PER_ROW + 1 }, () => phaseFact(1, STEP))
  expect(packEvents(phases, 0).map(({ sequence }) => sequence)).toEqual([EVENTS_PER_ROW, EVENTS_PER_ROW + 1])
  const created = Array.from({ length: 100 }, (_, index) =>
    anyFact('message.created', {}, { ...STEP, messageId: `m${index}` }),
  )
  expect(packEvents(created, 0).length).toBeGreaterThan(2)
  expect(read(created).map(({ scope }) => scope)).toEqual(created.map(({ scope }) => scope))
})

test('a scope key of a newer version is read', () => {
  const scope = '[[0,"r"],["batchId","b"],[99,"c"]]'
  const row = { first_sequence: 1, sequence: 1, scope, events: '[["new","012"]]' }
  const named = { runId: 'r', batchId: 'b' }
  expect(unpackEvents(row)).toEqual([{ sequence: 1, type: 'new', scope: named, payload: {} }])
})
