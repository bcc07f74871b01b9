import { describe, expect, test } from 'vitest'
import { NOW, idleControl, message, run, started } from '../../test/support/control-states.js'
import { LIMITS } from '../protocol/limits.js'
import { advance } from './advance.js'
import type { QueueEntry, Report, ThreadControl } from './control.js'
import { nextAction } from './next-action.js'
import {
  createAnnouncement,
  applyAnnouncement,
  applyDeliveredReport,
  reportKind,
  reportOfClosing,
  reportOfIdle,
  reportOfRun,
} from './reports.js'
import { TERMINATED, markReported } from './run.js'
import type { Ending } from './run.js'

const DONE: Ending = { reason: 'stop_on_response', outcome: 'completed', sessionCall: null }
const SESSION: Ending = { reason: 'session_stop', outcome: 'completed', sessionCall: 'c0' }
const BLOCKED: Ending = {
  reason: 'blocked',
  outcome: 'blocked',
  sessionCall: null,
  request: { id: 'v', kind: 'variables' },
}
const VARIABLES: QueueEntry = { kind: 'variables', id: 'v', queuedAt: NOW }
const PARENT = { parent: { threadId: 'p', callId: 'pc' } }
const ask = (id: string, invocation: string): QueueEntry => ({
  kind: 'message',
  id,
  role: 'user',
  queuedAt: NOW,
  invocation,
})
const child = (patch: Partial<ThreadControl> = {}): ThreadControl => idleControl(PARENT, patch)
const ending = (patch: Partial<ThreadControl> = {}): ThreadControl =>
  child({ run: run({ ending: DONE }), ...patch })

describe('a run that ends', () => {
  test('T7 it reports to the calls whose messages it has taken', () => {
    const control = ending({ invocations: ['c1', 'c2'], queue: [ask('m', 'c3')] })
    expect(reportOfRun(control, DONE)).toEqual({ ending: DONE, invocations: ['c1', 'c2'], closes: false })
  })

  test('a session that nobody of the parent asked for reports its result', () => {
    expect(reportOfRun(ending(), SESSION)).toMatchObject({ invocations: [] })
    expect(reportOfRun(ending(), DONE)).toBeNull()
  })

  test.each([
    ['without a parent', idleControl({}, { run: run(), invocations: ['c'] })],
    ['that is reported', ending({ invocations: ['c'], run: markReported(run({ ending: DONE })) })],
    ['while another report waits', ending({ invocations: ['c'], report: {} as Report })],
  ])('one %s does not report', (_which, control) => {
    expect(reportOfRun(control, SESSION)).toBeNull()
  })

  test('T7 a blocked run reports, unless the next one looks again', () => {
    const control = ending({ invocations: ['c'] })
    const supplied = { ...control, queue: [VARIABLES] }
    expect(reportOfRun(control, BLOCKED)).not.toBeNull()
    expect(reportOfRun(supplied, BLOCKED)).toBeNull()
    expect(reportOfRun({ ...supplied, stopped: true }, BLOCKED)).not.toBeNull()
    expect(reportOfRun(supplied, DONE)).not.toBeNull()
  })
})

describe('a thread in which nothing runs', () => {
  const parked = child({ stopped: true, queue: [ask('m', 'c1'), VARIABLES] })

  test('T7 what was removed or refused is answered for', () => {
    expect(reportOfIdle(child({ invocations: ['c'] }))).toEqual({
      ending: { reason: 'hook_blocked', outcome: 'failed', sessionCall: null },
      invocations: ['c'],
      closes: false,
    })
  })

  test.each([
    ['a stop', null, 'stopped'],
    ['a stop of a run', 'stopped', 'stopped'],
    ['a blocked run', 'blocked', 'blocked'],
  ])('T7 what %s has parked is answered for', (_what, last, reason) => {
    const lastRun = last === null ? null : { runId: 'run_1', reason: last, steps: 1, endedAt: NOW }
    expect(reportOfIdle({ ...parked, lastRun, invocations: ['c0'] })).toMatchObject({
      ending: { reason },
      invocations: ['c0', 'c1'],
    })
  })

  test('T7 an effect that heads the queue does not hide the run behind it', () => {
    const effect: QueueEntry = { kind: 'effect', id: 'e', queuedAt: NOW }
    const blocked = advance(child({ invocations: ['c'], queue: [effect, VARIABLES] }))
    expect(nextAction(blocked)).toEqual({ kind: 'runEffect', effectId: 'e' })
    expect(nextAction(advance({ ...blocked, queue: [VARIABLES] }))).toMatchObject({ kind: 'callModel' })
    expect(nextAction(advance({ ...blocked, queue: [] }))).toMatchObject({ kind: 'deliverReport' })
  })

  test('T8 one that closes after its session closes with what it answers', () => {
    const start = { ...PARENT, resumable: false }
    const unasked = advance(idleControl(start, { invocations: ['c'] }))
    const reason = 'hook_blocked'
    const action = nextAction(unasked)
    if (action.kind !== 'deliverReport') throw new Error(`Expected a report, got ${action.kind}.`)
    expect(action.due).toMatchObject({ closes: true, invocations: ['c'], ending: { reason } })
    const answer = { type: 'delivered', kind: 'failure', messageId: 'r' } as const
    expect(nextAction(applyDeliveredReport(unasked, action.due, answer))).toMatchObject({
      kind: 'settle',
      ending: { reason },
      close: { outcome: 'failed', reason },
    })
  })

  test('nothing is told of what waits for its run, or of a thread without a parent', () => {
    expect(reportOfIdle({ ...parked, stopped: false })).toBeNull()
    expect(reportOfIdle(child({ stopped: true, queue: [message('m')] }))).toBeNull()
    expect(reportOfIdle(idleControl({}, { invocations: ['c'] }))).toBeNull()
  })
})

describe('a thread that closes', () => {
  test('T7 its report answers for what waits, too', () => {
    const control = child({ invocations: ['c1'], queue: [ask('m', 'c2'), ask('n', 'c1')] })
    expect(reportOfClosing(control, SESSION)).toEqual({
      ending: SESSION,
      invocations: ['c1', 'c2'],
      closes: true,
    })
  })

  test('T7 one that is terminated while idle reports that', () => {
    expect(reportOfClosing(child(), null)).toMatchObject({
      ending: TERMINATED,
      invocations: [],
    })
  })

  test('there is one such report', () => {
    const closing = { outcome: 'terminated', reason: 'terminated', cascade: [], settled: false } as const
    expect(reportOfClosing(child({ closing }), null)).toBeNull()
    expect(reportOfClosing(idleControl(), null)).toBeNull()
  })
})

test.each([
  ['completed', 'result'],
  ['failed', 'failure'],
  ['cancelled', 'failure'],
  ['blocked', 'failure'],
] as const)('T7 an ending %s is a %s', (outcome, kind) => {
  expect(reportKind({ reason: 'x', outcome, sessionCall: null })).toBe(kind)
})

describe('a report that is delivered', () => {
  const queue = [ask('m', 'c1'), ask('n', 'c2')]
  const control = ending({ invocations: ['c0', 'late'], queue, reports: 4 })
  const due = { ending: DONE, invocations: ['c0', 'c1'], closes: false }
  const answer = { type: 'delivered', kind: 'notice', messageId: null } as const

  test('T7 whom it names is answered, others are not', () => {
    const delivered = applyDeliveredReport(control, due, answer)
    expect(delivered).toMatchObject({
      report: { number: 5, kind: 'notice', messageId: null, invocations: ['c0', 'c1'], announced: false },
      reports: 5,
      invocations: ['late'],
      run: { phase: { reported: true } },
      terminating: false,
    })
    expect(delivered.queue).toEqual([message('m'), ask('n', 'c2')])
  })

  test('what waits without its invocation takes less of the carried state', () => {
    const counted = { ...control, queueBytes: 1000 }
    expect(applyDeliveredReport(counted, due, answer).queueBytes).toBeLessThan(100)
  })

  test('T7 a child whose parent is gone closes by itself', () => {
    const gone = applyDeliveredReport(control, due, { type: 'parent_gone' })
    expect(gone).toMatchObject({ terminating: true, report: { announced: true } })
    const closes = applyDeliveredReport(control, { ...due, closes: true }, { type: 'parent_gone' })
    expect(closes).toMatchObject({ terminating: false, report: { announced: true } })
  })
})

describe('an announcement', () => {
  const report: Report = {
    number: 2,
    kind: 'result',
    messageId: 'r',
    invocations: ['c0'],
    closes: false,
    announced: false,
  }
  const closing = { outcome: 'completed', reason: 'session_stop', cascade: [], settled: true } as const

  test('it says what the parent has to know', () => {
    expect(createAnnouncement(child({ report, invocations: ['late'] }))).toEqual({
      reference: 't',
      report: 2,
      invocations: ['c0'],
      kind: 'result',
      messageId: 'r',
    })
    expect(createAnnouncement(child({ report: { ...report, messageId: null } }))).not.toHaveProperty(
      'messageId',
    )
  })

  test('T7 the last one names what was rejected with the thread', () => {
    const last = child({ report: { ...report, closes: true }, closing, invocations: ['late'] })
    expect(createAnnouncement(last)).toMatchObject({ invocations: ['c0', 'late'], closes: true })
  })

  test('T7 it names no more than its parent takes, the newest', () => {
    const invocations = Array.from({ length: LIMITS.invocations }, (_, index) => `c${index}`)
    const last = child({
      report: { ...report, invocations, closes: true },
      closing,
      invocations: ['late'],
    })
    expect(createAnnouncement(last)?.invocations).toEqual([...invocations.slice(1), 'late'])
  })

  test('T8 the last one waits until the thread takes nothing any more', () => {
    expect(createAnnouncement(child({ report: { ...report, closes: true } }))).toBeNull()
    expect(createAnnouncement(child({ report: { ...report, announced: true } }))).toBeNull()
    expect(createAnnouncement(child())).toBeNull()
  })

  test('what was announced is forgotten', () => {
    expect(applyAnnouncement(child({ report }), 'delivered')).toMatchObject({
      report: null,
      terminating: false,
    })
    expect(applyAnnouncement(child(), 'delivered').report).toBeNull()
  })

  test('T7 a child whose parent takes no announcement closes by itself', () => {
    const gone = applyAnnouncement(child({ report }), 'gone')
    expect(gone).toMatchObject({ terminating: true, report: { announced: true } })
    expect(applyAnnouncement(child({ report, closing }), 'gone').terminating).toBe(false)
  })

  test('T7 no run begins before the last one is announced', () => {
    expect(started(child({ report })).run).toBeNull()
    expect(started(child()).run).not.toBeNull()
  })
})
