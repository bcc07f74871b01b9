import { expect, test } from 'vitest'
import { findBusy, isIdle, isReporting, isUnchanged } from './wait-until-idle.js'
import type { DatedLook, TreeLook } from './wait-until-idle.js'

const WAITS = [{ id: 'r', kind: 'call', toolName: 'ask', requestedAt: 1 }] as const
const QUEUED = [{ id: 'm', kind: 'message', queuedAt: 1 }] as const

test.each([
  ['an idle one', look('idle'), true],
  ['one with a queue', look('idle', { queue: QUEUED }), false],
  ['a running one', look('running'), false],
  ['one that waits for its provider', look('waiting_resource'), false],
  ['one that waits for a person', look('waiting_permission'), true],
  ['a stopped one with a queue', look('stopped', { queue: QUEUED }), true],
  ['one that is about to close', look('completed'), false],
  ['a closed one', look('completed', { stale: true }), true],
  ['one whose workflow has not answered', { ...look('idle'), silent: true }, false],
])('%s: idle is %s', (_, given, idle) => {
  expect(isIdle(given)).toBe(idle)
})

test.each([
  ['one that has done its work', look('idle'), true],
  ['one that was killed', look('lost', { pending: WAITS }), true],
  ['one that was stopped', look('stopped'), true],
  ['a stopped one whose call is in its queue', look('stopped', { queue: QUEUED }), false],
  ['one that waits for a person', look('waiting_input', { pending: WAITS }), false],
])('%s: that it reports by itself is %s', (_, given, reporting) => {
  expect(isReporting(given)).toBe(reporting)
})

test('a tree is busy while any thread of it is', () => {
  expect(findBusy(tree({ root: look('idle'), child: look('idle') }))).toBeUndefined()
  const working = look('running')
  expect(findBusy(tree({ root: look('idle'), child: working }))).toBe(working)
})

test('a tree is busy while a report is on its way', () => {
  const root = { ...look('idle'), owed: ['child'] }
  expect(findBusy(tree({ root, child: look('idle') }))).toBe(root)
  // A closed child: its report was written before it closed, and is signalled to the parent.
  expect(findBusy(tree({ root }))).toBe(root)
  expect(findBusy(tree({ root, child: look('waiting_input', { pending: WAITS }) }))).toBeUndefined()
})

test('a tree was idle at once if nothing happened between two looks', () => {
  const at = (root: number, child: number) =>
    tree({ root: look('idle', {}, root), child: look('idle', {}, child) })
  expect(isUnchanged(null, at(5, 7))).toBe(false)
  expect(isUnchanged(at(5, 7), at(5, 7))).toBe(true)
  expect(isUnchanged(at(5, 7), at(5, 8))).toBe(false)
  expect(isUnchanged(tree({ root: look('idle', {}, 5) }), at(5, 7))).toBe(false)
  expect(isUnchanged(at(5, 7), tree({ root: look('idle', {}, 5) }))).toBe(true)
})

function look(status: string, more: Partial<DatedLook['snapshot']> = {}, sequence = 1): DatedLook {
  const part = { status, stale: false, queue: [], pending: [], lastSequence: sequence, ...more }
  // Only what the functions read.
  return { snapshot: part as unknown as DatedLook['snapshot'], silent: false, owed: [], before: sequence }
}

function tree(all: { readonly root: DatedLook } & Readonly<Record<string, DatedLook>>): TreeLook {
  return { top: all.root, all: new Map(Object.entries(all)) }
}
