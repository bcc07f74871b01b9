import { describe, expect, test } from 'vitest'
import {
  callOf,
  groupsOf,
  report,
  withAddressed,
  withSent,
  withStarted,
} from '../../test/support/child-states.js'
import { NOW } from '../../test/support/control-states.js'
import { markChildCancelled, onMessageLost, interruptWait, expireWait } from './child-calls.js'
import { listChildrenToStop, markStopForwarded } from './calls.js'
import { acceptReport, applyChildClose } from './children.js'
import type { ThreadControl } from './control.js'
import { acceptStop } from './inbox.js'
import { nextAction } from './next-action.js'
import type { Call } from './run.js'

const call = (control: ThreadControl): Call => {
  const found = callOf(control)
  if (found === undefined) throw new Error('Expected a call, got none.')
  return found
}
const expire = (control: ThreadControl): ThreadControl => expireWait(control, 'c0', NOW + 500)
const interrupt = (control: ThreadControl): ThreadControl => ({
  ...interruptWait(control, call(control), NOW),
  run: null,
})

describe('a timeout', () => {
  test('nothing happens before its time, and nothing without one', () => {
    const waiting = withStarted({ timeout: 500 })
    expect(expireWait(waiting, 'c0', NOW + 499)).toBe(waiting)
    const patient = withStarted()
    expect(expire(patient)).toBe(patient)
  })

  test('T7 a child that is not resumable is cancelled, and answers nothing any more', () => {
    const control = expire(withStarted({ timeout: 500 }))
    expect(control.children).toEqual([])
    expect(nextAction(control)).toMatchObject({ kind: 'cancelTimedOut', reference: 'k' })
    expect(nextAction({ ...control, terminating: true }).kind).toBe('cancelTimedOut')
    const cancelled = markChildCancelled(control, 'c0', 'k')
    expect(nextAction(cancelled)).toMatchObject({
      kind: 'completeCall',
      by: { kind: 'children', reports: [{ reference: 'k', report: { kind: 'timed_out' } }] },
    })
    expect(acceptReport(cancelled, report(), NOW)).toEqual({ ...cancelled, earlyReports: [report()] })
  })

  test('a resumable child goes on, and its later report is an item', () => {
    const control = expire(withSent({ timeout: 500 }))
    expect(nextAction(control)).toMatchObject({ by: { reports: [{ report: { kind: 'timed_out' } }] } })
    const late = acceptReport(control, report(), NOW)
    expect(late).toMatchObject({ queue: [{ kind: 'report' }], children: [{ owes: [] }] })
  })

  test('what came in time is kept', () => {
    const some = acceptReport(withStarted({ references: ['k', 'l'], timeout: 500 }), report(), NOW)
    const control = markChildCancelled(expire(some), 'c0', 'l')
    expect(nextAction(control)).toMatchObject({
      by: {
        reports: [
          { reference: 'k', report: { kind: 'result' } },
          { reference: 'l', report: { kind: 'timed_out' } },
        ],
      },
    })
    expect(expireWait(control, 'c0', NOW + 900)).toBe(control)
  })

  test('T7 resumable children of a group that are late are told of together', () => {
    const control = expire(withStarted({ references: ['k', 'l'], resumable: true, timeout: 500 }))
    expect(groupsOf(control)).toEqual([{ callId: 'c0', references: ['k', 'l'] }])
    const one = acceptReport(control, report(), NOW)
    expect(one.queue).toEqual([])
    expect(acceptReport(one, report({ reference: 'l' }), NOW).queue).toMatchObject([{ kind: 'group' }])
  })
})

describe('an interrupt', () => {
  const stopped = (control: ThreadControl, stop?: unknown): ThreadControl => acceptStop(control, stop)

  test('it goes on to the children that a call waits for, once', () => {
    const some = acceptReport(withStarted({ references: ['k', 'l', 'm'] }), report({ reference: 'l' }), NOW)
    const control = stopped(some)
    expect(nextAction(control)).toMatchObject({ kind: 'stopChildren', references: ['k', 'm'] })
    const told = markStopForwarded(control, 'c0', ['k', 'm'])
    expect(listChildrenToStop(call(told))).toEqual([])
    expect(nextAction(told).kind).toBe('settle')
  })

  test('children that it leaves alone are told nothing', () => {
    expect(nextAction(stopped(withStarted(), { children: false })).kind).toBe('settle')
  })

  test('T7 the later report of its child is an ordinary item', () => {
    const control = acceptReport(interrupt(withStarted()), report(), NOW)
    expect(control).toMatchObject({ queue: [{ kind: 'report', id: 'k:report:1' }], children: [] })
  })
})

describe('a call that is cut', () => {
  test.each([
    ['a report', acceptReport(withStarted(), report(), NOW), { kind: 'report', id: 'k:report:1' }],
    [
      'a close',
      applyChildClose(withStarted(), { reference: 'k', status: 'terminated' }, NOW),
      { kind: 'child_closed', reference: 'k', status: 'terminated' },
    ],
    [
      'a message that was lost',
      onMessageLost(withAddressed(), { callId: 'c0', reference: 'k', status: 'not_found' }, NOW),
      { kind: 'child_closed', reference: 'k' },
    ],
  ] as const)('T7 %s that it did not take is an item', (_what, control, item) => {
    expect(interrupt(control).queue).toMatchObject([item])
  })

  test('a notice without a message is no item', () => {
    const { messageId: _none, ...notice } = report({ kind: 'notice' })
    expect(interrupt(acceptReport(withStarted(), notice, NOW)).queue).toEqual([])
  })

  test('T7 a group is told of when its last child has ended', () => {
    const some = acceptReport(withStarted({ references: ['k', 'l'] }), report(), NOW)
    const control = interrupt(some)
    expect(control.queue).toEqual([])
    expect(groupsOf(control)).toEqual([{ callId: 'c0', references: ['l'] }])
    expect(acceptReport(control, report({ reference: 'l' }), NOW).queue).toMatchObject([{ kind: 'group' }])
  })

  test('T7 a group that had ended is told of at once', () => {
    const one = acceptReport(withStarted({ references: ['k', 'l'] }), report(), NOW)
    const all = acceptReport(one, report({ reference: 'l' }), NOW)
    expect(interrupt(all)).toMatchObject({ queue: [{ kind: 'group', id: 'c0' }] })
  })

  test('T7 children that were cancelled for their time are told of', () => {
    const one = interrupt(expire(withStarted({ timeout: 500 })))
    expect(one.queue).toMatchObject([{ kind: 'child_closed', reference: 'k', status: 'canceled' }])
    expect(acceptReport(one, report(), NOW).queue).toEqual(one.queue)
    const both = interrupt(expire(withStarted({ references: ['k', 'l'], timeout: 500 })))
    expect(both).toMatchObject({ queue: [{ kind: 'group', id: 'c0' }] })
  })

  test('T7 a resumable child whose time was over is told of by its report', () => {
    const late = interrupt(expire(withSent({ timeout: 500 })))
    expect(late.queue).toEqual([])
    expect(acceptReport(late, report(), NOW).queue).toMatchObject([{ kind: 'report' }])
  })

  test('children that it does not wait for go on as they were', () => {
    const control = withStarted({ references: ['k', 'l'], blocking: false })
    expect(interrupt(control).queue).toEqual([])
    expect(groupsOf(interrupt(control))).toEqual(groupsOf(control))
  })
})
