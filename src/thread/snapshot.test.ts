import { describe, expect, test } from 'vitest'
import { report, withAddressed, withPrepared, withStarted } from '../../test/support/child-states.js'
import {
  answered,
  idleControl,
  message,
  NOW,
  run,
  started,
  withCalls,
} from '../../test/support/control-states.js'
import { acceptReport } from './children.js'
import type { ThreadControl } from './control.js'
import { acceptStop } from './inbox.js'
import { doingOf, snapshotOf, statusOf } from './snapshot.js'

const prepared = withPrepared()
const waiting = withStarted()
const group = withStarted({ references: ['k', 'l', 'm'] })
const lastRun = { runId: 'run_1', steps: 1, endedAt: NOW }
const request = { id: 'variables_1', kind: 'variables', toolName: null, requestedAt: NOW }
const tell = { to: 'p', operation: { kind: 'set_env', names: ['CITY'] } } as const
const closing = { reason: 'x', cascade: [], settled: true }

describe('status', () => {
  test.each<readonly [string, ThreadControl]>([
    ['idle', idleControl()],
    ['idle', idleControl({}, { lastRun: { ...lastRun, reason: 'max_steps' } })],
    ['blocked', idleControl({}, { stopped: true, lastRun: { ...lastRun, reason: 'blocked' } })],
    ['blocked', idleControl({}, { stopped: true, request })],
    ['blocked', idleControl({}, { stopped: true, request, queue: [message('a')] })],
    ['running', idleControl({}, { stopped: false, request, queue: [message('a')] })],
    ['running', idleControl({}, { run: run() })],
    ['running', idleControl({}, { queue: [message('a')] })],
    ['running', idleControl({}, { stopped: true, run: run() })],
    ['running', idleControl({}, { outbound: [tell] })],
    ['stopped', idleControl({}, { stopped: true, queue: [message('a')] })],
    ['terminated', idleControl({}, { terminating: true, run: run() })],
    ['completed', idleControl({}, { closing: { ...closing, outcome: 'completed' } })],
    ['failed', idleControl({}, { terminating: true, closing: { ...closing, outcome: 'failed' } })],
    ['terminated', idleControl({}, { closing: { ...closing, outcome: 'terminated' } })],
  ])('%s', (status, control) => {
    expect(statusOf(control)).toBe(status)
  })
})

describe('what is being done', () => {
  test.each<readonly [string | null, ThreadControl]>([
    [null, idleControl()],
    ['model', started()],
    ['model chat', { ...started(answered(started())), run: run() }],
    ['tool work', withCalls('work')],
    ['agent ask', withCalls('ask')],
    [null, prepared],
    [null, withAddressed()],
    ['agent write', withCalls('write')],
    ['child k', waiting],
    ['children, 2 of 3', acceptReport(group, report({ reference: 'l' }), NOW)],
    ['agent ask', acceptReport(waiting, report(), NOW)],
    [null, acceptStop(withCalls('work'), undefined)],
  ])('%s', (doing, control) => {
    expect(doingOf(control)).toBe(doing)
  })
})

test('a snapshot names the run, the queue and the children', () => {
  const control = {
    ...waiting,
    queue: [
      message('a'),
      { kind: 'child_closed', id: 'x:closed', reference: 'x', status: 'failed', queuedAt: NOW },
      { kind: 'group', id: 'c9', queuedAt: NOW },
      { kind: 'continue', id: 'continue:1', queuedAt: NOW },
    ],
  } as const
  expect(snapshotOf(control, { now: NOW + 9, since: NOW + 1 })).toEqual({
    threadId: 't',
    agent: 'clerk',
    parent: null,
    status: 'running',
    at: NOW + 9,
    run: { runId: 'run_1', side: 'a', steps: 1, sessionTurns: 0, doing: 'child k', since: NOW + 1 },
    queue: [
      { id: 'a', kind: 'message', queuedAt: NOW },
      { id: 'x:closed', kind: 'report', queuedAt: NOW },
      { id: 'c9', kind: 'report', queuedAt: NOW },
      { id: 'continue:1', kind: 'continue', queuedAt: NOW },
    ],
    pending: [],
    effects: [],
    children: [{ reference: 'k', owed: true }],
    lastRun: null,
  })
})

test('between two actions nothing is being done', () => {
  const judged = answered(started(), { text: true })
  expect(snapshotOf(judged, { now: NOW, since: NOW }).run?.doing).toBeNull()
})

test('T5 inline content is not in a snapshot', () => {
  const inline = { content: 'secret words', role: 'user', silent: false } as const
  const control = idleControl(
    {},
    { queue: [{ kind: 'message', id: 'a', role: 'user', queuedAt: NOW, inline }] },
  )
  expect(JSON.stringify(snapshotOf(control, { now: NOW, since: NOW }))).not.toContain('secret')
})

test('a child names its parent', () => {
  const control = idleControl({ parent: { threadId: 'p', callId: 'c' } })
  expect(snapshotOf(control, { now: NOW, since: NOW }).parent).toBe('p')
})
