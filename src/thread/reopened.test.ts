import { groupsOf, owing } from '../../test/support/child-states.js'
import { describe, expect, test } from 'vitest'
import { idleControl, NOW } from '../../test/support/control-states.js'
import { reopenedProblem, threadStartProblem } from '../protocol/message-problems.js'
import type { ReopenedThread } from '../protocol/messages.js'
import { advance } from './advance.js'
import { acceptReport } from './children.js'
import { carry, reopenThread, restore } from './continue-as-new.js'
import type { ThreadControl } from './control.js'
import { acceptMessage } from './inbox.js'
import { nextAction } from './next-action.js'

const nothing: ReopenedThread = {
  ...{ agent: 'clerk', runs: 4, settles: 3, reports: 0, items: 7, children: 0 },
  ...{ activated: ['a'], invocations: [], effects: [], open: [], deferred: [], groups: [] },
}

function reopen(patch: Partial<ReopenedThread>, start = {}): ThreadControl {
  return reopenThread(idleControl(start), { ...nothing, ...patch }, NOW)
}

const parent = { parent: { threadId: 'p', callId: 'call_1_1_0' } }

describe('a thread that was lost', () => {
  test('T4 goes on with numbers that nothing has', () => {
    const control = advance(acceptMessage(reopen({}), { messageId: 'm' }, NOW))
    expect(control).toMatchObject({ runs: 5, settles: 3, itemsNumbered: 7, run: { number: 5, side: 'a' } })
    expect(control.registered).toBe(true)
    expect(nextAction(reopen({}))).toEqual({ kind: 'wait' })
  })

  test('follows a run that was cut with another one of its side', () => {
    const control = advance(reopen({ side: 'b' }))
    expect(nextAction(control)).toMatchObject({ kind: 'callModel', side: 'b', asked: true })
    expect(control).toMatchObject({ run: { number: 5, trigger: 'continue' } })
  })

  test('keeps what it waits for while it is stopped', () => {
    const request = { id: 'vars', requestedAt: NOW }
    const control = reopen({ stopped: true, request, effects: [['later', NOW + 5]] })
    expect(control).toMatchObject({
      stopped: true,
      request: { id: 'vars', kind: 'variables' },
      effects: [{ id: 'later', dueAt: NOW + 5 }],
    })
    expect(advance(control).run).toBeNull()
  })

  test('T7 takes the report of a child that owes it', () => {
    const child = { reference: 'k', resumable: true, invocations: ['call_4_1_0'], reports: 1 }
    const control = reopen({ open: [child], children: 1 })
    const { invocations: _owed, ...known } = child
    const owes = owing('call_4_1_0')
    expect(control.children).toMatchObject([{ ...known, owes, observed: false, nextCheckAt: NOW }])
    const said = { reference: 'k', report: 2, invocations: ['call_4_1_0'], kind: 'result', messageId: 'r' }
    expect(acceptReport(control, said, NOW).queue).toMatchObject([{ kind: 'report', id: 'r' }])
  })

  test('T7 tells a group whose last member ended meanwhile', () => {
    const group = { callId: 'call_4_1_0', references: [] }
    expect(reopen({ groups: [group] }).queue).toMatchObject([{ kind: 'group', id: 'call_4_1_0' }])
    const child = { reference: 'k', resumable: true, invocations: ['call_4_1_0'], reports: 1 }
    const open = reopen({ open: [child], groups: [{ ...group, references: ['k'] }] })
    expect(open.queue).toEqual([])
    expect(groupsOf(open)).toEqual([{ ...group, references: ['k'] }])
  })

  test('T7 announces its last report once more', () => {
    const report = { report: 2, kind: 'result' as const, messageId: 'r', invocations: ['call_1_1_0'] }
    const action = nextAction(reopen({ report, reports: 2 }, parent))
    expect(action).toMatchObject({ kind: 'announceReport', report: { report: 2, messageId: 'r' } })
  })

  test('T8 ends when its last report was its last word', () => {
    const report = { report: 1, kind: 'result' as const, invocations: [], closes: true }
    const control = advance(reopen({ report, reports: 1, side: 'a' }, parent))
    expect(nextAction(control)).toMatchObject({ kind: 'settle', close: { outcome: 'terminated' } })
  })

  test('starts deferred children whose values have come', () => {
    const child = { reference: 'k', agent: 'helper', messageId: 'm', resumable: true }
    const deferred = { requestId: 'q', callId: 'call_1_1_0', child, requestedAt: NOW, supplied: true }
    expect(nextAction(reopen({ deferred: [deferred] }))).toMatchObject({ kind: 'startDeferred' })
    expect(nextAction(reopen({ deferred: [{ ...deferred, supplied: false }] }))).toEqual({ kind: 'wait' })
  })

  test('is carried over continue-as-new as any other', () => {
    const child = { reference: 'k', resumable: true, invocations: ['c'], reports: 1 }
    const control = reopen({ open: [child], effects: [['later', NOW]], groups: [], reports: 1 }, parent)
    const carried = restore(JSON.parse(JSON.stringify(carry(control))), control.start)
    expect({ ...carried, progressed: true }).toEqual(control)
  })
})

describe('what a start says of a lost thread', () => {
  test('is taken as a client makes it', () => {
    expect(reopenedProblem(nothing)).toBeUndefined()
    expect(threadStartProblem({ agent: 'clerk', reopened: nothing })).toBeUndefined()
  })

  test.for([
    { runs: -1 },
    { runs: '4' },
    { agent: '' },
    { side: 'c' },
    { activated: ['a', 'b', 'a'] },
    { invocations: [7] },
    { effects: [['later']] },
    { effects: Array.from({ length: 501 }, () => ['later', 1]) },
    { open: [{ reference: 'k' }] },
    { deferred: [{ requestId: 'q' }] },
    { groups: [{ callId: 'c', references: 'k' }] },
    { request: { id: 'vars' } },
    { report: { report: 1, invocations: [], kind: 'words' } },
    { lastRun: 'run_1' },
    { stopped: false },
  ])('T10 is refused with %o', (patch) => {
    const [field] = Object.keys(patch)
    const problem = threadStartProblem({ agent: 'clerk', reopened: { ...nothing, ...patch } })
    expect(problem).toContain(`reopened.${field}`)
  })

  test('T10 is refused where it is no object', () => {
    expect(threadStartProblem({ agent: 'clerk', reopened: [] })).toContain('reopened')
  })
})
