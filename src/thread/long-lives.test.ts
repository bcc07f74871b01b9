import { expect, test } from 'vitest'
import { preparedChild, report } from '../../test/support/child-states.js'
import { idleControl, NOW, plan, USAGE } from '../../test/support/control-states.js'
import { advance } from './advance.js'
import { applyCallResult } from './call-answers.js'
import { applyPreparedChildren, applyChildStart } from './child-calls.js'
import { acceptReport } from './children.js'
import { carry } from './continue-as-new.js'
import type { ThreadControl } from './control.js'
import { forgetSentFacts } from './facts.js'
import { acceptMessage } from './inbox.js'
import { applyModelAnswer } from './model-answers.js'
import { nextAction } from './next-action.js'
import type { Action } from './next-action.js'
import { applySettle, interruptStep } from './settling.js'

const ANSWERED = { type: 'result', outcome: 'succeeded' } as const

/** A thread whose activities do what they are for: its model asks for so many subagents in each turn, then says something. */
function life(subagents: number) {
  let control = idleControl()
  let children = 0

  function perform(action: Action): void {
    switch (action.kind) {
      case 'callModel': {
        const { side, asked, toolFirst, drain } = action
        const asks = drain.length > 0 && subagents > 0
        const calls = asks ? Array.from({ length: subagents }, (_, index) => callOf(action, index)) : []
        const answer = { type: 'answered', text: !asks, calls, usage: USAGE, plan: plan() } as const
        control = applyModelAnswer(control, { side, asked, toolFirst, drain }, answer, NOW)
        break
      }
      case 'prepareChild': {
        const prepared = [preparedChild(`child-${children++}`)]
        const answer = { type: 'children', children: prepared, group: false, blocking: true } as const
        control = applyPreparedChildren(control, action.call.id, answer, NOW)
        break
      }
      case 'startChildren': {
        const callId = action.call.id
        for (const { reference } of action.call.starting) {
          control = applyChildStart(control, { callId, reference, isObserved: true }, NOW)
          control = acceptReport(control, report({ reference, invocations: [callId] }), NOW)
        }
        break
      }
      case 'completeCall':
        control = applyCallResult(control, action.call.id, ANSWERED, NOW)
        break
      case 'settle':
        control = interruptStep(control, action.ending, NOW)
        control = applySettle(control, { ...action, queued: control.queue.length }, NOW)
        break
      default:
        throw new Error(`Expected nothing but turns with subagents, got ${action.kind}.`)
    }
    control = forgetSentFacts(control, control)
  }

  return {
    /** Takes these messages and acts until the thread is idle. */
    turn(messageIds: readonly string[]): void {
      for (const messageId of messageIds) control = acceptMessage(control, { messageId, role: 'user' }, NOW)
      for (;;) {
        control = advance(control)
        const action = nextAction(control)
        if (action.kind === 'wait') return
        perform(action)
      }
    },
    carried: (): number => Buffer.byteLength(JSON.stringify(carry(control))),
    children: (): number => children,
    control: (): ThreadControl => control,
  }
}

function callOf({ run }: Extract<Action, { readonly kind: 'callModel' }>, index: number) {
  return { id: `call_${run.number}_${run.steps + 1}_${index}`, name: 'ask' }
}

test('a thread of 100,000 past messages carries what one of a few carries', () => {
  const thread = life(0)
  thread.turn(['first'])
  const young = thread.carried()
  for (let turn = 0; turn < 5000; turn += 1)
    thread.turn(Array.from({ length: 20 }, (_, index) => `message-${turn}-${index}`))
  expect(thread.control().runs).toBe(5001)
  // Counters have more digits.
  expect(thread.carried() - young).toBeLessThan(50)
  expect(young).toBeLessThan(2048)
})

test('a thread of 5,000 past children carries what one of a few carries', () => {
  const thread = life(50)
  thread.turn(['first'])
  const young = thread.carried()
  for (let turn = 1; turn < 100; turn += 1) thread.turn([`message-${turn}`])
  expect(thread.children()).toBe(5000)
  expect(thread.control().children).toEqual([])
  expect(thread.carried() - young).toBeLessThan(50)
})
