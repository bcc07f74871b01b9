import { describe, expect, test } from 'vitest'
import { findRun } from '../../src/store/threads/runs.js'
import { findThread, updateThread } from '../../src/store/threads/threads.js'
import { fact } from '../../src/protocol/facts.js'
import { scriptedModel } from '../../src/testing/index.js'
import { AFTER_A_MINUTE, attempt, failureOf, loggingAttempt, NOW } from './activity-desk.js'
import { withModels } from './model-desk.js'
import type { ModelDesk } from './model-desk.js'

const BEGINS = { toolFirst: true, trigger: 'tool', drain: [] } as const
const waiting = async (desk: ModelDesk): Promise<readonly unknown[]> =>
  (await desk.transcript()).map(({ content, status }) => [content, status])

describe('a model call that found nothing to do', () => {
  test('T4 is answered from its row, and the next one of its step asks the model', () => {
    const chat = scriptedModel([{ text: 'Done.' }])
    return withModels({ models: { chat: { asked: chat } } }, async (desk) => {
      const nothing = { asked: true, drain: [] }
      expect(await desk.step(nothing)).toMatchObject({ type: 'nothing_to_do' })
      expect(await desk.step(nothing)).toMatchObject({ type: 'nothing_to_do' })
      expect(chat.requests).toEqual([])
      expect(await desk.step({ asked: true, idleCalls: 1 })).toMatchObject({ type: 'answered' })
      expect((await desk.transcript()).map(({ content }) => content)).toEqual(['Hello?', 'Done.'])
    })
  })

  test('is one of a session that was archived after somebody asked it to go on', () => {
    const chat = scriptedModel([{ error: { status: 400, message: 'No.' } }, { text: 'Again.' }])
    return withModels({ models: { chat: { asked: chat } } }, async (desk) => {
      await desk.step()
      const archived = (archivedAt: number | null) =>
        desk.store.write((tx) => updateThread(tx, 't', { archived_at: archivedAt }))
      const goesOn = { run: 2, trigger: 'continue', asked: true, drain: [] }
      await archived(NOW * 1000)
      expect(await desk.step(goesOn)).toMatchObject({ type: 'nothing_to_do' })
      expect(chat.requests).toHaveLength(1)
      await archived(null)
      expect(await desk.step({ ...goesOn, run: 3 })).toMatchObject({ type: 'answered' })
    })
  })
})

describe('a run that a queued tool begins', () => {
  test('gets its row and its plan, and drains nothing', () => {
    const chat = scriptedModel([])
    return withModels({ models: { chat: { asked: chat } } }, async (desk) => {
      const facts = [fact('queue.changed', { waiting: 1 })]
      const answer = await desk.step({ ...BEGINS, facts })
      expect(answer).toMatchObject({ type: 'begun', plan: { agent: 'clerk' } })
      expect(await desk.step({ ...BEGINS, facts })).toEqual(answer)
      expect(chat.requests).toEqual([])
      expect(await waiting(desk)).toEqual([['Hello?', 'pending']])
      const run = await desk.store.read((db) => findRun(db, { threadId: 't', number: 1 }))
      expect(run).toMatchObject({ trigger_kind: 'tool' })
      expect((await desk.events()).map(({ type }) => type)).toEqual(['queue.changed', 'run.started'])
    })
  })

  test.each([null, 'tool'])('goes on with a step though nothing was said (trigger %s)', (trigger) => {
    const chat = scriptedModel([{ text: 'Done.' }])
    return withModels({ models: { chat: { asked: chat } } }, async (desk) => {
      const begun = await desk.step(BEGINS)
      const plan = begun.type === 'begun' ? (begun.plan?.digest ?? '') : ''
      const next = { plan, knownPlan: plan, trigger, asked: true, drain: [] }
      expect(await desk.step(next)).toMatchObject({ type: 'answered' })
      expect(await desk.told('run.started')).toEqual([{ trigger: 'tool' }])
    })
  })

  test('knows the plan that the thread ran last', () =>
    withModels({ models: { chat: { asked: scriptedModel([]) } } }, async (desk) => {
      const first = await desk.step(BEGINS)
      const knownPlan = first.type === 'begun' ? (first.plan?.digest ?? '') : ''
      expect(await desk.step({ ...BEGINS, run: 2, knownPlan })).toEqual({ type: 'begun' })
    }))

  test('T8 is not begun in a terminated thread', () =>
    withModels({ models: { chat: { asked: scriptedModel([]) } } }, async (desk) => {
      await desk.store.write((tx) => tx.updateTable('threads').set({ terminate_requested_at: 1 }).execute())
      expect(await desk.step(BEGINS)).toEqual({ type: 'terminated' })
      expect(await desk.events()).toEqual([])
    }))

  test('waits a minute for an agent that its worker lacks', () =>
    withModels({ models: { chat: { asked: scriptedModel([]) } } }, async (desk) => {
      const { environment, logged } = loggingAttempt()
      // Its own name: files of tests share a process, whose log names a missing agent once.
      const failed = await failureOf(desk.step({ ...BEGINS, agent: 'absent' }, environment))
      expect(failed).toMatchObject({ type: 'Definition.Missing', nonRetryable: false })
      expect(logged[0]).toContain('does not have the agent "absent"')
      // E4: the SDK says no more of it, and ours is not said again with each attempt.
      expect(failed).toMatchObject({ category: 'BENIGN' })
      await failureOf(desk.step({ ...BEGINS, agent: 'absent' }, environment))
      expect(logged).toHaveLength(1)
    }))

  test('ends when no worker has had its agent for a minute', () =>
    withModels({ models: { chat: { asked: scriptedModel([]) } } }, async (desk) => {
      const answer = await desk.step({ ...BEGINS, agent: 'nobody' }, attempt(AFTER_A_MINUTE))
      expect(answer).toEqual({ type: 'end', reason: 'definition_missing', outcome: 'failed' })
      expect(await desk.told('run.started')).toHaveLength(1)
    }))
})

describe('an agent that took the thread over', () => {
  test('is the thread’s own from its first step', () => {
    const chat = scriptedModel([{ text: 'one' }, { text: 'two' }])
    return withModels({ models: { chat: { asked: chat } } }, async (desk) => {
      const first = await desk.step()
      const knownPlan = first.type === 'answered' ? (first.plan?.digest ?? '') : ''
      expect(await desk.told('thread.updated')).toEqual([])
      const handed = { step: 2, agent: 'successor', plan: null, knownPlan, trigger: null, drain: [] }
      expect(await desk.step(handed)).toMatchObject({ type: 'answered', plan: { agent: 'successor' } })
      expect(await desk.store.read((db) => findThread(db, 't'))).toMatchObject({ agent: 'successor' })
      expect(await desk.told('thread.updated')).toEqual([{ agent: 'successor', status: 'running' }])
      await desk.step(handed)
      expect(await desk.told('thread.updated')).toHaveLength(1)
    })
  })
})
