import { describe, expect, test } from 'vitest'
import { callOf, openChildOf, preparedChild, report } from '../../test/support/child-states.js'
import { NOW, idleControl, withCalls } from '../../test/support/control-states.js'
import { LIMITS } from '../protocol/limits.js'
import { applyChildStart, applyPreparedChildren, applyPreparedMessage } from './child-calls.js'
import { acceptReport } from './children.js'
import type { ThreadControl } from './control.js'
import { findEarlyAnswer, keepEarlyReport, takeEarlyReports } from './reset.js'

const reset = (control: ThreadControl, said = report()): ThreadControl => acceptReport(control, said, NOW)

function prepareChild(control: ThreadControl, blocking = true): ThreadControl {
  const children = [preparedChild('k', { resumable: true })]
  return applyPreparedChildren(control, 'c0', { type: 'children', children, group: false, blocking }, NOW)
}

function prepareMessage(control: ThreadControl, blocking = true): ThreadControl {
  const message = { type: 'message', reference: 'k', messageId: 'm', role: 'user', blocking } as const
  return applyPreparedMessage(control, 'c0', message, NOW)
}

const idleChild = (): ThreadControl => ({
  ...withCalls('write'),
  children: [openChildOf('k', { resumable: true, invocations: [], reports: 3 })],
})

describe('after a Temporal reset', () => {
  test('T7 a report that came before its child is the result of the call', () => {
    const early = prepareChild(reset(withCalls('ask')))
    expect(early).toMatchObject({ earlyReports: [], queue: [], children: [{ owes: [], reports: 1 }] })
    const started = applyChildStart(early, { callId: 'c0', reference: 'k', isObserved: false }, NOW)
    expect(callOf(started)).toMatchObject({
      state: 'reported',
      wait: { reports: [{ reference: 'k', report: { kind: 'result', messageId: 'k:report:1' } }] },
    })
  })

  test('T7 where no call waits it is an item', () => {
    const early = prepareChild(reset(withCalls('ask')), false)
    expect(early).toMatchObject({ earlyReports: [], queue: [{ kind: 'report', id: 'k:report:1' }] })
  })

  test('T7 a message that the child has answered is not sent again', () => {
    const early = reset(idleChild(), report({ report: 4 }))
    expect(early.queue).toMatchObject([{ kind: 'report' }])
    const answered = prepareMessage(early)
    expect(answered).toMatchObject({ queue: [], children: [{ owes: [], reports: 4 }] })
    expect(callOf(answered)).toMatchObject({
      state: 'reported',
      wait: { reports: [{ report: { messageId: 'k:report:1' } }] },
    })
  })

  test('T7 nor one whose call does not wait: its answer is an item already', () => {
    const answered = prepareMessage(reset(idleChild(), report({ report: 4 })), false)
    expect(answered).toMatchObject({ queue: [{ kind: 'report' }], children: [{ owes: [] }] })
    expect(callOf(answered)).toMatchObject({ state: 'reported', wait: { reports: [] } })
  })

  test('T7 what came before both is kept for each of them', () => {
    const both = reset(reset(withCalls('ask')), report({ report: 2, invocations: ['c9'], messageId: 'r2' }))
    const early = prepareChild(both)
    expect(early).toMatchObject({ children: [{ owes: [], reports: 2 }], queue: [{ id: 'r2' }] })
    expect(early.earlyReports).toMatchObject([{ invocations: ['c9'] }])
  })
})

describe('what is kept', () => {
  test('T10 the oldest give way, and fields that nobody knows are dropped', () => {
    const many = Array.from({ length: 200 }, (_, index) => report({ reference: `k${index}` }))
    const control = many.reduce(
      (next, said) => reset(next, { ...said, more: 'x' } as typeof said),
      idleControl(),
    )
    const { earlyReports } = control
    expect(JSON.stringify(earlyReports).length).toBeLessThanOrEqual(LIMITS.earlyReportBytes)
    expect(earlyReports.length).toBeGreaterThan(12)
    expect(earlyReports.at(-1)).toEqual(many.at(-1))
  })

  test('a report that comes again is kept once', () => {
    const once = keepEarlyReport(idleControl(), report())
    expect(keepEarlyReport(once, report()).earlyReports).toEqual(once.earlyReports)
  })

  test('T7 the reports of one child are taken once and in their order; those of others stay', () => {
    const said = [report(), report({ reference: 'other' }), report({ report: 2, messageId: 'r2' })]
    const { early, rest } = takeEarlyReports(said.reduce(keepEarlyReport, idleControl()), 'k')
    expect(early).toMatchObject([{ report: 1 }, { report: 2, messageId: 'r2' }])
    expect(rest.earlyReports).toMatchObject([{ reference: 'other' }])
    expect(takeEarlyReports(rest, 'k').early).toEqual([])
  })

  test('T7 only a report that names the call answers its message', () => {
    const control = keepEarlyReport(idleControl(), report({ invocations: ['c0'] }))
    expect(findEarlyAnswer(control, { reference: 'k', callId: 'c0' })).toMatchObject({ reference: 'k' })
    expect(findEarlyAnswer(control, { reference: 'k', callId: 'c1' })).toBeUndefined()
    expect(findEarlyAnswer(control, { reference: 'other', callId: 'c0' })).toBeUndefined()
  })
})
