import { expect, test } from 'vitest'

import {
  NOW,
  USAGE,
  asked,
  idleControl,
  message,
  plan,
  run,
  started,
  withCalls,
} from '../../test/support/control-states.js'
import { advance } from './advance.js'
import { waitAsked, waitOver } from './apply.js'
import { modelAnswered } from './model-answers.js'
import { acceptMessage, acceptStop, acceptTool } from './inbox.js'
import { nextAction } from './next-action.js'
import { doingOf, statusOf } from './snapshot.js'

const wait = { type: 'wait', until: NOW + 9, plan: plan(), usage: USAGE } as const
const queued = { ...started(), queue: [message('m1', 'assistant')] }
const waiting = modelAnswered(queued, { ...asked('b'), asked: true, drain: queued.queue }, wait, NOW)

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
  const over = advance(waitOver(more))
  expect(nextAction(over)).toMatchObject({ kind: 'callModel', side: 'b', asked: true, drain: [] })
  expect(over.queue).toHaveLength(2)
})

test('nothing goes before the call that waits', () => {
  const tool = acceptTool({ ...waiting, queue: [] }, { toolCallId: 't', name: 'work' }, NOW)
  const planned = { ...tool, run: { ...tool.run, ...run({ waitUntil: NOW, again: asked() }) } }
  expect(nextAction(advance(waitOver(planned))).kind).toBe('callModel')
})

test('messages do not cut the wait, a stop and a terminate do', () => {
  expect(nextAction(acceptMessage(waiting, { messageId: 'm2' }, NOW)).kind).toBe('waitUntil')
  expect(nextAction(acceptStop(waiting, undefined)).kind).toBe('settle')
  expect(nextAction({ ...waiting, terminating: true }).kind).toBe('settle')
})

test('a call that has to wait is made again', () => {
  const call = waitAsked(withCalls('work'), { type: 'wait', until: NOW + 9 }, null)
  expect(nextAction(call).kind).toBe('waitUntil')
  expect(doingOf(call)).toBe('tool work')
  expect(nextAction(waitOver(call))).toMatchObject({ kind: 'executeTool', call: { id: 'c0' } })
})

test('a wait without a run changes nothing', () => {
  const idle = idleControl()
  expect(waitAsked(idle, { type: 'wait', until: NOW }, null)).toBe(idle)
  expect(waitOver(idle)).toBe(idle)
})
