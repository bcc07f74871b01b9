import { describe, expect, test } from 'vitest'
import {
  NOW,
  USAGE,
  endOf,
  idleControl,
  message,
  plan,
  resultOf,
  run,
  withCalls,
} from '../../test/support/control-states.js'
import { advance } from './advance.js'
import { applyEnd } from './apply.js'
import {
  applyCallResult,
  applyPendingCall,
  listOpenRequests,
  applyResponse,
  responseRefusal,
} from './call-answers.js'
import { carry, restore } from './continue-as-new.js'
import type { CarriedControl } from './continue-as-new.js'
import type { ThreadControl } from './control.js'
import { acceptMessage, acceptSetEnv, acceptStop } from './inbox.js'
import { applyModelAnswer } from './model-answers.js'
import { nextAction } from './next-action.js'
import { stepOf } from './run.js'
import { applySettle, interruptStep } from './settling.js'
import { snapshotOf, statusOf } from './snapshot.js'

const APPROVAL = {
  requestId: 'approval_c0',
  kind: 'approval',
  status: 'waiting_permission',
  next: 'execute',
} as const
const RESULT = { requestId: 'c0', kind: 'call', status: 'waiting_input', next: 'complete' } as const

const asked = applyPendingCall(withCalls('work', 'work'), 'c0', { type: 'pending', ...APPROVAL }, NOW)
const called = applyPendingCall(withCalls('work'), 'c0', { type: 'pending', ...RESULT }, NOW)

describe('a call that waits for an answer', () => {
  test('it waits, and the thread says for what', () => {
    expect(nextAction(asked)).toMatchObject({ kind: 'awaitAnswer', call: { id: 'c0' } })
    expect(statusOf(asked)).toBe('waiting_permission')
    expect(statusOf(called)).toBe('waiting_input')
    expect(snapshotOf(asked, { now: NOW, since: NOW })).toMatchObject({
      run: { doing: 'tool work' },
      pending: [{ id: 'approval_c0', kind: 'approval', toolName: 'work', requestedAt: NOW }],
    })
  })

  test('an approval lets the call run with the answer', () => {
    const going = applyResponse(asked, { id: 'approval_c0', approved: true }, NOW)
    expect(nextAction(going)).toMatchObject({
      kind: 'executeTool',
      call: { id: 'c0', response: { requestId: 'approval_c0', approved: true } },
    })
    expect(statusOf(going)).toBe('running')
  })

  test('a result from outside completes the call', () => {
    expect(nextAction(applyResponse(called, { id: 'c0', result: true }, NOW))).toMatchObject({
      kind: 'completeCall',
      by: { kind: 'response', requestId: 'c0' },
    })
  })

  test('a call may wait again under another request', () => {
    const going = applyResponse(called, { id: 'c0', result: true }, NOW)
    const again = applyPendingCall(going, 'c0', { type: 'pending', ...RESULT, requestId: 'c0:2' }, NOW)
    expect(listOpenRequests(again)).toMatchObject([{ id: 'c0:2' }])
    expect(responseRefusal(again, { id: 'c0', result: true })).toBe('Request.NotFound')
  })

  test('T3 messages wait behind it, and chat text answers nothing', () => {
    const messaged = acceptMessage(asked, { messageId: 'approval_c0' }, NOW)
    expect(nextAction(messaged).kind).toBe('awaitAnswer')
    expect(messaged.queue).toMatchObject([{ kind: 'message' }])
  })

  test('it waits over continue-as-new', () => {
    const json = JSON.stringify(carry(asked))
    const carried = restore(JSON.parse(json) as CarriedControl, asked.start)
    expect(responseRefusal(carried, { id: 'approval_c0', approved: false })).toBeNull()
    expect(nextAction(carried)).toEqual(nextAction({ ...asked, progressed: false }))
  })

  test('a stop and a terminate end it', () => {
    const stopped = acceptStop(asked, undefined)
    for (const ended of [stopped, { ...asked, terminating: true }]) {
      expect(listOpenRequests(ended)).toEqual([])
      expect(responseRefusal(ended, { id: 'approval_c0', approved: true })).toBe('Request.NotFound')
      expect(nextAction(ended).kind).toBe('settle')
    }
    const cut = interruptStep(stopped, { reason: 'stopped', outcome: 'cancelled', sessionCall: null }, NOW)
    expect(stepOf(cut.run)?.calls).toEqual([])
  })

  test('T9 what the call did before it waited has happened', () => {
    const operations = [{ kind: 'queue_message', id: 'm2', role: 'user' }] as const
    const waiting = applyPendingCall(withCalls('work'), 'c0', { type: 'pending', ...RESULT, operations }, NOW)
    expect(waiting.queue).toMatchObject([{ id: 'm2' }])
  })
})

describe('an answer that is refused', () => {
  test.each([
    [{ id: 'nobody', approved: true }, 'Request.NotFound'],
    [{ id: 'approval_c0', result: true }, 'Request.Invalid'],
    [{ id: 'approval_c0', names: ['A'] }, 'Request.Invalid'],
    [{ id: 'approval_c0' }, 'Request.Invalid'],
    [undefined, 'Request.Invalid'],
    [{ undecodable: true }, 'Request.Invalid'],
  ])('T10 %j', (answer, refusal) => {
    expect(responseRefusal(asked, answer)).toBe(refusal)
  })

  test('a second answer finds no request', () => {
    const going = applyResponse(asked, { id: 'approval_c0', approved: false }, NOW)
    expect(responseRefusal(going, { id: 'approval_c0', approved: true })).toBe('Request.NotFound')
    expect(applyResponse(going, { id: 'approval_c0', approved: true }, NOW)).toBe(going)
  })

  test('a kind of a later version takes any answer', () => {
    const form = { ...RESULT, kind: 'input' }
    const waiting = applyPendingCall(withCalls('work'), 'c0', { type: 'pending', ...form }, NOW)
    expect(responseRefusal(waiting, { id: 'c0', approved: true })).toBeNull()
  })
})

describe('a blocked run', () => {
  const request = { id: 'variables_1', kind: 'variables' }
  const end = { type: 'end', reason: 'blocked', outcome: 'blocked', request } as const
  const ending = applyEnd(idleControl({}, { run: run(), runs: 1, queue: [message('b')] }), end, NOW)
  const settle = (control: ThreadControl): ThreadControl =>
    applySettle(control, { ending: endOf(control) ?? null, close: null, queued: 1 }, NOW)
  const blocked = settle(ending)

  test('it is shown with its request, and nothing starts', () => {
    expect(statusOf(blocked)).toBe('blocked')
    expect(listOpenRequests(blocked)).toEqual([{ ...request, toolName: null, requestedAt: NOW }])
    expect(advance(blocked)).toBe(blocked)
  })

  test.each([
    [
      'an answer',
      (control: ThreadControl) => applyResponse(control, { id: 'variables_1', names: ['A'] }, NOW),
    ],
    ['setEnv', (control: ThreadControl) => acceptSetEnv(control, { names: ['A'] }, NOW)],
    ['a message', (control: ThreadControl) => acceptMessage(control, { messageId: 'c' }, NOW)],
  ])('%s starts a run that looks again', (_what, change) => {
    const going = advance(change(blocked))
    expect(going).toMatchObject({ stopped: false, run: { number: 2 } })
  })

  test('the request stays until a step has looked', () => {
    const going = advance(acceptMessage(blocked, { messageId: 'c' }, NOW))
    const call = { side: 'a', asked: false, toolFirst: false, drain: going.queue } as const
    const answer = (given: Parameters<typeof applyModelAnswer>[2]) =>
      applyModelAnswer(going, call, given, NOW).request
    expect(answer({ type: 'nothing_to_do' })).toMatchObject({ id: 'variables_1' })
    expect(answer({ type: 'end', reason: 'definition_missing', outcome: 'failed' })).not.toBeNull()
    expect(answer({ type: 'answered', text: true, calls: [], usage: USAGE, plan: plan() })).toBeNull()
  })

  test('supplied variables ask for a step', () => {
    const going = advance(acceptSetEnv({ ...blocked, queue: [] }, { names: ['A'] }, NOW))
    expect(going.run?.trigger).toBe('variables')
    expect(nextAction(going)).toMatchObject({ kind: 'callModel', asked: true })
  })

  test('an answer of another kind is refused', () => {
    expect(responseRefusal(blocked, { id: 'variables_1', approved: true })).toBe('Request.Invalid')
  })

  test('variables that came while it was found blocked are not lost', () => {
    const going = settle(acceptSetEnv(ending, { names: ['A'] }, NOW))
    expect(going).toMatchObject({ stopped: false, queue: [{ kind: 'message' }, { kind: 'variables' }] })
  })

  test('variables for a run that lacks none ask for nothing', () => {
    const going = idleControl(
      {},
      { run: run({ ending: { reason: 'x', outcome: 'completed', sessionCall: null } }) },
    )
    expect(settle(acceptSetEnv(going, { names: ['A'] }, NOW)).queue).toEqual([])
    expect(acceptSetEnv(idleControl(), { names: ['A'] }, NOW).queue).toEqual([])
  })

  test('T8 a thread that closes asks for nothing', () => {
    const closed = applySettle(
      ending,
      { ending: endOf(ending) ?? null, close: { outcome: 'failed', reason: 'blocked' }, queued: 1 },
      NOW,
    )
    expect(listOpenRequests(closed)).toEqual([])
  })
})

test('a call that was answered may be done', () => {
  const going = applyResponse(asked, { id: 'approval_c0', approved: true }, NOW)
  expect(nextAction(applyCallResult(going, 'c0', resultOf('denied'), NOW))).toMatchObject({
    call: { id: 'c1' },
  })
})
