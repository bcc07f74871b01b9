import { describe, expect, test } from 'vitest'

import { NOW, idleControl, withCalls } from '../../test/support/control-states.js'
import { LIMITS } from '../protocol/limits.js'
import type { ChildReport } from '../protocol/messages.js'
import { childPrepared } from './call-answers.js'
import {
  acceptReport,
  childClosed,
  childStarted,
  childrenChecked,
  childrenToCheck,
  nextCheckAt,
  stopForwarded,
} from './children.js'
import type { Call, OwedChild, ThreadControl } from './control.js'

const MINUTE = 60_000
const call = {
  id: 'c0',
  name: 'ask',
  state: 'prepared',
  reference: 'k',
  agent: 'helper',
  messageId: 'm',
} as const

function waiting(observed = true): ThreadControl {
  const prepared = childPrepared(withCalls('ask'), 'c0', { type: 'child', ...call }, NOW)
  return childStarted(prepared, call, observed)
}

const REPORT: ChildReport = {
  reference: 'k',
  report: 1,
  invocations: ['c0'],
  kind: 'result',
  messageId: 'k:report:1',
}

const callOf = (control: ThreadControl): Call | undefined => control.run?.step?.calls[0]
const interrupted = (): ThreadControl => ({ ...waiting(), run: null })

describe('a child that runs', () => {
  test('a started child is owed and its call waits', () => {
    const control = waiting()
    expect(control.children).toMatchObject([{ reference: 'k', callId: 'c0', observed: true, checks: 0 }])
    expect(control.childrenInAll).toBe(1)
    expect(callOf(control)).toMatchObject({ state: 'waiting', stopForwarded: false })
  })

  test('T7 a child started twice is owed once', () => {
    const again = childStarted(waiting(), call, false)
    expect(again.children).toHaveLength(1)
    expect(again.children[0]?.observed).toBe(false)
  })

  test('an interrupt is marked as passed on', () => {
    expect(callOf(stopForwarded(waiting(), 'c0'))).toMatchObject({ stopForwarded: true })
    expect(callOf(stopForwarded(withCalls('ask'), 'c0'))).toMatchObject({ state: 'open' })
  })
})

describe('a report', () => {
  test('T7 a report completes the call that waits for it', () => {
    const control = acceptReport(waiting(), REPORT, NOW)
    expect(control.children).toEqual([])
    expect(callOf(control)).toMatchObject({
      state: 'reported',
      report: { kind: 'result', messageId: 'k:report:1' },
    })
  })

  test('T7 the second report changes nothing', () => {
    const once = acceptReport(waiting(), REPORT, NOW)
    expect(acceptReport(once, REPORT, NOW)).toBe(once)
  })

  test('T7 a close after the report changes nothing', () => {
    const once = acceptReport(waiting(), REPORT, NOW)
    expect(childClosed(once, { reference: 'k', status: 'completed' }, NOW)).toBe(once)
  })

  test('a report of another invocation answers nothing', () => {
    const control = waiting()
    expect(acceptReport(control, { ...REPORT, invocations: ['c9'] }, NOW)).toBe(control)
  })

  test('a report after an interrupt is an ordinary item', () => {
    const control = acceptReport(interrupted(), REPORT, NOW)
    expect(control.queue).toMatchObject([{ kind: 'report', id: 'k:report:1' }])
    expect(control.children).toEqual([])
  })

  test.each([
    ['nothing', undefined],
    ['what cannot be decoded', { undecodable: true }],
    ['another kind', { ...REPORT, kind: 'maybe' }],
    ['no invocations', { ...REPORT, invocations: 'c0' }],
    ['a broken number', { ...REPORT, report: 1.5 }],
  ])('T10 %s is recorded and skipped', (_what, input) => {
    const control = acceptReport(waiting(), input, NOW)
    expect(control.children).toHaveLength(1)
    expect(control.facts.at(-1)).toMatchObject({ payload: { code: 'report_skipped' } })
  })
})

test('T7 a report that comes before the started event is taken', () => {
  const prepared = childPrepared(withCalls('ask'), 'c0', { type: 'child', ...call }, NOW)
  const early = childStarted(acceptReport(prepared, REPORT, NOW), call, true)
  expect(callOf(early)).toMatchObject({ state: 'reported', report: { messageId: REPORT.messageId } })
  expect(childClosed(early, { reference: 'k', status: 'completed' }, NOW)).toBe(early)
})

describe('a close without a report', () => {
  test('T7 a close answers the call that waits', () => {
    const control = childClosed(waiting(), { reference: 'k', status: 'terminated' }, NOW)
    expect(callOf(control)).toMatchObject({
      state: 'reported',
      report: { kind: 'closed', status: 'terminated' },
    })
    expect(control.children).toEqual([])
  })

  test('T7 a close after an interrupt is an item once', () => {
    const closed = { reference: 'k', status: 'failed' }
    const control = childClosed(interrupted(), closed, NOW)
    expect(control.queue).toMatchObject([
      { kind: 'child_closed', id: 'everthread:closed:k', status: 'failed' },
    ])
    expect(childClosed(control, closed, NOW)).toBe(control)
    expect(acceptReport(control, REPORT, NOW)).toBe(control)
  })

  test('the close of a stranger changes nothing', () => {
    const control = waiting()
    expect(childClosed(control, { reference: 'x', status: 'failed' }, NOW)).toBe(control)
  })
})

describe('children that cannot be seen', () => {
  test('an observed child needs no timer', () => {
    expect(nextCheckAt(waiting())).toBeNull()
    expect(childrenToCheck(waiting(), NOW + 10 * MINUTE)).toEqual([])
  })

  test('T7 an unobserved child is looked for after a minute', () => {
    const control = waiting(false)
    expect(nextCheckAt(control)).toBe(NOW + MINUTE)
    expect(childrenToCheck(control, NOW + MINUTE - 1)).toEqual([])
    expect(childrenToCheck(control, NOW + MINUTE)).toEqual(['k'])
  })

  test('one timer serves all: the earliest', () => {
    const owed = (reference: string, at: number): OwedChild => ({
      reference,
      callId: 'c',
      observed: false,
      checks: 0,
      nextCheckAt: at,
    })
    const control = idleControl(
      {},
      { children: [owed('x', NOW + 3), owed('y', NOW + 1), owed('z', NOW + 2)] },
    )
    expect(nextCheckAt(control)).toBe(NOW + 1)
    expect(childrenToCheck(control, NOW + 2)).toEqual(['y', 'z'])
  })

  test('T7 checks come each minute for five, then ever more rarely', () => {
    let control = waiting(false)
    const delays: number[] = []
    let last = NOW
    for (let check = 0; check < 12; check += 1) {
      const at = nextCheckAt(control) ?? 0
      delays.push((at - last) / MINUTE)
      last = at
      control = childrenChecked(control, ['k'], [], at)
    }
    expect(delays).toEqual([1, 1, 1, 1, 1, 2, 4, 8, 16, 32, 60, 60])
    expect(control.childChecks).toBe(12)
    expect(LIMITS.childCheckLast).toBe(60 * MINUTE)
  })

  test('T7 a child that is found closed is answered for', () => {
    const closed = [{ reference: 'k', status: 'not_found' }]
    const control = childrenChecked(waiting(false), ['k'], closed, NOW + MINUTE)
    expect(control.children).toEqual([])
    expect(callOf(control)).toMatchObject({ report: { kind: 'closed', status: 'not_found' } })
  })

  test('T7 a report that came during the check wins', () => {
    const control = acceptReport(waiting(false), REPORT, NOW)
    const checked = childrenChecked(control, ['k'], [{ reference: 'k', status: 'completed' }], NOW)
    expect(callOf(checked)).toMatchObject({ report: { kind: 'result' } })
  })
})
