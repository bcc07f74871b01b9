import { describe, expect, test } from 'vitest'
import {
  callOf,
  openChildOf,
  owing,
  report,
  withAddressed,
  withChild,
  withPrepared,
  withSent,
  withStarted,
} from '../../test/support/child-states.js'
import { idleControl, message, NOW } from '../../test/support/control-states.js'
import { LIMITS } from '../protocol/limits.js'
import { applyChildStart } from './child-calls.js'
import {
  acceptReport,
  applyChildClose,
  listClosedChildren,
  forgetClosedChildren,
  addOwedCall,
} from './children.js'
import type { ThreadControl } from './control.js'
import { nextAction } from './next-action.js'
import { applyOperations } from './operations.js'

const ADMITTED = LIMITS.queuesAdmitted * LIMITS.queuedItems

const cut = (control: ThreadControl): ThreadControl => ({ ...control, run: null })

describe('a report', () => {
  test('T7 a report completes the call that waits for it', () => {
    const control = acceptReport(withStarted(), report(), NOW)
    expect(control.children).toEqual([])
    expect(callOf(control)).toMatchObject({
      state: 'reported',
      wait: { reports: [{ reference: 'k', report: { kind: 'result', messageId: 'k:report:1' } }] },
    })
  })

  test('T7 the second report changes nothing', () => {
    const once = acceptReport(withStarted(), report(), NOW)
    expect(acceptReport(once, report(), NOW)).toEqual({ ...once, earlyReports: [report()] })
    const resumable = acceptReport(withStarted({ resumable: true }), report(), NOW)
    expect(acceptReport(resumable, report(), NOW)).toBe(resumable)
  })

  test('T7 a close after the report changes nothing', () => {
    const once = acceptReport(withStarted(), report(), NOW)
    expect(applyChildClose(once, { reference: 'k', status: 'completed' }, NOW)).toBe(once)
  })

  test('T7 a report that comes before the started event is taken', () => {
    const early = acceptReport(withPrepared(), report(), NOW)
    expect(callOf(early)).toMatchObject({ state: 'prepared' })
    const started = applyChildStart(early, { callId: 'c0', reference: 'k', isObserved: true }, NOW)
    expect(callOf(started)).toMatchObject({ state: 'reported', wait: { reports: [{ reference: 'k' }] } })
  })

  test('a notice without a message completes the call that waits', () => {
    const { messageId: _none, ...notice } = report({ kind: 'notice' })
    expect(callOf(acceptReport(withStarted(), notice, NOW))).toMatchObject({
      state: 'reported',
      wait: { reports: [{ report: { kind: 'notice' } }] },
    })
  })

  test('a notice that nobody waits for leaves only the books', () => {
    const { messageId: _none, ...notice } = report({ kind: 'notice' })
    const control = acceptReport(cut(withStarted()), notice, NOW)
    expect(control).toMatchObject({ children: [], queue: [] })
  })

  test.each([
    ['after an interrupt', cut(withStarted())],
    ['of a call that does not wait', withStarted({ blocking: false })],
  ])('a report %s is an ordinary item', (_what, given) => {
    const control = acceptReport(given, report(), NOW)
    expect(control.queue).toMatchObject([{ kind: 'report', id: 'k:report:1' }])
    expect(control.children).toEqual([])
  })

  test('T7 a blocking message is not answered by the result of an older session', () => {
    const sent = withSent({ invocations: ['older'] })
    const crossed = acceptReport(sent, report({ invocations: ['older'] }), NOW)
    expect(callOf(crossed)).toMatchObject({ state: 'waiting' })
    expect(crossed.queue).toMatchObject([{ kind: 'report', id: 'k:report:1' }])
    expect(crossed.children).toMatchObject([{ owes: owing('c0'), reports: 1 }])
    const answered = acceptReport(crossed, report({ report: 2, messageId: 'k:report:2' }), NOW)
    expect(callOf(answered)).toMatchObject({
      wait: { reports: [{ report: { messageId: 'k:report:2' } }] },
    })
    expect(answered.queue).toHaveLength(1)
  })

  test('a session that nobody asked for is an item too', () => {
    const control = acceptReport(
      withChild({ resumable: true, invocations: [] }),
      report({ invocations: [] }),
      NOW,
    )
    expect(control).toMatchObject({ queue: [{ kind: 'report' }], children: [{ reports: 1 }] })
  })

  test('reports that nobody asked for do not fill the queue without end', () => {
    const queue = Array.from({ length: ADMITTED }, (_, index) => message(`m${index}`))
    const full = { ...withChild({ resumable: true, invocations: ['c0'] }), queue }
    const unasked = acceptReport(full, report({ invocations: [] }), NOW)
    expect(unasked.queue).toHaveLength(ADMITTED)
    expect(unasked.facts.at(-1)).toMatchObject({ payload: { code: 'queue_full' } })
    expect(acceptReport(full, report(), NOW).queue).toHaveLength(ADMITTED + 1)
  })

  test('T10 reports that name calls of nobody find room like those that name none', () => {
    const queue = Array.from({ length: ADMITTED }, (_, index) => message(`m${index}`))
    const full = { ...withChild({ resumable: true, invocations: ['c0'] }), queue }
    const forged = acceptReport(full, report({ invocations: ['junk'] }), NOW)
    expect(forged.queue).toHaveLength(ADMITTED)
    expect(forged.facts.at(-1)).toMatchObject({ payload: { code: 'queue_full' } })
    expect(forged.children).toMatchObject([{ owes: owing('c0'), reports: 1 }])
  })

  test('T10 a number far ahead that answers no call is recorded and skipped', () => {
    const control = withChild({ resumable: true, invocations: ['c0'] })
    const ahead = acceptReport(control, report({ report: 2 ** 53 - 1, invocations: [] }), NOW)
    expect(ahead).toMatchObject({ queue: [], children: [{ reports: 0 }] })
    expect(ahead.facts.at(-1)).toMatchObject({ payload: { code: 'report_skipped' } })
  })

  test('T7 what answers a call is taken, whatever number was said before', () => {
    const owed = withChild({ resumable: true, invocations: ['c0'], reports: 9999 })
    const answered = acceptReport(owed, report({ report: 3 }), NOW)
    expect(answered).toMatchObject({
      queue: [{ kind: 'report' }],
      children: [{ owes: owing(), reports: 3 }],
    })
    expect(acceptReport(answered, report({ report: 3 }), NOW)).toBe(answered)
  })

  test('a resumable child stays until a report closes it', () => {
    const stays = acceptReport(withStarted({ resumable: true }), report(), NOW)
    expect(stays.children).toMatchObject([{ owes: owing(), reports: 1 }])
    const closes = acceptReport(stays, report({ report: 2, invocations: [], closes: true }), NOW)
    expect(closes.children).toEqual([])
  })

  test('T7 a report that closes answers for what it does not name', () => {
    const sent = withSent({ invocations: ['older'] })
    const control = acceptReport(sent, report({ invocations: ['older'], closes: true }), NOW)
    expect(callOf(control)).toMatchObject({
      state: 'reported',
      wait: { reports: [{ report: { kind: 'closed', status: 'completed' } }] },
    })
    expect(control.queue).toMatchObject([{ kind: 'report' }])
  })

  test('T10 a report of a stranger, or for another call, changes nothing', () => {
    const control = withStarted()
    expect(acceptReport(control, report({ invocations: ['c9'], closes: true }), NOW)).toBe(control)
    const stranger = report({ reference: 'x' })
    expect(acceptReport(control, stranger, NOW)).toEqual({ ...control, earlyReports: [stranger] })
  })

  test.each([
    ['nothing', undefined],
    ['what cannot be decoded', { undecodable: true }],
    ['another kind', { ...report(), kind: 'maybe' }],
    ['no invocations', { ...report(), invocations: 'c0' }],
    ['a broken number', { ...report(), report: 1.5 }],
    ['a message id that is too long', { ...report(), messageId: 'x'.repeat(LIMITS.messageIdLength + 1) }],
    ['a broken end', { ...report(), closes: 'yes' }],
  ])('T10 %s is recorded and skipped', (_what, input) => {
    const control = acceptReport(withStarted(), input, NOW)
    expect(control.children).toHaveLength(1)
    expect(control.facts.at(-1)).toMatchObject({ payload: { code: 'report_skipped' } })
  })
})

describe('a close without a report', () => {
  test('T7 a close answers the call that waits', () => {
    const control = applyChildClose(withStarted(), { reference: 'k', status: 'terminated' }, NOW)
    expect(callOf(control)).toMatchObject({
      state: 'reported',
      wait: { reports: [{ reference: 'k', report: { kind: 'closed', status: 'terminated' } }] },
    })
    expect(control.children).toEqual([])
  })

  test('T7 a close after an interrupt is an item once', () => {
    const closed = { reference: 'k', status: 'failed' }
    const control = applyChildClose(cut(withStarted()), closed, NOW)
    expect(control.queue).toMatchObject([
      { kind: 'child_closed', id: 'everthread:closed:k', reference: 'k', status: 'failed' },
    ])
    expect(applyChildClose(control, closed, NOW)).toBe(control)
    expect(acceptReport(control, report(), NOW).queue).toBe(control.queue)
  })

  test('T7 it answers the call that waits and those that do not', () => {
    const control = applyChildClose(
      withSent({ invocations: ['older'] }),
      { reference: 'k', status: 'failed' },
      NOW,
    )
    expect(callOf(control)).toMatchObject({ state: 'reported' })
    expect(control.queue).toMatchObject([{ kind: 'child_closed' }])
  })

  test('T7 an idle child that closes is told of by a settle', () => {
    const idle = withChild({ resumable: true, invocations: [] })
    const control = applyChildClose(idle, { reference: 'k', status: 'terminated' }, NOW)
    expect(control.queue).toEqual([])
    expect(listClosedChildren(control)).toEqual([{ reference: 'k', status: 'terminated' }])
    expect(nextAction(control)).toEqual({ kind: 'settle', ending: null, close: null })
    const told = forgetClosedChildren(control, listClosedChildren(control))
    expect(nextAction(told)).toEqual({ kind: 'wait' })
  })

  test('an activity that finds it closed answers for it', () => {
    const closed = { kind: 'child_closed', reference: 'k', status: 'failed' } as const
    expect(applyOperations(withChild(), [closed], NOW)).toMatchObject({
      children: [],
      queue: [{ kind: 'child_closed', reference: 'k', status: 'failed' }],
    })
  })

  test('T8 a thread that closes is told nothing any more', () => {
    const closing = { outcome: 'terminated', reason: 'terminated', cascade: ['k'], settled: true } as const
    const control = { ...withStarted(), closing }
    expect(acceptReport(control, report(), NOW)).toBe(control)
    expect(applyChildClose(control, { reference: 'k', status: 'canceled' }, NOW)).toBe(control)
  })

  test('the close of a stranger changes nothing', () => {
    const control = withStarted()
    expect(applyChildClose(control, { reference: 'x', status: 'failed' }, NOW)).toBe(control)
  })
})

describe('what a child owes', () => {
  test('T7 the newest calls tell whether it owes', () => {
    const ids = Array.from({ length: 20 }, (_, index) => `call_${index}`)
    const asked = ids.reduce(
      (child, id) => addOwedCall(child, id, NOW),
      openChildOf('k', { resumable: true }),
    )
    expect(asked.owes).toEqual(owing(...ids.slice(-LIMITS.invocationsPerChild)))
    const control = idleControl({}, { children: [asked] })
    const answered = acceptReport(control, report({ invocations: ids }), NOW)
    expect(answered.children).toMatchObject([{ owes: owing() }])
  })

  test('a child that is asked again is looked for anew', () => {
    const late = openChildOf('k', { checks: 9, nextCheckAt: NOW - 1, invocations: [] })
    expect(addOwedCall(late, 'c1', NOW)).toMatchObject({
      checks: 0,
      nextCheckAt: NOW + LIMITS.childCheckFirst,
    })
    expect(withAddressed().children).toMatchObject([{ owes: owing('c0') }])
  })
})
