import { describe, expect, test } from 'vitest'
import {
  answered,
  asked,
  dualPlan,
  idleControl,
  message,
  NOW,
  plan,
  run,
  started,
  USAGE,
  withCalls,
} from '../../test/support/control-states.js'
import { advance } from './advance.js'
import { applyActivityFailure, applyWait, endWait } from './apply.js'
import {
  applyPendingCall,
  applyFrameAnswer,
  beginFrame,
  listOpenRequests,
  applyResponse,
  responseRefusal,
} from './call-answers.js'
import { carry, restore } from './continue-as-new.js'
import type { ThreadControl } from './control.js'
import { acceptMessage, acceptStop, acceptTool } from './inbox.js'
import { applyModelAnswer, forgetRevival } from './model-answers.js'
import { nextAction } from './next-action.js'
import { stepOf } from './run.js'
import { applySettle } from './settling.js'
import { doingOf, statusOf } from './snapshot.js'

const wait = { type: 'wait', until: NOW + 9, plan: plan(), usage: USAGE } as const
const queued = { ...started(), queue: [message('m1', 'assistant')] }
const waiting = applyModelAnswer(queued, { ...asked('b'), asked: true, drain: queued.queue }, wait, NOW)

test('a model call that has to wait says until when', () => {
  expect(nextAction(waiting)).toEqual({ kind: 'waitUntil', until: NOW + 9 })
  expect(statusOf(waiting)).toBe('waiting_resource')
  expect(doingOf(waiting)).toBe('model')
  expect(waiting.run?.usage).toEqual(USAGE)
})

test('T3 the same call follows, and drains nothing that came meanwhile', () => {
  const more = acceptTool(
    acceptMessage(waiting, { messageId: 'm2' }, NOW),
    { toolCallId: 't', name: 'work' },
    NOW,
  )
  const over = advance(endWait(more))
  expect(nextAction(over)).toMatchObject({ kind: 'callModel', side: 'b', asked: true, drain: [] })
  expect(over.queue).toHaveLength(2)
})

test('nothing goes before the call that waits', () => {
  const tool = acceptTool({ ...waiting, queue: [] }, { toolCallId: 't', name: 'work' }, NOW)
  const planned = { ...tool, run: run({ waitUntil: NOW, call: asked() }) }
  expect(nextAction(advance(endWait(planned))).kind).toBe('callModel')
})

test('messages do not cut the wait, a stop and a terminate do', () => {
  expect(nextAction(acceptMessage(waiting, { messageId: 'm2' }, NOW)).kind).toBe('waitUntil')
  expect(nextAction(acceptStop(waiting, undefined)).kind).toBe('settle')
  expect(nextAction({ ...waiting, terminating: true }).kind).toBe('settle')
})

test('a call that has to wait is made again', () => {
  const call = applyWait(withCalls('work'), { type: 'wait', until: NOW + 9 }, null)
  expect(nextAction(call).kind).toBe('waitUntil')
  expect(doingOf(call)).toBe('tool work')
  expect(statusOf(call)).toBe('waiting_resource')
  expect(nextAction(endWait(call))).toMatchObject({ kind: 'executeTool', call: { id: 'c0' } })
})

test('a call that goes on by itself later is in flight meanwhile', () => {
  const call = applyWait(withCalls('work'), { type: 'wait', until: NOW + 9, cause: 'call' }, null)
  expect(nextAction(call).kind).toBe('waitUntil')
  expect(statusOf(call)).toBe('running')
  expect(statusOf(restore(carry(call), call.start))).toBe('running')
})

test('T10 a wait within a step leaves the plan of the step', () => {
  const two = dualPlan({}, {})
  const speaking = { ...started(), run: run({ side: 'b' }), plan: two }
  const calling = answered(speaking, { calls: [{ id: 'c0', name: 'work' }], plan: two })
  const over = endWait(applyWait(calling, { type: 'wait', until: NOW, plan: plan() }, null))
  expect(stepOf(calling.run)?.side).toBe('b')
  expect(nextAction(over)).toMatchObject({ kind: 'executeTool', call: { id: 'c0' } })
  expect(over.plan).toEqual(two)
})

test('a wait without a run changes nothing', () => {
  const idle = idleControl()
  expect(applyWait(idle, { type: 'wait', until: NOW }, null)).toBe(idle)
  expect(endWait(idle)).toBe(idle)
})

const ASKS = { requestId: 'budget_1', kind: 'budget', status: 'waiting_permission', next: 'execute' } as const
const asking = applyModelAnswer(
  queued,
  { ...asked('b'), asked: true, drain: queued.queue },
  { type: 'pending', ...ASKS, plan: plan(), usage: USAGE },
  NOW,
)

test('a model call may wait for an answer from outside', () => {
  expect(nextAction(asking)).toEqual({ kind: 'awaitModel', side: 'b' })
  expect(advance(asking)).toBe(asking)
  expect(statusOf(asking)).toBe('waiting_permission')
  expect(doingOf(asking)).toBe('model')
  expect(listOpenRequests(asking)).toEqual([
    { id: 'budget_1', kind: 'budget', toolName: null, requestedAt: NOW },
  ])
  expect(asking.run?.usage).toEqual(USAGE)
  expect(nextAction(acceptStop(asking, undefined)).kind).toBe('settle')
  expect(listOpenRequests(acceptStop(asking, undefined))).toEqual([])
})

test('T3 T4 the same model call goes on with the answer, in the same run', () => {
  const more = acceptMessage(restore(carry(asking), asking.start), { messageId: 'm2' }, NOW)
  const answer = { id: 'budget_1', approved: true }
  expect(responseRefusal(more, answer)).toBeNull()
  const going = advance(applyResponse(more, answer, NOW))
  const response = { requestId: 'budget_1', approved: true }
  expect(nextAction(going)).toMatchObject({ kind: 'callModel', side: 'b', asked: true, drain: [], response })
  expect(going.run).toMatchObject({ number: 1, phase: { resumed: true } })
  expect(responseRefusal(going, answer)).toBe('Request.NotFound')
})

test('the model call of a nested step goes on with its answer too', () => {
  const draft = withCalls('draft')
  const frame = { callId: 'c0', prompt: 'writer' }
  const waits = applyFrameAnswer(beginFrame(draft), frame, { type: 'pending', ...ASKS }, NOW)
  expect(nextAction(waits)).toMatchObject({ kind: 'awaitAnswer', call: { id: 'c0' } })
  const going = applyResponse(waits, { id: 'budget_1', approved: true }, NOW)
  const response = { requestId: 'budget_1', approved: true }
  expect(nextAction(going)).toMatchObject({ kind: 'callPrompt', call: { id: 'c0', response } })
  expect(going.run).toMatchObject({ phase: { resumed: true } })
})

test.each(['ask', 'write', 'work'])('a call of %s may wait for an answer, and is made again', (name) => {
  const before = nextAction(withCalls(name)).kind
  const waits = applyPendingCall(withCalls(name), 'c0', { type: 'pending', ...ASKS }, NOW)
  expect(nextAction(waits).kind).toBe('awaitAnswer')
  const going = applyResponse(waits, { id: 'budget_1', approved: false }, NOW)
  expect(nextAction(going)).toMatchObject({ kind: before, call: { response: { approved: false } } })
})

test('a call whose answer came before its question waits for nobody', () => {
  const result = { ...ASKS, requestId: 'c0', kind: 'call', next: 'complete', answered: true } as const
  const going = applyPendingCall(withCalls('work'), 'c0', { type: 'pending', ...result }, NOW)
  expect(listOpenRequests(going)).toEqual([])
  expect(nextAction(going)).toMatchObject({
    kind: 'completeCall',
    by: { kind: 'response', requestId: 'c0' },
  })
})

describe('a run that is ended without an answer', () => {
  const ending = (control: ThreadControl): ThreadControl => {
    const failed = applyActivityFailure(control, 'failed')
    const action = nextAction(failed)
    if (action.kind !== 'settle') throw new Error(`Expected a settle, got ${action.kind}.`)
    return advance(applySettle(failed, { ...action, queued: failed.queue.length }, NOW))
  }

  test('T3 parks what its own model call was to take', () => {
    const asks = forgetRevival(started(), started().queue)
    expect(ending(asks)).toMatchObject({ run: null, stopped: true })
  })

  test('T3 goes on with a message that came while it worked', () => {
    const asks = forgetRevival(started(), started().queue)
    const next = ending(acceptMessage(asks, { messageId: 'm2' }, NOW))
    expect(next).toMatchObject({ stopped: false, run: { number: 2 } })
    const taken = forgetRevival(next, next.queue)
    expect(ending(taken)).toMatchObject({ run: null, stopped: true })
  })

  test('T3 parks what a tool or a parent said meanwhile', () => {
    const asks = forgetRevival(started(), started().queue)
    expect(ending(acceptMessage(asks, { messageId: 'm2', from: 'parent' }, NOW)).run).toBeNull()
    expect(ending(acceptTool(asks, { toolCallId: 't', name: 'work' }, NOW)).run).toBeNull()
  })
})
