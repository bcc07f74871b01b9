import { expect, test } from 'vitest'
import type { ControlSnapshot } from '../protocol/status.js'
import type { EffectRecord } from '../store/threads/effects.js'
import type { ThreadRecord } from '../store/threads/threads.js'
import type { PendingRequest } from './answers/pending-request.js'
import { buildLiveSnapshot } from './read-snapshot.js'
import type { SnapshotRows } from './read-snapshot.js'

const control: ControlSnapshot = {
  threadId: 't',
  agent: 'support',
  parent: null,
  status: 'waiting_permission',
  at: 5,
  run: null,
  queue: [],
  pending: [],
  effects: [],
  children: [],
  lastRun: null,
}
const thread = {
  id: 't',
  agent: 'support',
  status: 'idle',
  created_at: 1,
  snapshot: null,
  origin: null,
  forked_from: null,
} as ThreadRecord
const rows: SnapshotRows = {
  thread,
  children: [],
  childCount: 0,
  previews: new Map(),
  delivered: new Set(),
  waiting: [],
  requests: [],
  effects: [],
  shownStatus: 'running',
  ahead: null,
}
const request: PendingRequest = {
  id: 'approval_1',
  kind: 'approval',
  toolCallId: 'call_1',
  action: 'tool',
  toolName: 'refund_order',
  args: { amount: 80 },
  answers: ['approve', 'deny'],
  requestedAt: 4_900,
}
const asked = { id: 'approval_1', kind: 'approval', toolName: 'refund_order', requestedAt: 5 }

test('a request of the workflow comes with its arguments', () => {
  const snapshot = buildLiveSnapshot({ ...control, pending: [asked] }, { ...rows, requests: [request] })
  expect(snapshot).toMatchObject({ status: 'waiting_permission', stale: false, pending: [request] })
})

test('a request that the workflow has not received is not listed', () => {
  expect(buildLiveSnapshot(control, { ...rows, requests: [request] }).pending).toEqual([])
})

test('an answer that the workflow has not received leaves its request listed', () => {
  const pending = [asked, { id: 'v', kind: 'variables', toolName: null, requestedAt: 6 }]
  expect(buildLiveSnapshot({ ...control, pending }, rows).pending).toEqual([
    { id: 'approval_1', kind: 'approval', toolName: 'refund_order', requestedAt: 5_000 },
    { id: 'v', kind: 'variables', agent: 'support', required: [], missing: [], requestedAt: 6_000 },
  ])
})

test('an effect that is due waits in the queue, with its name', () => {
  const effect = (id: string, due_at: number): EffectRecord => ({
    ...{ thread_id: 't', id, name: 'ask_again', args: {}, due_at, created_at: 1 },
    ...{ status: 'scheduled', finished_at: null, error: null },
  })
  const snapshot = buildLiveSnapshot(
    {
      ...control,
      effects: [{ id: 'later', dueAt: 9 }],
      queue: [{ id: 'due', kind: 'effect', queuedAt: 5 }],
    },
    {
      ...rows,
      effects: [effect('due', 5_000), effect('later', 9_000)],
      previews: new Map([['due', 'ask_again {}']]),
    },
  )
  expect(snapshot.effects).toEqual([{ id: 'later', name: 'ask_again', scheduledAt: 9_000, createdAt: 1 }])
  expect(snapshot.queue).toEqual([{ id: 'due', kind: 'effect', queuedAt: 5_000, preview: 'ask_again {}' }])
})
