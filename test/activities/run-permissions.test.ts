import { describe, expect, test } from 'vitest'
import { callModel } from '../../src/activities/turn/call-model.js'
import type { CallModelInput, DrainItem } from '../../src/protocol/activities.js'
import { stageMessage } from '../../src/store/messages/message-writes.js'
import { narrowRun, rulesOfWaiting } from '../../src/store/threads/run-permissions.js'
import { findRun, insertRun } from '../../src/store/threads/runs.js'
import type { Store } from '../../src/store/store.js'
import { scriptedModel } from '../../src/testing/index.js'
import { attempt, drainOf, modelInput, NOW, withDesk } from './activity-desk.js'
import { withSubagents } from './children-desk.js'
import { withBoss } from './exposure-desk.js'
import type { BossDesk } from './exposure-desk.js'
import { addChild, deliver, endSession } from './family.js'

const RULES = { 'orders.*': 'deny' } as const

const rulesOf = async (store: Store, number: number) =>
  (await store.read((db) => findRun(db, { threadId: 't', number })))?.permissions

/** A message that brings rules. */
async function sendRuled({ store }: Pick<BossDesk, 'store'>, id: string): Promise<readonly DrainItem[]> {
  const draft = { id, threadId: 't', role: 'user', content: id, createdAt: NOW, sentBy: 'client' } as const
  await store.write((tx) => stageMessage(tx, { ...draft, digest: id, brings: { permissions: RULES } }))
  return drainOf([id])
}

describe('the rules of a message', () => {
  test('bind the immediate subagents of the run that it begins', () =>
    withBoss({ tools: [{ name: 'helper', immediate: true }] }, async (desk) => {
      const drain = await sendRuled(desk, 'ruled')
      expect(await desk.activate({ drain })).toMatchObject({ type: 'activates' })
      // It is not drained yet.
      expect(await rulesOf(desk.store, 1)).toEqual(RULES)
    }))

  test('bind the run that answers it after a Temporal reset has repeated a finished step with it', () =>
    withBoss({ chat: scriptedModel([{ text: 'One.' }, { text: 'Two.' }]), tools: [] }, async (desk) => {
      const answer = await desk.step()
      const drain = await sendRuled(desk, 'ruled')
      expect(await desk.step({ drain })).toMatchObject({
        ...{ type: answer.type, operations: [{ kind: 'postpone_messages', ids: ['ruled'] }] },
      })
      await desk.step({ drain: [], run: 2, trigger: 'continue', asked: true })
      expect(await rulesOf(desk.store, 2)).toEqual(RULES)
    }))
})

describe('what tells of the end of subagents brings the rules of the run that started them', () => {
  async function rulesOfNext(of: (children: Awaited<ReturnType<typeof started>>) => readonly DrainItem[]) {
    let rules: unknown
    await withSubagents({}, async (desk) => {
      const children = await started(desk)
      await desk.store.write((tx) => narrowRun(tx, { threadId: 't', number: 1 }, [RULES]))
      const input = { ...modelInput({ drain: of(children) }), agent: 'lead', run: 2, trigger: 'report' }
      await attempt().run((given: CallModelInput) => callModel(desk.dependencies, given), input)
      rules = await rulesOf(desk.store, 2)
    })
    return rules
  }

  const started = (desk: Parameters<Parameters<typeof withSubagents>[1]>[0]) =>
    desk.children('crew', { items: [{ task: 'x', label: 'A' }] })

  test('a group', async () => {
    expect(await rulesOfNext(({ input }) => [{ kind: 'group', id: input.callId }])).toEqual(RULES)
  })

  test('a subagent that closed without a report', async () => {
    const closed = { kind: 'child_closed', id: 'closed', status: 'terminated' } as const
    expect(
      await rulesOfNext(({ children }) => [{ ...closed, reference: children[0]?.reference ?? '' }]),
    ).toEqual(RULES)
  })
})

test('a report brings the rules of the run that it reports of', () =>
  withDesk({}, async ({ store, dependencies }) => {
    await addChild(store)
    await endSession(store)
    await store.write(async (tx) => {
      await insertRun(tx, { thread_id: 'c', number: 1, trigger_kind: 'message', started_at: NOW })
      await narrowRun(tx, { threadId: 'c', number: 1 }, [RULES])
    })
    const answer = await deliver(dependencies)
    if (answer.type !== 'delivered' || answer.messageId === null) throw new Error('Expected a message.')
    const ids = [answer.messageId]
    expect(await store.read((db) => rulesOfWaiting(db, 't', ids))).toEqual([RULES])
  }))
