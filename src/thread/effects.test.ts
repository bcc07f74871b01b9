import { describe, expect, test } from 'vitest'
import { idleControl, message, NOW, run, withCalls } from '../../test/support/control-states.js'
import { LIMITS } from '../protocol/limits.js'
import { advance } from './advance.js'
import { carry, restore } from './continue-as-new.js'
import type { ThreadControl } from './control.js'
import { acceptMessage, acceptStop } from './inbox.js'
import { applyDueTimes, nextAction } from './next-action.js'
import {
  giveUpEffect,
  completeEffect,
  removeEffect,
  scheduleEffect,
  queueDueEffects,
  forgetGivenUp,
  nextEffectAt,
} from './operations.js'
import { applySettle } from './settling.js'
import { snapshotOf } from './snapshot.js'

const ids = (control: ThreadControl): readonly string[] => control.queue.map(({ id }) => id)
const scheduleEffects = (
  control: ThreadControl,
  ...due: readonly (readonly [string, number])[]
): ThreadControl =>
  due.reduce((next, [id, after]) => scheduleEffect(next, { id, dueAt: NOW + after }), control)
const codes = (control: ThreadControl): readonly unknown[] =>
  control.facts.map(({ payload }) => ('code' in payload ? payload.code : undefined))

describe('a scheduled effect', () => {
  const two = scheduleEffects(idleControl(), ['late', 20], ['early', 10])

  test('the timer is for the earliest that is not due', () => {
    expect(nextEffectAt(two, NOW)).toBe(NOW + 10)
    expect(nextEffectAt(two, NOW + 10)).toBe(NOW + 20)
    expect(nextEffectAt(idleControl(), NOW)).toBeNull()
    expect(nextEffectAt({ ...two, terminating: true }, NOW)).toBeNull()
  })

  test('it is shown until it is due', () => {
    expect(snapshotOf(two, { now: NOW, since: NOW }).effects).toEqual([
      { id: 'late', dueAt: NOW + 20 },
      { id: 'early', dueAt: NOW + 10 },
    ])
  })

  test('T3 what is due moves into the inbox, the earliest first', () => {
    const due = queueDueEffects(two, NOW + 20)
    expect(ids(due)).toEqual(['early', 'late'])
    expect(due.effects).toEqual([])
    expect(queueDueEffects(two, NOW)).toBe(two)
  })

  test('it may be scheduled anew and removed, due or not', () => {
    expect(scheduleEffects(two, ['early', 30]).effects).toHaveLength(2)
    expect(removeEffect(two, 'early').effects).toMatchObject([{ id: 'late' }])
    const due = queueDueEffects(two, NOW + 10)
    expect(ids(removeEffect(due, 'early'))).toEqual([])
    expect(scheduleEffects(due, ['early', 40])).toMatchObject({
      queue: [],
      effects: [{ id: 'late' }, { id: 'early' }],
    })
    expect(removeEffect(two, 'nothing')).toBe(two)
  })

  test('an id of a message is no id of an effect', () => {
    const queued = acceptMessage(idleControl(), { messageId: 'early' }, NOW)
    expect(ids(queueDueEffects(scheduleEffects(queued, ['early', 1]), NOW + 1))).toEqual(['early', 'early'])
    expect(removeEffect(queued, 'early').queue).toHaveLength(1)
  })

  test('the five hundred and first is refused with a warning', () => {
    const many = Array.from({ length: LIMITS.effects + 1 }, (_, index) => [`e${index}`, index] as const)
    const full = scheduleEffects(idleControl(), ...many)
    expect(full.effects).toHaveLength(LIMITS.effects)
    expect(codes(full)).toEqual(['effects_full'])
    expect(scheduleEffects(full, ['e0', 9]).effects).toHaveLength(LIMITS.effects)
  })

  test('ids that are long are bounded by their bytes', () => {
    const many = Array.from({ length: 200 }, (_, index) => [`${index}${'\u0001'.repeat(60)}`, index] as const)
    const full = scheduleEffects(idleControl(), ...many)
    const bytes = JSON.stringify(full.effects.map(({ id, dueAt }) => [id, dueAt])).length
    expect(bytes).toBeLessThan(LIMITS.effectBytes + 2)
    expect(full.effects.length).toBeLessThan(200)
  })

  test('what finds no room in the inbox stays due', () => {
    const queue = Array.from({ length: LIMITS.queuedItems }, (_, index) => message(`m${index}`))
    const full = scheduleEffects(idleControl({}, { queue }), ['early', 1])
    expect(queueDueEffects(full, NOW + 1)).toBe(full)
    expect(nextEffectAt(full, NOW + 1)).toBeNull()
  })
})

test('what comes due is no progress: the first task of a run does not continue as new because of it', () => {
  const begun = { ...scheduleEffects(idleControl(), ['e', 1]), progressed: false }
  const due = applyDueTimes(begun, NOW + 1)
  expect(ids(due)).toEqual(['e'])
  expect(due.progressed).toBe(false)
  expect(applyDueTimes(due, NOW + 1)).toBe(due)
})

describe('a due effect', () => {
  const due = queueDueEffects(scheduleEffects(idleControl(), ['e', 1]), NOW + 1)

  test('it runs without a run, and what waits behind it follows', () => {
    const queued = advance(acceptMessage(due, { messageId: 'm' }, NOW))
    expect(queued.run).toBeNull()
    expect(nextAction(queued)).toEqual({ kind: 'runEffect', effectId: 'e' })
    const operations = [{ kind: 'queue_message', id: 'n', role: 'user' }] as const
    const ran = advance(completeEffect(queued, { id: 'e', operations }, NOW))
    expect(ids(ran)).toEqual(['m', 'n'])
    expect(nextAction(ran).kind).toBe('callModel')
  })

  test('T3 a tool that it queues waits, also where its run was told to stop meanwhile', () => {
    const running = { ...due, run: run(), runs: 1, plan: withCalls('work').plan }
    const operations = [{ kind: 'queue_tool', id: 'c', name: 'work' }] as const
    const stopping = acceptStop(running, undefined)
    expect(ids(completeEffect(stopping, { id: 'e', operations }, NOW))).toEqual(['c'])
  })

  test('it runs between two steps, never within one', () => {
    const running = { ...due, run: run(), runs: 1, plan: withCalls('work').plan }
    expect(nextAction(running).kind).toBe('runEffect')
    const within = { ...withCalls('work'), queue: due.queue }
    expect(nextAction(within).kind).toBe('executeTool')
  })

  test('T3 a model call drains what waits before it only', () => {
    const before = queueDueEffects(
      scheduleEffects(acceptMessage(idleControl(), { messageId: 'm' }, NOW), ['e', 1]),
      NOW + 1,
    )
    const queued = acceptMessage(before, { messageId: 'n' }, NOW)
    expect(nextAction(advance(queued))).toMatchObject({ kind: 'callModel', drain: [{ id: 'm' }] })
  })

  test('behind the stop flag it waits', () => {
    const stopped = { ...due, stopped: true }
    expect(nextAction(advance(stopped)).kind).toBe('wait')
  })

  test('T3 one that cannot be carried out waits to be told of', () => {
    const given = giveUpEffect(due, 'e')
    expect(given).toMatchObject({ queue: [], givenUp: ['e'] })
    const carried = restore(carry(giveUpEffect(given, 'f')), given.start)
    expect(carried.givenUp).toEqual(['e', 'f'])
    expect(forgetGivenUp(carried, ['e']).givenUp).toEqual(['f'])
  })

  test('those that wait to be told of are bounded', () => {
    const ids = Array.from({ length: LIMITS.givenUpEffects + 1 }, (_, index) => `e${index}`)
    const given = ids.reduce(giveUpEffect, due)
    expect(given.givenUp).toEqual(ids.slice(1))
  })

  test('telling of one ends no run, and takes nothing from the queue', () => {
    const queue = [message('m'), { kind: 'variables', id: 'v', queuedAt: NOW }] as const
    const control = { ...idleControl({}, { queue, stopped: true }), run: run() }
    const told = applySettle(control, { ending: null, close: null, queued: 2 }, NOW)
    expect(told).toEqual({ ...control, settles: 1, registered: true, progressed: true })
  })

  test('T8 nothing becomes due in a thread that ends', () => {
    const ending = { ...scheduleEffects(idleControl(), ['e', 1]), terminating: true }
    expect(queueDueEffects(ending, NOW + 1)).toBe(ending)
  })
})
