import { describe, expect, test } from 'vitest'
import { openChildOf } from '../../test/support/child-states.js'
import { idleControl, message, NOW, run, withCalls } from '../../test/support/control-states.js'
import { LIMITS } from '../protocol/limits.js'
import { carry, restore, shouldContinueAsNew, HISTORY_EVENTS } from './continue-as-new.js'
import type { CarriedControl, HistoryFacts } from './continue-as-new.js'
import type { ThreadControl } from './control.js'

const SMALL: HistoryFacts = {
  ...{ events: 10, bytes: 1000, began: 0, signals: 1, suggested: false },
  atLastAction: { events: 10, bytes: 1000 },
}
const ENDED = { reason: 'side_stopped', outcome: 'completed', sessionCall: null } as const
const running = idleControl({}, { run: run(), runs: 1 })
const ending = idleControl({}, { run: run({ ending: ENDED }) })
const stopping = idleControl({}, { run: run({ stop: 'run' }) })
const closing = { outcome: 'completed', reason: 'session_stop', cascade: [], settled: true } as const

function at(size: Partial<HistoryFacts['atLastAction']>): Pick<HistoryFacts, 'atLastAction'> {
  return { atLastAction: { ...SMALL.atLastAction, ...size } }
}

function continues(control: ThreadControl, history: Partial<HistoryFacts> = {}): boolean {
  return shouldContinueAsNew(control, { ...SMALL, ...history })
}

describe('when a thread continues as new', () => {
  test.each([
    ['a small history of an idle thread', idleControl(), {}, false],
    ['the suggestion of the server', running, { suggested: true }, true],
    ['a thousand signals', running, { signals: LIMITS.signalsPerRun }, true],
    ['five hundred events', running, { events: HISTORY_EVENTS }, true],
    ['fewer of them in a run', running, { events: HISTORY_EVENTS - 1, bytes: 999_999 }, false],
    [
      'a limit of the start input behind',
      idleControl({ limits: { historyEvents: 1500 } }, { run: run() }),
      { events: 1499 },
      false,
    ],
    ['more than 200 events while idle', idleControl(), at({ events: 201 }), true],
    ['200 events while idle', idleControl(), at({ events: 200 }), false],
    ['T11 empty tasks behind the last action', idleControl(), { events: 499, bytes: 999_999 }, false],
    ['more than 50 KB while idle', idleControl(), at({ bytes: 51_201 }), true],
    [
      'what a thread carries, which the next run has again',
      idleControl(),
      { ...at({ bytes: 99_000 }), began: 60_000 },
      false,
    ],
    ['more than 50 KB beside it', idleControl(), { ...at({ bytes: 120_000 }), began: 60_000 }, true],
    ['more than 200 events when a run ends', ending, { events: 201 }, true],
    ['more than 200 events when a run is stopped', stopping, { events: 201 }, true],
    ['the end of a run with an item behind it', { ...ending, queue: [message('a')] }, { events: 201 }, false],
    ['an item that waits', idleControl({}, { queue: [message('a')] }), { events: 201 }, false],
    [
      'the limit of the start input',
      idleControl({ limits: { historyEvents: 10 } }, { run: run() }),
      {},
      true,
    ],
    [
      'a limit of the start input ahead',
      idleControl({ limits: { historyEvents: 11 } }, { run: run() }),
      {},
      false,
    ],
  ] as const)('%s', (_what, control, history, expected) => {
    expect(continues(control, history)).toBe(expected)
  })

  test.each([
    ['events', { events: HISTORY_EVENTS }],
    ['bytes', { bytes: 999_999 }],
    ['a suggestion', { suggested: true }],
  ])('%s without progress do not', (_what, history) => {
    expect(continues(idleControl({ limits: { historyEvents: 0 } }, { progressed: false }), history)).toBe(
      false,
    )
  })

  test('T10 signals that were all skipped count too', () => {
    const idle = idleControl({}, { progressed: false })
    expect(continues(idle, { signals: LIMITS.signalsPerRun })).toBe(true)
  })

  test.each([[{ terminating: true }], [{ closing }]])('T8 a thread that ends does not: %j', (patch) => {
    expect(continues(idleControl({}, patch), { suggested: true, signals: 5000 })).toBe(false)
  })
})

describe('a run that ends close to the bound leaves its history behind before its end is stored', () => {
  test.each([
    ['161 events', ending, { events: 161 }, true],
    ['160 events', ending, { events: 160 }, false],
    ['more than 40 KB', ending, { bytes: 41_000 }, true],
    ['what it began with', ending, { bytes: 41_000, began: 5_000 }, false],
    ['a run that goes on', running, { events: 199 }, false],
    ['an item behind it', { ...ending, queue: [message('a')] }, { events: 199 }, false],
    ['no progress', { ...ending, progressed: false }, { events: 199 }, false],
    ['a thread that closes', { ...ending, closing }, { events: 199 }, false],
  ] as const)('%s', (_what, control, history, expected) => {
    expect(continues(control, history)).toBe(expected)
  })
})

describe('the carried state', () => {
  const owed = openChildOf('k', { resumable: true, invocations: ['c0', 'c1'], reports: 3 })

  test('T3 T7 everything but the sight of children is carried', () => {
    const control = { ...withCalls('work', 'ask'), queue: [message('b')], stopped: true, children: [owed] }
    const carried = restore(JSON.parse(JSON.stringify(carry(control))) as CarriedControl, control.start)
    expect(carried).toEqual({ ...control, progressed: false, children: [{ ...owed, observed: false }] })
  })

  test('T7 a child is looked for after it was carried', () => {
    const control = idleControl({}, { children: [owed] })
    const { children } = restore(carry(control), control.start)
    expect(children).toMatchObject([{ observed: false, nextCheckAt: NOW + 60_000 }])
  })

  test.each([2, 4])('T11 a state of version %i is not guessed at', (stateVersion) => {
    const other = idleControl({}, { stateVersion })
    expect(() => restore(carry(other), other.start)).toThrow(`version 3, got ${stateVersion}`)
  })

  test('two continuations in a row need progress between them', () => {
    const eager = idleControl({ limits: { historyEvents: 0 } })
    expect(continues(eager)).toBe(true)
    expect(continues(restore(carry(eager), eager.start))).toBe(false)
  })
})
