import { describe, expect, test } from 'vitest'
import { owing, preparedChild, report } from '../../test/support/child-states.js'
import { idleControl, NOW, resultOf, withCalls } from '../../test/support/control-states.js'
import { LIMITS } from '../protocol/limits.js'
import {
  applyCallResult,
  applyPendingCall,
  listOpenRequests,
  applyResponse,
  responseRefusal,
} from './call-answers.js'
import {
  acceptReport,
  applyChildExpiry,
  openDeferred,
  applyDeferredStart,
  postponeExpiry,
} from './children.js'
import { carry, restore } from './continue-as-new.js'
import type { CarriedControl } from './continue-as-new.js'
import type { DeferredChild, ThreadControl } from './control.js'
import { applyDueTimes, nextAction, nextDueAt } from './next-action.js'

const EXPIRES = NOW + LIMITS.deferredChild
const child = preparedChild('k')
const operations = [{ kind: 'defer_child', requestId: 'env_1', child, expiresAt: EXPIRES }] as const
const busy = applyCallResult(withCalls('ask', 'work'), 'c0', resultOf('failed', { operations }), NOW)
const idle: ThreadControl = { ...busy, run: null }
const answer = { id: 'env_1', names: ['API_KEY'] }
const supplied = applyResponse(idle, answer, NOW)

function first({ children }: ThreadControl): DeferredChild {
  const found = children.find((one) => one.state === 'deferred')
  if (found === undefined) throw new Error('Expected a deferred child, got none.')
  return found
}

const SEEN = { isObserved: true, now: NOW }

describe('a subagent that lacks variables', () => {
  test('the call that asked for it is done, and its request is open', () => {
    const deferred = { state: 'deferred', requestId: 'env_1', callId: 'c0', ...child, request: 'open' }
    expect(busy).toMatchObject({ children: [deferred], childrenInAll: 1 })
    expect(listOpenRequests(busy)).toEqual([
      { id: 'env_1', kind: 'variables', toolName: null, requestedAt: NOW },
    ])
    expect(nextAction(busy)).toMatchObject({ kind: 'executeTool', call: { id: 'c1' } })
  })

  test('the request outlives the run, and not the thread', () => {
    expect(responseRefusal(idle, answer)).toBeNull()
    expect(responseRefusal({ ...idle, terminating: true }, answer)).toBe('Request.NotFound')
    expect(responseRefusal(idle, { id: 'env_1', approved: true })).toBe('Request.Invalid')
  })

  test('it starts once its request is answered, before anything else', () => {
    const pending = {
      type: 'pending',
      requestId: 'r',
      kind: 'call',
      status: 'waiting_input',
      next: 'complete',
    } as const
    const waiting = applyPendingCall(busy, 'c1', pending, NOW)
    for (const control of [idle, busy, waiting])
      expect(nextAction(applyResponse(control, answer, NOW))).toMatchObject({
        kind: 'startDeferred',
        deferred: { reference: 'k' },
      })
    expect(nextAction({ ...supplied, terminating: true }).kind).toBe('settle')
  })

  test('a second answer finds no request', () => {
    expect(responseRefusal(supplied, answer)).toBe('Request.NotFound')
  })

  test('T7 once started it is owed as every child, also when its report comes first', () => {
    const opened = openDeferred(supplied, first(supplied), NOW)
    expect(opened.children).toMatchObject([{ reference: 'k', owes: owing('c0') }])
    const running = applyDeferredStart(opened, first(supplied), SEEN)
    expect(running.children).toMatchObject([{ state: 'open', observed: true }])
    const early = applyDeferredStart(acceptReport(opened, report(), NOW), first(supplied), SEEN)
    expect(early).toMatchObject({ children: [], queue: [{ kind: 'report' }] })
  })

  test('it is carried as it is', () => {
    for (const control of [idle, supplied, applyDueTimes(idle, EXPIRES)]) {
      const carried = JSON.parse(JSON.stringify(carry(control))) as CarriedControl
      expect(restore(carried, control.start).children).toEqual(control.children)
    }
  })
})

describe('a request that nobody answers', () => {
  const expired = applyDueTimes(idle, EXPIRES)

  test('its time is waited for with one timer', () => {
    expect(nextDueAt(idle, NOW)).toBe(EXPIRES)
    expect(nextDueAt({ ...idle, effects: [{ id: 'e', dueAt: NOW + 5 }] }, NOW)).toBe(NOW + 5)
    expect(nextDueAt(supplied, NOW)).toBeNull()
    expect(nextDueAt({ ...idle, terminating: true }, NOW)).toBeNull()
    expect(applyDueTimes(idle, EXPIRES - 1)).toBe(idle)
  })

  test('T7 it expires in the store, and its parent is told', () => {
    expect(nextAction(expired)).toMatchObject({ kind: 'expireChild', deferred: { requestId: 'env_1' } })
    const told = applyChildExpiry(expired, 'env_1', 'm', EXPIRES)
    expect(told).toMatchObject({ children: [], queue: [{ kind: 'report', id: 'm' }] })
    expect(listOpenRequests(told)).toEqual([])
  })

  test('an answer that came first wins', () => {
    expect(nextAction(applyResponse(expired, answer, NOW)).kind).toBe('startDeferred')
    expect(nextAction(applyChildExpiry(expired, 'env_1', null, EXPIRES)).kind).toBe('startDeferred')
  })

  test('a store that cannot be asked is asked again', () => {
    const again = postponeExpiry(expired, 'env_1', EXPIRES)
    expect(nextAction(again).kind).toBe('wait')
    expect(nextDueAt(again, EXPIRES)).toBe(EXPIRES + LIMITS.childCheckLast)
  })
})

test('an answer to a request of nobody changes nothing', () => {
  const control = idleControl()
  expect(applyResponse(control, answer, NOW).children).toEqual([])
})
