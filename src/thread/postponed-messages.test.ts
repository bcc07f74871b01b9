import { describe, expect, test } from 'vitest'
import { NOW, idleControl } from '../../test/support/control-states.js'
import type { CallModelAnswer } from '../protocol/activities.js'
import type { QueueEntry } from './control.js'
import { resumePostponed, postponeMessages } from './reset.js'

const numbers = { runs: 3, settles: 4, reports: 2 }
const answer: CallModelAnswer = {
  type: 'answered',
  text: true,
  calls: [],
  usage: { inputTokens: 0, outputTokens: 0, cachedInputTokens: 0, cost: 0 },
  operations: [{ kind: 'postpone_messages', ids: ['second'], ...numbers }],
}
const drain: readonly QueueEntry[] = ['first', 'second'].map((id) => ({
  ...{ kind: 'message', id, role: 'user', queuedAt: NOW, invocation: `call of ${id}` },
}))
const taken = idleControl({}, { invocations: ['call of first', 'call of second'] })

describe('messages that a recorded step met too early', () => {
  test('T7 are named by no report of a recorded run', () => {
    const aside = postponeMessages(taken, drain, answer)
    expect(aside.invocations).toEqual(['call of first'])
    expect(aside.postponed).toEqual({ ...numbers, invocations: ['call of second'] })
  })

  test('T3 get a run of their own, numbered behind all others', () => {
    const control = { ...postponeMessages(taken, drain, answer), invocations: [], runs: 1, settles: 1 }
    const begun = resumePostponed(control, NOW)
    expect(begun).toMatchObject({ ...numbers, postponed: null, invocations: ['call of second'] })
    expect(begun.queue).toMatchObject([{ kind: 'continue' }])
  })

  test('wait until nothing runs, and leave a stop as it is', () => {
    const postponed = { ...numbers, invocations: [] }
    const closing = { outcome: 'completed', reason: 'session_stop', cascade: [], settled: true } as const
    for (const busy of [
      idleControl({}, { postponed, terminating: true }),
      idleControl({}, { postponed, closing }),
    ])
      expect(resumePostponed(busy, NOW)).toBe(busy)
    expect(resumePostponed(idleControl({}, { postponed, stopped: true }), NOW).stopped).toBe(true)
  })

  test('an answer that says nothing of them changes nothing', () => {
    const { operations: _none, ...plain } = answer
    expect(postponeMessages(taken, drain, plain)).toBe(taken)
    expect(resumePostponed(taken, NOW)).toBe(taken)
  })
})
