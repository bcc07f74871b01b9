import { describe, expect, test } from 'vitest'
import {
  callOf,
  groupsOf,
  owing,
  preparedChild,
  report,
  withAddressed,
  withPrepared,
  withSent,
  withStarted,
} from '../../test/support/child-states.js'
import { NOW, endOf, withCalls } from '../../test/support/control-states.js'
import { LIMITS } from '../protocol/limits.js'
import {
  applyPreparedChildren,
  applyChildStart,
  onMessageLost,
  applyPreparedMessage,
  onMessageSent,
} from './child-calls.js'
import { acceptReport, applyChildClose } from './children.js'
import { nextAction } from './next-action.js'

describe('a call that starts subagents', () => {
  test('T7 children whose rows exist are owed and to be started', () => {
    const control = withPrepared({ references: ['k', 'l'] })
    expect(control.children).toMatchObject([
      { reference: 'k', owes: owing('c0'), reports: 0, observed: false },
      { reference: 'l', owes: owing('c0') },
    ])
    expect(control.childrenInAll).toBe(2)
    expect(nextAction(control)).toMatchObject({
      kind: 'startChildren',
      call: { starting: [{ reference: 'k' }, { reference: 'l' }] },
    })
  })

  test('a blocking call waits when all have started', () => {
    const one = applyChildStart(
      withPrepared({ references: ['k', 'l'] }),
      { callId: 'c0', reference: 'k', isObserved: true },
      NOW,
    )
    expect(callOf(one)).toMatchObject({ state: 'prepared', starting: [{ reference: 'l' }] })
    const both = applyChildStart(one, { callId: 'c0', reference: 'l', isObserved: false }, NOW)
    expect(callOf(both)).toMatchObject({ state: 'waiting', wait: { references: ['k', 'l'] } })
    expect(both.children).toMatchObject([{ observed: true }, { observed: false }])
  })

  test('a call that does not block is completed at once', () => {
    expect(nextAction(withStarted({ blocking: false }))).toMatchObject({
      kind: 'completeCall',
      by: { kind: 'sent', references: ['k'] },
    })
  })

  test('a timeout counts from the moment when all run', () => {
    const prepared = withPrepared({ timeout: 500 })
    const started = applyChildStart(prepared, { callId: 'c0', reference: 'k', isObserved: true }, NOW + 9)
    expect(callOf(started)).toMatchObject({ wait: { deadline: NOW + 509 } })
    expect(callOf(withStarted())).toMatchObject({ wait: { deadline: null } })
  })

  test('T7 a child started twice is owed once', () => {
    const again = applyChildStart(withStarted(), { callId: 'c0', reference: 'k', isObserved: false }, NOW)
    expect(again.children).toMatchObject([{ observed: false }])
    expect(callOf(again)).toMatchObject({ state: 'waiting' })
  })

  test('what is too large to be carried ends the run, and starts all the same', () => {
    const agent = 'x'.repeat(LIMITS.nameLength)
    const children = Array.from({ length: 150 }, (_, index) => preparedChild(`child-${index}`, { agent }))
    const answer = { type: 'children', children, group: true, blocking: true } as const
    const control = applyPreparedChildren(withCalls('ask'), 'c0', answer, NOW)
    expect(endOf(control)?.reason).toBe('hard_cap')
    expect(nextAction(control).kind).toBe('startChildren')
  })
})

describe('a group', () => {
  const references = ['k', 'l', 'm']
  const reportOf = (reference: string) => report({ reference, messageId: `${reference}:report:1` })

  test('all answer one blocking call, in its order', () => {
    const some = acceptReport(
      acceptReport(withStarted({ references }), reportOf('m'), NOW),
      reportOf('k'),
      NOW,
    )
    expect(nextAction(some).kind).toBe('awaitChildren')
    const all = applyChildClose(some, { reference: 'l', status: 'failed' }, NOW)
    expect(nextAction(all)).toMatchObject({
      kind: 'completeCall',
      by: {
        kind: 'children',
        reports: [
          { reference: 'k', report: { kind: 'result' } },
          { reference: 'l', report: { kind: 'closed', status: 'failed' } },
          { reference: 'm', report: { kind: 'result' } },
        ],
      },
    })
    expect(all.queue).toEqual([])
  })

  test('T7 without a call that waits one item tells when all have ended', () => {
    const started = withStarted({ references, blocking: false })
    expect(groupsOf(started)).toEqual([{ callId: 'c0', references }])
    const some = acceptReport(acceptReport(started, reportOf('m'), NOW), reportOf('k'), NOW)
    expect(some.queue).toEqual([])
    const all = applyChildClose(some, { reference: 'l', status: 'failed' }, NOW)
    expect(all).toMatchObject({ queue: [{ kind: 'group', id: 'c0' }], children: [] })
  })

  test('a child of a group that is asked again answers that by itself', () => {
    const started = withStarted({ references: ['k', 'l'], blocking: false, resumable: true })
    const asked = { ...started, run: null }
    const both = acceptReport(asked, report({ invocations: ['c0', 'c7'] }), NOW)
    expect(groupsOf(both)).toEqual([{ callId: 'c0', references: ['l'] }])
    expect(both.queue).toMatchObject([{ kind: 'report', id: 'k:report:1' }])
  })
})

describe('a message to a subagent', () => {
  test('T7 it is sent whatever ends the run', () => {
    const addressed = withAddressed()
    expect(nextAction(addressed)).toMatchObject({
      kind: 'sendMessage',
      call: { reference: 'k', messageId: 'm', role: 'user' },
    })
    expect(nextAction({ ...addressed, terminating: true }).kind).toBe('sendMessage')
  })

  test('a blocking one waits for the report that names it', () => {
    const sent = withSent({ timeout: 500 })
    expect(callOf(sent)).toMatchObject({ state: 'waiting', wait: { deadline: NOW + 500 } })
    expect(nextAction(acceptReport(sent, report(), NOW))).toMatchObject({
      kind: 'completeCall',
      by: { kind: 'children', reports: [{ reference: 'k' }] },
    })
  })

  test('one that does not block is completed at once, and owed', () => {
    const sent = withSent({ blocking: false })
    expect(nextAction(sent)).toMatchObject({ by: { kind: 'sent', references: ['k'] } })
    expect(sent.children).toMatchObject([{ owes: owing('c0') }])
  })

  test.each([[true], [false]])('T7 a child that is gone answers its call (blocking %s)', (blocking) => {
    const lost = { callId: 'c0', reference: 'k', status: 'not_found' }
    const control = onMessageLost(withAddressed({ blocking }), lost, NOW)
    expect(control).toMatchObject({ children: [], queue: [] })
    expect(nextAction(control)).toMatchObject({
      by: { kind: 'children', reports: [{ report: { kind: 'closed', status: 'not_found' } }] },
    })
  })

  test('T7 a child that closed while its message was written answers its call', () => {
    const message = { type: 'message', reference: 'k', messageId: 'm', role: 'user', blocking: true } as const
    const control = applyPreparedMessage(withCalls('write'), 'c0', message, NOW)
    expect(nextAction(control)).toMatchObject({ by: { reports: [{ report: { kind: 'closed' } }] } })
  })

  test('T7 a child that closes while its message is sent answers its call once', () => {
    const closed = applyChildClose(withAddressed(), { reference: 'k', status: 'failed' }, NOW)
    const sent = onMessageLost(
      onMessageSent(closed, 'c0', NOW),
      { callId: 'c0', reference: 'k', status: 'x' },
      NOW,
    )
    expect(callOf(sent)).toMatchObject({ wait: { reports: [{ report: { status: 'failed' } }] } })
    expect(sent.queue).toEqual([])
  })
})
