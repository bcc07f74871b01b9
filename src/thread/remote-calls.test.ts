import { describe, expect, test } from 'vitest'
import { NOW, resultOf, withCalls } from '../../test/support/control-states.js'
import { applyCallResult, applyRemoteCall, applyRemoteReturn } from './call-answers.js'
import { carry, restore } from './continue-as-new.js'
import type { CarriedControl } from './continue-as-new.js'
import { acceptStop } from './inbox.js'
import { nextAction } from './next-action.js'
import { stepOf } from './run.js'
import { applySettle, interruptStep } from './settling.js'
import { snapshotOf, statusOf } from './snapshot.js'

const REMOTE = { type: 'remote', taskQueue: 'python', activity: 'draw', timeout: 1000 } as const
const sent = applyRemoteCall(withCalls('work', 'work'), 'c0', REMOTE)
const STOPPED = { reason: 'stopped', outcome: 'cancelled', sessionCall: null } as const

describe('a call that runs on another worker', () => {
  test('its activity is scheduled there, and the thread says where', () => {
    expect(nextAction(sent)).toMatchObject({
      kind: 'runRemote',
      call: { id: 'c0', remote: { taskQueue: 'python', activity: 'draw', timeout: 1000 } },
    })
    expect(statusOf(sent)).toBe('running')
    expect(snapshotOf(sent, { now: NOW, since: NOW }).run).toMatchObject({
      doing: 'tool work',
      taskQueue: 'python',
    })
    expect(stepOf(sent.run)?.phase).toBe(5)
  })

  test('however it ends, its row tells the result', () => {
    const returned = applyRemoteReturn(sent, 'c0')
    expect(nextAction(returned)).toMatchObject({
      kind: 'completeCall',
      call: { id: 'c0' },
      by: { kind: 'remote' },
    })
    const done = applyCallResult(returned, 'c0', resultOf('succeeded'), NOW)
    expect(nextAction(done)).toMatchObject({ kind: 'executeTool', call: { id: 'c1' } })
  })

  test('an end that comes twice, or for another call, changes nothing', () => {
    const returned = applyRemoteReturn(sent, 'c0')
    expect(applyRemoteReturn(returned, 'c0').run).toEqual(returned.run)
    expect(applyRemoteReturn(sent, 'c1').run).toEqual(sent.run)
  })

  test('it is carried over continue-as-new', () => {
    const carried = JSON.parse(JSON.stringify(carry(sent))) as CarriedControl
    expect(nextAction(restore(carried, sent.start))).toEqual(nextAction(sent))
  })

  test('a stop ends its run, whether it has returned or not', () => {
    for (const control of [sent, applyRemoteReturn(sent, 'c0')]) {
      const stopped = acceptStop(control, undefined)
      expect(nextAction(stopped)).toMatchObject({ kind: 'settle', ending: STOPPED })
      const over = applySettle(
        interruptStep(stopped, STOPPED, NOW),
        { ending: STOPPED, close: null, queued: 0 },
        NOW,
      )
      expect(over.run).toBeNull()
    }
  })
})
