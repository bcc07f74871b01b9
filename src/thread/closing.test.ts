import { openChildOf } from '../../test/support/child-states.js'
import { describe, expect, test } from 'vitest'
import { NOW, idleControl, run, started } from '../../test/support/control-states.js'
import type { DeliverReportAnswer } from '../protocol/end-activities.js'
import { advance } from './advance.js'
import { applyActivityFailure } from './apply.js'
import { carry, restore, shouldContinueAsNew } from './continue-as-new.js'
import type { CarriedControl } from './continue-as-new.js'
import type { ThreadControl } from './control.js'
import { acceptMessage, acceptStop } from './inbox.js'
import { applyModelAnswer } from './model-answers.js'
import { nextAction } from './next-action.js'
import type { Action } from './next-action.js'
import { applyOperations } from './operations.js'
import { applyAnnouncement, applyDeliveredReport } from './reports.js'
import type { Ending } from './run.js'
import { removeFromCascade, applySettle } from './settling.js'

const ENDED: Ending = { reason: 'session_stop', outcome: 'completed', sessionCall: 'c0' }
const parent = { threadId: 'p', callId: 'pc' }
const resumable = (patch: Partial<ThreadControl> = {}): ThreadControl => idleControl({ parent }, patch)
const single = (patch: Partial<ThreadControl> = {}): ThreadControl =>
  idleControl({ parent, resumable: false }, patch)
const ended = { run: run({ ending: ENDED }), runs: 1, invocations: ['pc'] }
const acceptFromParent = (control: ThreadControl, id: string): ThreadControl =>
  acceptMessage(control, { messageId: id, from: 'parent', invocation: `call-${id}` }, NOW)

/** Carries out what only tells and settles, until something else comes; `during` happens in the first action of a kind. */
function runToEnd(
  control: ThreadControl,
  world: {
    readonly answer?: DeliverReportAnswer
    readonly parent?: 'delivered' | 'gone'
    readonly during?: Partial<Record<Action['kind'], (control: ThreadControl) => ThreadControl>>
  } = {},
): { readonly control: ThreadControl; readonly told: readonly string[] } {
  const { answer = { type: 'delivered', kind: 'result', messageId: 'r' } } = world
  const during = { ...world.during }
  const told: string[] = []
  let current = advance(control)
  for (let turn = 0; turn < 50; turn += 1) {
    const action = nextAction(current)
    const name = describeEnd(action)
    if (name === null) return { control: current, told }
    const queued = current.queue.length
    current = during[action.kind]?.(current) ?? current
    delete during[action.kind]
    if (action.kind === 'settle') current = applySettle(current, { ...action, queued }, NOW)
    if (action.kind === 'deliverReport') current = applyDeliveredReport(current, action.due, answer)
    if (action.kind === 'announceReport') current = applyAnnouncement(current, world.parent ?? 'delivered')
    if (action.kind === 'cancelChild') current = removeFromCascade(current, action.reference)
    told.push(name)
    if (action.kind === 'close') return { control: current, told }
    current = advance(JSON.parse(JSON.stringify(current)) as ThreadControl)
  }
  throw new Error('Expected an end, got none.')
}

function describeEnd(action: Action): string | null {
  switch (action.kind) {
    case 'deliverReport': {
      const { ending, invocations, closes } = action.due
      return `deliver ${ending.reason} ${invocations.join()}${closes ? ' closes' : ''}`
    }
    case 'announceReport':
      return `announce ${action.report.report} ${action.report.invocations.join()}${action.report.closes ? ' closes' : ''}`
    case 'settle':
      return `settle ${action.ending?.reason ?? '-'} ${action.close?.outcome ?? '-'}`
    case 'cancelChild':
      return `cancel ${action.reference}`
    case 'close':
      return `close ${action.closing.outcome}`
    default:
      return null
  }
}

const terminate = (control: ThreadControl): ThreadControl => ({ ...control, terminating: true })

describe('a child that closes after its session', () => {
  const last = ['deliver session_stop pc closes', 'settle session_stop completed']

  test('T7 it reports, settles, announces, tells its children, and only then closes', () => {
    const grandchild = openChildOf('k', { resumable: true, invocations: [] })
    const { told } = runToEnd(single({ ...ended, children: [grandchild] }))
    expect(told).toEqual([...last, 'announce 1 pc closes', 'cancel k', 'close completed'])
  })

  test('T7 it closes by itself when its parent is gone', () => {
    expect(runToEnd(single(ended), { answer: { type: 'parent_gone' } }).told).toEqual([
      ...last,
      'close completed',
    ])
    const { told } = runToEnd(single(ended), { parent: 'gone' })
    expect(told).toEqual([...last, 'announce 1 pc closes', 'close completed'])
  })

  test('T7 what came while it closed is named by its report', () => {
    for (const kind of ['deliverReport', 'settle'] as const) {
      const { told } = runToEnd(single(ended), {
        during: { [kind]: (control: ThreadControl) => acceptFromParent(control, 'm') },
      })
      expect(told.at(-2), kind).toBe('announce 1 pc,call-m closes')
    }
  })

  test('T8 a second settle rejects what came behind the announcement', () => {
    const { told } = runToEnd(single(ended), {
      during: { announceReport: (control) => acceptFromParent(control, 'm') },
    })
    expect(told).toEqual([...last, 'announce 1 pc closes', 'settle - completed', 'close completed'])
  })

  test('T7 a stop while a provider is waited for ends it', () => {
    const waiting = single({ run: run({ waitUntil: NOW + 1000 }), invocations: ['pc'] })
    expect(runToEnd(acceptStop(waiting, undefined)).told).toEqual([
      'deliver stopped pc closes',
      'settle stopped failed',
      'announce 1 pc closes',
      'close failed',
    ])
  })
})

describe('a resumable child', () => {
  const reported = ['deliver session_stop pc', 'settle session_stop -', 'announce 1 pc']

  test('T7 it reports, settles, announces, and waits', () => {
    const { control, told } = runToEnd(resumable(ended))
    expect(told).toEqual(reported)
    expect(nextAction(control)).toEqual({ kind: 'wait' })
    expect(control).toMatchObject({ report: null, reports: 1, invocations: [] })
  })

  test('T7 the next invocation gets a run and a report of its own', () => {
    const { control, told } = runToEnd(acceptFromParent(resumable(ended), 'm'))
    expect(told).toEqual(reported)
    expect(nextAction(control)).toMatchObject({ kind: 'callModel', drain: [{ invocation: 'call-m' }] })
    const second = { ...control, queue: [], invocations: ['call-m'], run: run({ ending: ENDED }) }
    expect(runToEnd(second).told[2]).toBe('announce 2 call-m')
  })

  test('T7 a run that nobody asked for and no session tool ended says nothing', () => {
    const alone = run({ ending: { reason: 'stop_on_response', outcome: 'completed', sessionCall: null } })
    expect(runToEnd(resumable({ run: alone })).told).toEqual(['settle stop_on_response -'])
  })

  test('T7 a stop while a provider is waited for is reported, what waits behind it too', () => {
    const waiting = acceptFromParent(
      resumable({ run: run({ waitUntil: NOW + 1000 }), invocations: ['pc'] }),
      'm',
    )
    const { control, told } = runToEnd(acceptStop(waiting, undefined))
    expect(told).toEqual([
      'deliver stopped pc',
      'settle stopped -',
      'announce 1 pc',
      'deliver stopped call-m',
      'announce 2 call-m',
    ])
    expect(control).toMatchObject({ stopped: true, queue: [{ id: 'm' }] })
    // Somebody lets it go on: the message is read, and nobody waits for what comes of it.
    expect(runToEnd({ ...control, stopped: false, queue: [], run: run() }).told).toEqual([])
  })

  test('T7 an invocation behind the stop gets its run', () => {
    const stopping = acceptStop(resumable({ run: run(), invocations: ['pc'] }), undefined)
    const { control, told } = runToEnd(acceptFromParent(stopping, 'm'))
    expect(told).toEqual(['deliver stopped pc', 'settle stopped -', 'announce 1 pc'])
    expect(nextAction(control).kind).toBe('callModel')
  })

  test('T7 a message that waits for its first step is parked by a stop and answered for', () => {
    const control = acceptStop(acceptFromParent(resumable(), 'm'), undefined)
    expect(runToEnd(control).told).toEqual(['deliver stopped call-m', 'announce 1 call-m'])
  })

  test('T7 a message that was removed while idle is answered for', () => {
    const stopped = acceptFromParent(resumable(), 'm')
    const removed = applyOperations(stopped, [{ kind: 'remove_queued', id: 'm' }], NOW)
    expect(runToEnd(removed).told).toEqual(['deliver hook_blocked call-m', 'announce 1 call-m'])
  })

  test('T7 a run that was blocked for a day answers for what it could not drain', () => {
    const control = applyActivityFailure(advance(acceptFromParent(resumable(), 'm')), 'timed_out')
    expect(runToEnd(control).told).toEqual([
      'settle blocked -',
      'deliver blocked call-m',
      'announce 1 call-m',
    ])
  })

  test('T7 a run that lacks a variable reports, and a second time only for its session', () => {
    const running = started(resumable())
    const drain = running.queue
    const answer = {
      type: 'end',
      reason: 'blocked',
      outcome: 'blocked',
      request: { id: 'v', kind: 'variables' },
    } as const
    const blocked = applyModelAnswer(
      { ...running, invocations: ['pc'] },
      { side: 'a', asked: false, toolFirst: false, drain },
      answer,
      NOW,
    )
    const { control, told } = runToEnd(blocked)
    expect(told).toEqual(['deliver blocked pc', 'settle blocked -', 'announce 1 pc'])
    expect(control).toMatchObject({ stopped: true, request: { id: 'v' } })
    expect(runToEnd({ ...control, stopped: false, run: run({ ending: ENDED }) }).told[0]).toBe(
      'deliver session_stop ',
    )
  })

  test('T7 it closes by itself when its parent is gone', () => {
    expect(runToEnd(resumable(ended), { answer: { type: 'parent_gone' } }).told).toEqual([
      'deliver session_stop pc',
      'settle session_stop terminated',
      'close terminated',
    ])
    expect(runToEnd(resumable(ended), { parent: 'gone' }).told).toEqual([
      ...reported,
      'settle - terminated',
      'close terminated',
    ])
  })
})

describe('a resumable child that is terminated', () => {
  const bare = ['deliver terminated  closes', 'settle - terminated', 'announce 1  closes', 'close terminated']

  test('T7 while idle, it says that it is closed', () => {
    expect(runToEnd(terminate(resumable())).told).toEqual(bare)
  })

  test('T7 with work that waits, it answers for all of it', () => {
    const control = terminate(acceptFromParent(resumable({ run: run(), invocations: ['pc'] }), 'm'))
    expect(runToEnd(control).told).toEqual([
      'deliver terminated pc,call-m closes',
      'settle terminated terminated',
      'announce 1 pc,call-m closes',
      'close terminated',
    ])
  })

  test.each(['deliverReport', 'settle', 'announceReport'] as const)(
    'T7 during %s, the report of its run comes first, and then the last one',
    (kind) => {
      const { told } = runToEnd(resumable(ended), { during: { [kind]: terminate } })
      expect(told).toEqual([
        'deliver session_stop pc',
        'settle session_stop -',
        'announce 1 pc',
        ...bare.map((name) => name.replace('1', '2')),
      ])
    },
  )

  test('T7 between a session and its report, that is its last one', () => {
    expect(runToEnd(terminate(resumable(ended))).told).toEqual([
      'deliver session_stop pc closes',
      'settle session_stop terminated',
      'announce 1 pc closes',
      'close terminated',
    ])
  })

  test('T7 while an idle report is on its way, both are told', () => {
    const { told } = runToEnd(resumable({ invocations: ['c'] }), { during: { deliverReport: terminate } })
    expect(told.slice(0, 2)).toEqual(['deliver hook_blocked c', 'announce 1 c'])
    expect(told.slice(2)).toEqual(bare.map((name) => name.replace('1', '2')))
  })
})

test('T7 a report is carried until it is announced', () => {
  const due = { ending: ENDED, invocations: ['pc'], closes: false }
  const answer = { type: 'delivered', kind: 'result', messageId: 'r' } as const
  const delivered = applyDeliveredReport(resumable(ended), due, answer)
  const size = { events: 9999, bytes: 0 }
  const history = { ...size, atLastAction: size, began: 0, signals: 0, suggested: true }
  const done = applySettle(delivered, { ending: ENDED, close: null, queued: 0 }, NOW)
  for (const control of [delivered, done]) {
    expect(shouldContinueAsNew(control, history)).toBe(true)
    const carried = restore(JSON.parse(JSON.stringify(carry(control))) as CarriedControl, control.start)
    expect(runToEnd(carried).told).toEqual(runToEnd(control).told)
    expect(runToEnd(carried).told.at(-1)).toBe('announce 1 pc')
  }
})
