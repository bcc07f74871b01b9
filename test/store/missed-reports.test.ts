import { expect, test } from 'vitest'
import { reportOperationId } from '../../src/protocol/ids.js'
import { insertOperation } from '../../src/store/operations.js'
import type { Store } from '../../src/store/store.js'
import { listMissedReports } from '../../src/store/threads/children.js'
import { insertRun } from '../../src/store/threads/runs.js'
import { insertThread } from '../../src/store/threads/threads.js'
import { withStore } from '../support/temporary-store.js'

const told = { type: 'delivered', kind: 'result', messageId: 'm' } as const

/** A child of which each session has reported. */
async function reporting(store: Store, answers: readonly object[]): Promise<void> {
  await store.write(async (tx) => {
    await insertThread(tx, { id: 'k', agent: 'helper', created_at: 1, status: 'idle' })
    for (const [index, answer] of answers.entries())
      await insertOperation(tx, {
        ...{ thread_id: 'k', id: reportOperationId(index + 1), kind: 'report', state: 'finished' },
        ...{ attempt: 1, answer, started_at: 1 },
        detail: { invocations: [`call_${index + 1}`], closes: index === 2 },
      })
  })
}

test('T7 reports behind the last one taken are found, in order', () =>
  withStore(async (store) => {
    await reporting(store, [told, { ...told, kind: 'notice', messageId: null }, told])
    const common = { reference: 'k' }
    expect(await store.read((db) => listMissedReports(db, 'k', 1))).toEqual([
      { ...common, report: 2, invocations: ['call_2'], kind: 'notice' },
      { ...common, report: 3, invocations: ['call_3'], kind: 'result', messageId: 'm', closes: true },
    ])
    expect(await store.read((db) => listMissedReports(db, 'k', 3))).toEqual([])
    expect(await store.read((db) => listMissedReports(db, 'nobody', 0))).toEqual([])
  }))

test('T7 a run that has not ended is waited for', () =>
  withStore(async (store) => {
    await reporting(store, [told])
    await store.write((tx) =>
      insertRun(tx, { thread_id: 'k', number: 2, trigger_kind: 'message', started_at: 1 }),
    )
    expect(await store.read((db) => listMissedReports(db, 'k', 0))).toEqual([])
  }))

test('a report that its parent could not take is none', () =>
  withStore(async (store) => {
    await reporting(store, [{ type: 'parent_gone' }])
    expect(await store.read((db) => listMissedReports(db, 'k', 0))).toEqual([])
  }))
