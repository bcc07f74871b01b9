import { describe, expect, test } from 'vitest'
import { prepareChild } from '../../src/activities/subagents/prepare-child.js'
import type { CallModelAnswer, CallModelInput, PrepareChildInput } from '../../src/protocol/activities.js'
import { fact } from '../../src/protocol/facts.js'
import { findToolCall } from '../../src/store/calls/tool-calls.js'
import { findRun } from '../../src/store/threads/runs.js'
import { scriptedModel } from '../../src/testing/index.js'
import { attempt, drainOf, failureOf, modelInput, runModel } from './activity-desk.js'
import { RESUMABLE, text, withBoss } from './exposure-desk.js'
import type { BossDesk } from './exposure-desk.js'

const HELPER = { name: 'helper', immediate: true }
const silent = () => scriptedModel([])

/** What the calls of an activation say. */
async function argumentsOf(desk: BossDesk, answer: CallModelAnswer): Promise<readonly unknown[]> {
  if (answer.type !== 'activates') throw new Error(`Expected an activation, got ${answer.type}.`)
  const rows = await desk.store.read((db) =>
    Promise.all(answer.calls.map(({ id }) => findToolCall(db, 't', id))),
  )
  return rows.map((row): unknown => JSON.parse(row?.arguments ?? 'null'))
}

const stagedRows = ({ store }: BossDesk) =>
  store.read((db) =>
    db
      .selectFrom('messages')
      .select(['role', 'side', 'position', 'metadata', 'sent_by'])
      .where('tool_calls', 'is not', null)
      .execute(),
  )

/** As the workflow runs the only call of an activation. */
function preparing(
  answer: CallModelAnswer,
): Omit<PrepareChildInput, keyof CallModelInput> & { readonly plan: string } {
  if (answer.type !== 'activates') throw new Error(`Expected an activation, got ${answer.type}.`)
  const [call] = answer.calls
  if (call === undefined) throw new Error('Expected a call.')
  return {
    ...{ plan: answer.plan?.digest ?? '', callId: call.id, name: call.name, queued: true, promptPath: [] },
    ...{
      depth: 0,
      handedOff: false,
      sideSteps: { a: 0, b: 0 },
      first: true,
      last: true,
      children: 0,
      open: 0,
    },
  }
}

const placed = async (desk: BossDesk) =>
  (await desk.transcript()).filter(({ position }) => position !== null).map(({ content }) => content)

const eventTypes = async (desk: BossDesk) => (await desk.events()).map(({ type }) => type)

describe('a prompt that becomes active', () => {
  test('SA-A-07.6a calls its subagent before anything is drained', () => {
    const chat = silent()
    return withBoss({ chat, tools: [HELPER] }, async (desk) => {
      const facts = [fact('thread.updated', { status: 'running' })]
      const answer = await desk.activate({ facts })
      const id = expect.stringMatching(/^immediate_1_1_a[0-9a-f]{8}_0$/) as string
      expect(answer).toEqual({
        type: 'activates',
        plan: expect.objectContaining({ agent: 'clerk' }) as unknown,
        calls: [{ id, name: 'helper', tool: { kind: 'subagent', agent: 'helper' } }],
      })
      expect(await argumentsOf(desk, answer)).toEqual([{}])
      expect(await stagedRows(desk)).toEqual([
        {
          role: 'assistant',
          side: 'a',
          position: null,
          metadata: JSON.stringify({ queued: true, immediate: true }),
          sent_by: 'runtime',
        },
      ])
      expect(await placed(desk)).toEqual([])
      expect(await eventTypes(desk)).toEqual(['thread.updated', 'run.started'])
      expect(await desk.store.read((db) => findRun(db, { threadId: 't', number: 1 }))).not.toBeNull()
      expect(chat.requests).toEqual([])
    })
  })

  test('T4 answers a retry and the step behind it each on its own', () => {
    const chat = scriptedModel([{ text: 'Well.' }])
    return withBoss({ chat, tools: [HELPER] }, async (desk) => {
      const answer = await desk.activate()
      expect(await desk.activate()).toEqual(answer)
      expect(await stagedRows(desk)).toHaveLength(1)
      const plan = answer.type === 'activates' ? (answer.plan?.digest ?? '') : ''
      const answered = await desk.step({ trigger: null, plan, knownPlan: plan })
      expect(answered).toMatchObject({ type: 'answered', text: true, calls: [] })
      expect(await placed(desk)).toEqual(['Hello?', 'Well.'])
      expect((await eventTypes(desk)).filter((type) => type === 'run.started')).toHaveLength(1)
    })
  })

  test('SA-A-07.6b calls those of the agent that takes over', () =>
    withBoss({ tools: [HELPER] }, async (desk) => {
      const first = await desk.activate()
      const pair = await desk.activate({ agent: 'pair', side: 'b', plan: null, trigger: null })
      expect(pair).toMatchObject({ type: 'activates', calls: [{ name: 'helper' }] })
      expect(JSON.stringify(pair)).not.toContain(first.type === 'activates' ? first.calls[0]?.id : undefined)
      expect(await eventTypes(desk)).toContain('thread.updated')
      expect((await stagedRows(desk)).map(({ role, side }) => [role, side])).toEqual([
        ['assistant', 'a'],
        ['user', 'b'],
      ])
    }))

  test('SA-A-07.7a creates an instance of one that stays', () =>
    withBoss({ tools: [{ ...HELPER, ...RESUMABLE }] }, async (desk) => {
      const answer = await desk.activate()
      expect(answer).toMatchObject({
        calls: [{ name: 'subagent_create', tool: { kind: 'subagent_create' } }],
      })
      const created = { agent: 'helper', name: 'The helper', message: 'Begin.', attachments: [] }
      expect(await argumentsOf(desk, answer)).toEqual([created])
    }))

  test.each([
    ['by its own name', {}],
    ['as an instance that stays', RESUMABLE],
    ['in a fan-out', { fanOut: true }],
  ])('SA-R-07.3c a staged call starts its child %s', (_title, entry) =>
    withBoss({ tools: [{ ...HELPER, ...entry }] }, async (desk) => {
      const answer = await desk.activate()
      const input = { ...modelInput(), ...preparing(answer) }
      const prepared = await attempt().run(
        (given: typeof input) => prepareChild(desk.dependencies, given),
        input,
      )
      expect(prepared).toMatchObject({ type: 'children', children: [{ agent: 'helper' }], blocking: true })
    }),
  )

  test('a fan-out begins with one item', () =>
    withBoss({ tools: [{ ...HELPER, fanOut: true }] }, async (desk) => {
      expect(await argumentsOf(desk, await desk.activate())).toEqual([{ items: [{}] }])
    }))

  test.each([
    ['that are off', { ...HELPER, optional: 'HELP' }, 0],
    [
      'of which there are enough',
      { ...HELPER, resumable: { receives_messages: 'side_a', maxInstances: 1 } },
      1,
    ],
    ['that wait to be called', { name: 'helper' }, 0],
  ])('SA-A-07.5b goes on without subagents %s', (_title, entry, children) => {
    const chat = scriptedModel([{ text: 'Well.' }])
    return withBoss({ chat, tools: [entry], variables: [text('HELP')] }, async (desk) => {
      if (children > 0) await desk.child({ reference: 'r1' })
      expect(await desk.activate()).toMatchObject({ type: 'answered' })
      expect(await stagedRows(desk)).toEqual([])
    })
  })

  test('is not active while it lacks a variable', () => {
    const missing = { ...text('CITY'), required: true }
    return withBoss({ tools: [HELPER], variables: [missing] }, async (desk) => {
      expect(await desk.activate()).toMatchObject({ type: 'end', outcome: 'blocked' })
      expect(await stagedRows(desk)).toEqual([])
      await desk.give({ CITY: 'Rome' })
      expect(await desk.activate({ run: 2, trigger: 'variables' })).toMatchObject({ type: 'activates' })
      const resolved = (await desk.events()).filter(({ type }) => type === 'action.resolved')
      expect(resolved.map(({ payload }) => payload['decision'])).toEqual(['supplied'])
    })
  })

  test('T8 calls nothing in a terminated thread', () =>
    withBoss({ tools: [HELPER] }, async (desk) => {
      await desk.store.write((tx) => tx.updateTable('threads').set({ terminate_requested_at: 1 }).execute())
      expect(await desk.activate()).toEqual({ type: 'terminated' })
      expect(await stagedRows(desk)).toEqual([])
    }))

  test('T2 an attempt that died is gone on with', () =>
    withBoss({ tools: [HELPER] }, async (desk) => {
      const store = { ...desk.store, write: dyingAt(2) }
      const input = modelInput({ activated: false, drain: drainOf(['m1']) })
      await failureOf(runModel({ ...desk.dependencies, store }, input))
      expect(await desk.activate()).toMatchObject({ type: 'activates', calls: [{ name: 'helper' }] })
      expect(await eventTypes(desk)).toEqual(['run.started'])

      function dyingAt(number: number): typeof desk.store.write {
        let writes = 0
        return (work) => {
          writes += 1
          return writes >= number ? Promise.reject(new Error('The worker died.')) : desk.store.write(work)
        }
      }
    }))
})
