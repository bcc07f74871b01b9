import { openChildOf } from '../../test/support/child-states.js'
import { describe, expect, test } from 'vitest'
import { idleControl, NOW } from '../../test/support/control-states.js'
import { LIMITS } from '../protocol/limits.js'
import { completeEffect } from './operations.js'
import { acceptReport } from './children.js'
import type { ThreadControl } from './control.js'
import { acceptMessage, acceptTool, listDrainable, removeItems, enqueue } from './inbox.js'

function take(control: ThreadControl, name: string, count: number): ThreadControl {
  return Array.from({ length: count }, (_, n) => ({ messageId: `${name}${n}` })).reduce<ThreadControl>(
    (next, input) => acceptMessage(next, input, NOW),
    control,
  )
}

function withVariables(control: ThreadControl): ThreadControl {
  return enqueue(control, { kind: 'variables', id: '~item:1', queuedAt: NOW })
}

const lastOf = ({ queue }: ThreadControl) => queue.at(-1)?.id
const refusals = ({ facts }: ThreadControl) =>
  facts.filter(({ payload }) => 'code' in payload && payload.code === 'queue_full').length

describe('T3 what the store has admitted is taken', () => {
  test('while a step drains a thousand messages and an item that has no row', () => {
    // All of it is in the model call in flight: the store has room for a thousand again.
    const draining = take(withVariables(idleControl()), 'first', LIMITS.queuedItems)
    expect(listDrainable(draining)).toHaveLength(LIMITS.queuedItems + 1)
    expect(lastOf(take(draining, 'second', LIMITS.queuedItems))).toBe(`second${LIMITS.queuedItems - 1}`)
  })

  test('while a step drains a thousand messages and one of the next thousand was taken back', () => {
    const full = take(take(idleControl(), 'first', LIMITS.queuedItems), 'second', LIMITS.queuedItems)
    // No worker was there for the Update: the signal of the next one stands before it in the history.
    expect(lastOf(take(full, 'third', 1))).toBe('third0')
  })

  test('also from the answer of an activity', () => {
    // The store counts 999 rows; variables and an effect that is due are none.
    const effect = enqueue(idleControl(), { kind: 'effect', id: 'e', queuedAt: NOW })
    const full = take(withVariables(effect), 'm', LIMITS.queuedItems - 1)
    const ran = completeEffect(
      full,
      { id: 'e', operations: [{ kind: 'queue_message', id: 'told', role: 'user' }] },
      NOW,
    )
    expect(lastOf(ran)).toBe('told')
    expect(refusals(ran)).toBe(0)
  })

  test('also a report that no call asked for', () => {
    const open = openChildOf('k', { resumable: true, invocations: [] })
    const full = take({ ...idleControl(), children: [open] }, 'm', LIMITS.queuedItems)
    const report = { reference: 'k', messageId: 'r', kind: 'notice', report: 1, invocations: [] }
    expect(lastOf(acceptReport(full, report, NOW))).toBe('r')
  })

  test('but no more reports that nobody asked for than the bound', () => {
    const open = openChildOf('k', { resumable: true, invocations: [] })
    const bound = LIMITS.queuesAdmitted * LIMITS.queuedItems
    const full = Array.from({ length: bound + 1 }, (_, n) => n + 1).reduce<ThreadControl>(
      (next, report) => {
        const said = { reference: 'k', messageId: `r${report}`, kind: 'notice', report, invocations: [] }
        return acceptReport(next, said, NOW)
      },
      { ...idleControl(), children: [open] },
    )
    expect(full.queue).toHaveLength(bound)
    expect(refusals(full)).toBe(1)
  })

  test('tools with long names beside a thousand messages with the longest ids', () => {
    const draining = Array.from({ length: LIMITS.queuedItems }, (_, n) => ({
      messageId: `m${n}`.padEnd(LIMITS.messageIdLength - 2, 'x'),
    })).reduce<ThreadControl>((next, input) => acceptMessage(next, input, NOW), idleControl())
    const full = Array.from({ length: LIMITS.queuedItems }, (_, n) => ({
      toolCallId: `call_${n}`.padEnd(40, 'x'),
      name: 'n'.repeat(100),
    })).reduce<ThreadControl>((next, input) => acceptTool(next, input, NOW), draining)
    expect(removeItems(full, listDrainable(full)).queue).toHaveLength(LIMITS.queuedItems)
  })

  test('up to a bound of its own', () => {
    const bound = LIMITS.queuesAdmitted * LIMITS.queuedItems
    const full = take(idleControl(), 'm', bound + 1)
    expect(full.queue).toHaveLength(bound)
    expect(refusals(full)).toBe(1)
  })
})

test('a full queue takes nothing that has no row', () => {
  const full = take(idleControl(), 'm', LIMITS.queuedItems)
  expect(acceptMessage(full, { content: 'x' }, NOW).queue).toHaveLength(LIMITS.queuedItems)
})
