import { describe, expect, test } from 'vitest'
import { callOf, openChildOf, report, withChild, withStarted } from '../../test/support/child-states.js'
import { idleControl, NOW } from '../../test/support/control-states.js'
import { LIMITS } from '../protocol/limits.js'
import { acceptReport, applyChildChecks, listChildrenToCheck, nextCheckAt } from './children.js'
import type { ThreadControl } from './control.js'

const MINUTE = 60_000

/** After continue-as-new no close event comes. */
function withUnobserved(): ThreadControl {
  const control = withStarted()
  return { ...control, children: control.children.map((child) => ({ ...child, observed: false })) }
}

describe('children that cannot be seen', () => {
  test('an observed child needs no timer', () => {
    expect(nextCheckAt(withStarted())).toBeNull()
    expect(listChildrenToCheck(withStarted(), NOW + 10 * MINUTE)).toEqual([])
  })

  test('a child that owes nothing needs no timer', () => {
    const idle = withChild({ resumable: true, invocations: [], observed: false })
    expect(nextCheckAt(idle)).toBeNull()
    expect(listChildrenToCheck(idle, NOW + 10 * MINUTE)).toEqual([])
  })

  test('T7 idle ones are looked for when the next child would be refused, and not for ever', () => {
    const patch = { resumable: true, invocations: [], observed: false, nextCheckAt: NOW }
    const children = Array.from({ length: LIMITS.openChildren }, (_, index) =>
      openChildOf(`k${index}`, patch),
    )
    const full = idleControl({}, { children })
    expect(listChildrenToCheck(full, NOW)).toHaveLength(LIMITS.openChildren)
    expect(nextCheckAt({ ...full, children: children.slice(1) })).toBeNull()
    const often = children.map((child) => ({ ...child, checks: LIMITS.childChecksAtFirst }))
    expect(nextCheckAt({ ...full, children: often })).toBeNull()
  })

  test('T7 an unobserved child is looked for after a minute', () => {
    const control = withUnobserved()
    expect(nextCheckAt(control)).toBe(NOW + MINUTE)
    expect(listChildrenToCheck(control, NOW + MINUTE - 1)).toEqual([])
    expect(listChildrenToCheck(control, NOW + MINUTE)).toEqual(['k'])
  })

  test('T7 a child that ran before its start is looked for at once', () => {
    const control = withStarted({ isObserved: false })
    expect(listChildrenToCheck(control, NOW)).toEqual(['k'])
    expect(nextCheckAt(applyChildChecks(control, ['k'], [], NOW))).toBe(NOW + MINUTE)
  })

  test('one timer serves all: the earliest', () => {
    const times = { x: 3, y: 1, z: 2 }
    const children = Object.entries(times).map(([reference, at]) =>
      openChildOf(reference, { observed: false, nextCheckAt: NOW + at }),
    )
    const control = idleControl({}, { children })
    expect(nextCheckAt(control)).toBe(NOW + 1)
    expect(listChildrenToCheck(control, NOW + 2)).toEqual(['y', 'z'])
  })

  test('T7 checks come each minute for five, then ever more rarely', () => {
    let control = withUnobserved()
    const delays: number[] = []
    let last = NOW
    for (let check = 0; check < 12; check += 1) {
      const at = nextCheckAt(control) ?? 0
      delays.push((at - last) / MINUTE)
      last = at
      control = applyChildChecks(control, ['k'], [], at)
    }
    expect(delays).toEqual([1, 1, 1, 1, 1, 2, 4, 8, 16, 32, 60, 60])
    expect(control.childChecks).toBe(12)
    expect(LIMITS.childCheckLast).toBe(60 * MINUTE)
  })

  test('T7 a child that is found closed is answered for', () => {
    const closed = [{ reference: 'k', status: 'not_found' }]
    const control = applyChildChecks(withStarted({ isObserved: false }), ['k'], closed, NOW + MINUTE)
    expect(control.children).toEqual([])
    expect(callOf(control)).toMatchObject({
      wait: { reports: [{ report: { kind: 'closed', status: 'not_found' } }] },
    })
  })

  test('T7 a report that came during the check wins', () => {
    const control = acceptReport(withStarted({ isObserved: false }), report(), NOW)
    const checked = applyChildChecks(control, ['k'], [{ reference: 'k', status: 'completed' }], NOW)
    expect(callOf(checked)).toMatchObject({ wait: { reports: [{ report: { kind: 'result' } }] } })
  })
})
