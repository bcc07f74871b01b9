import type { Client } from '@temporalio/client'
import { MockActivityEnvironment } from '@temporalio/testing'
import { expect, test } from 'vitest'

import { checkChildren } from '../../src/activities/subagents/closed-child.js'
import type { CheckChildrenAnswer, CheckChildrenInput } from '../../src/protocol/end-activities.js'
import { reportOperationId } from '../../src/protocol/ids.js'
import { LIMITS } from '../../src/protocol/limits.js'
import { insertOperation } from '../../src/store/operations.js'
import type { Store } from '../../src/store/store.js'
import { insertThread } from '../../src/store/threads/threads.js'
import { withStore } from '../support/temporary-store.js'

const REFERENCES = Array.from({ length: LIMITS.openChildren }, (_, index) => `${'c'.repeat(60)}-${index}`)

test('T10 reports of a hundred children come in answers that a history takes, and all of them', () =>
  withStore(async (store) => {
    for (const reference of REFERENCES) await addReports(store, reference)
    const answers: CheckChildrenAnswer[] = []
    for (let at = 0; at < REFERENCES.length;) {
      const answer = await check(store, REFERENCES.slice(at))
      answers.push(answer)
      at += answer.looked ?? REFERENCES.length
    }
    expect(answers.length).toBeGreaterThan(1)
    for (const answer of answers) {
      const bytes = Buffer.byteLength(JSON.stringify(answer))
      expect(bytes).toBeLessThan(LIMITS.operationBytes + LIMITS.inlineContentBytes)
    }
    expect(answers.at(-1)).not.toHaveProperty('looked')
    const found = answers.flatMap(({ missed = [] }) =>
      missed.map(({ reference, report }) => `${reference} ${report}`),
    )
    expect(found).toEqual(
      REFERENCES.flatMap((reference) =>
        Array.from({ length: LIMITS.invocationsPerChild }, (_, index) => `${reference} ${index + 1}`),
      ),
    )
    expect(answers.flatMap(({ closed }) => closed.map(({ reference }) => reference))).toEqual(REFERENCES)
  }))

function check(store: Store, references: readonly string[]): Promise<CheckChildrenAnswer> {
  const describe = () => Promise.resolve({ status: { name: 'COMPLETED' } })
  // Only what describes a child is called.
  const withAbortSignal = (_signal: AbortSignal, work: () => unknown): unknown => work()
  const client = { withAbortSignal, workflow: { getHandle: () => ({ describe }) } } as unknown as Client
  const common = { threadId: 't', run: 1, facts: [], level: 0, now: 1 }
  const input = { ...common, check: 1, references, taken: references.map(() => 0) }
  return new MockActivityEnvironment({}, { client }).run(
    (given: CheckChildrenInput) => checkChildren({ store }, given),
    input,
  )
}

/** As many as a parent keeps calls of a child. */
function addReports(store: Store, reference: string): Promise<void> {
  return store.write(async (tx) => {
    await insertThread(tx, { id: reference, agent: 'helper', created_at: 1, status: 'completed' })
    for (let report = 1; report <= LIMITS.invocationsPerChild; report += 1)
      await insertOperation(tx, {
        ...{ thread_id: reference, id: reportOperationId(report), kind: 'report', state: 'finished' },
        ...{ attempt: 1, started_at: 1, detail: { invocations: [`call_1_${report}_0`] } },
        answer: { type: 'delivered', kind: 'result', messageId: `${'m'.repeat(36)}` },
      })
  })
}
