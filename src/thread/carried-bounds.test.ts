import { describe, expect, test } from 'vitest'
import { endOf, idleControl, NOW, plan, started } from '../../test/support/control-states.js'
import { fact } from '../protocol/facts.js'
import { LIMITS } from '../protocol/limits.js'
import type { Plan } from '../protocol/plan.js'
import { carry, restore } from './continue-as-new.js'
import type { CarriedControl } from './continue-as-new.js'
import type { DeferredChild, OpenChild, ThreadControl } from './control.js'
import { withFacts } from './facts.js'
import { acceptMessage, enqueue, packEntry, unpackEntry } from './inbox.js'
import { applyModelAnswer } from './model-answers.js'
import { scheduleEffect } from './operations.js'
import { keepEarlyReport } from './reset.js'
import { stepOf } from './run.js'

const repeat = <T>(count: number, make: (index: number) => T): readonly T[] =>
  Array.from({ length: count }, (_, index) => make(index))
const pad = (index: number, length: number): string => `${index}`.padEnd(length, 'x')

/** As full as each bound allows, at once. */
function fullThread(): ThreadControl {
  const name = pad(0, LIMITS.nameLength)
  const usage = { inputTokens: 9e9, outputTokens: 9e9, cachedInputTokens: 9e9, cost: 9e9 }
  const calls = repeat(LIMITS.toolCallsPerAnswer, (index) => ({ id: `call_250_250_${index}`, name }))
  const answer = { type: 'answered', text: true, calls, usage, plan: largestPlan() } as const
  const called = { side: 'a', asked: false, toolFirst: false, drain: [] } as const
  const control = applyModelAnswer({ ...started(), queue: [], queueBytes: 0 }, called, answer, NOW)
  const messages = repeat(LIMITS.queuedItems, (index) => ({
    messageId: pad(index, LIMITS.messageIdLength),
    role: 'assistant',
  }))
  const queued = messages.reduce<ThreadControl>((next, input) => acceptMessage(next, input, NOW), control)
  const reported = repeat(LIMITS.openChildren, (index) => `${pad(index, 36)}:report:1`).reduce<ThreadControl>(
    (next, id) => enqueue(next, { kind: 'report', id, queuedAt: NOW }),
    queued,
  )
  const scheduled = repeat(LIMITS.effects, (index) => pad(index, 36)).reduce<ThreadControl>(
    (next, id) => scheduleEffect(next, { id, dueAt: NOW }),
    reported,
  )
  const facts = repeat(LIMITS.waitingFacts, (index) =>
    fact(
      'runtime.warning',
      { code: 'queue_full', message: 'The queue holds 1000 items; this one was refused.' },
      { messageId: pad(index, LIMITS.messageIdLength) },
    ),
  )
  const givenUp = repeat(LIMITS.givenUpEffects, (index) => pad(index, 36))
  const opened = repeat(10, openChild)
  const early = repeat(LIMITS.openChildren, (index) => ({
    ...{ reference: pad(index, LIMITS.threadIdLength), report: 1, kind: 'result' as const },
    invocations: [pad(index, LIMITS.messageIdLength)],
  })).reduce<ThreadControl>(keepEarlyReport, scheduled)
  return {
    ...withFacts(early, ...facts),
    givenUp,
    children: [
      ...opened,
      ...repeat(90, createDeferred),
      ...repeat(LIMITS.closedChildren, (index) => ({
        state: 'closed' as const,
        reference: pad(index, 36),
        status: 'terminated',
      })),
    ],
    activated: ['a', 'b'],
  }
}

function openChild(index: number): OpenChild {
  return {
    state: 'open',
    reference: pad(index, 36),
    resumable: true,
    owes: [
      { callId: 'call_250_250_127', isGrouped: true },
      ...repeat(LIMITS.invocationsPerChild, (call) => ({
        callId: `call_250_250_${call}`,
        isGrouped: false,
      })),
    ],
    reports: 9999,
    observed: false,
    checks: 99,
    nextCheckAt: NOW,
  }
}

function createDeferred(index: number): DeferredChild {
  const reference = pad(index, 36)
  const child = {
    reference,
    agent: pad(index, LIMITS.nameLength),
    messageId: `${reference}:first`,
    resumable: true,
  }
  const times = { requestedAt: NOW, expiresAt: NOW }
  const request = index % 2 === 0 ? 'expired' : 'open'
  const asked = { requestId: `variables_${reference}`, callId: 'call_250_250_127' }
  return { state: 'deferred', ...child, ...asked, ...times, request }
}

function largestPlan(): Plan {
  const filler = LIMITS.planBytes - JSON.stringify(plan()).length
  return plan({}, { digest: pad(0, filler) })
}

const full = fullThread()
const json = JSON.stringify(carry(full))

describe('a thread with everything at its bound', () => {
  test('the bounds are really reached', () => {
    expect(full.queue).toHaveLength(LIMITS.queuedItems + LIMITS.openChildren)
    expect(full.effects).toHaveLength(LIMITS.effects)
    expect(stepOf(full.run)?.calls).toHaveLength(LIMITS.toolCallsPerAnswer)
    expect(endOf(full)).toBeNull()
    expect(full.factsDropped).toBeGreaterThan(0)
  })

  test('it is carried within its budget', () => {
    const bounds =
      LIMITS.queueBytes +
      LIMITS.planBytes +
      LIMITS.effectBytes +
      LIMITS.stepBytes +
      LIMITS.waitingFactBytes +
      LIMITS.earlyReportBytes
    // Children and counters, the only parts without a share of their own, take the rest.
    expect(LIMITS.carriedStateBytes - bounds).toBeGreaterThan(20 * 1024)
    expect(Buffer.byteLength(json)).toBeLessThan(LIMITS.carriedStateBytes)
  })

  test('nothing of it is lost', () => {
    const carried = restore(JSON.parse(json) as CarriedControl, full.start)
    expect(carried).toEqual({ ...full, progressed: false })
  })
})

test.each([
  [{ kind: 'message', id: 'a', role: 'user', queuedAt: 1 }],
  [{ kind: 'message', id: 'a', role: 'assistant', queuedAt: 1 }],
  [
    {
      kind: 'message',
      id: 'a',
      role: 'user',
      queuedAt: 1,
      inline: { content: 'x', role: 'user', silent: true },
    },
  ],
  [{ kind: 'report', id: 'a', queuedAt: 1 }],
  [{ kind: 'child_closed', id: 'a', reference: 'r', status: 'failed', queuedAt: 1 }],
  [{ kind: 'tool', id: 'a', name: 'work', queuedAt: 1 }],
  [{ kind: 'effect', id: 'a', queuedAt: 1 }],
  [{ kind: 'variables', id: 'a', queuedAt: 1 }],
  [{ kind: 'continue', id: 'a', queuedAt: 1 }],
  [{ kind: 'group', id: 'a', queuedAt: 1 }],
] as const)('T3 %j is carried as it is', (entry) => {
  expect(unpackEntry(packEntry(entry))).toEqual(entry)
})

test('an idle thread is carried in less than a kilobyte', () => {
  expect(JSON.stringify(carry(idleControl())).length).toBeLessThan(1024)
})
