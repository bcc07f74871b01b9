import { describe, expect, test } from 'vitest'
import { sideCompletedFact } from '../../src/thread/facts.js'
import { fact } from '../../src/protocol/facts.js'
import { appendEvents } from '../../src/store/events.js'
import { findRun } from '../../src/store/threads/runs.js'
import { findThread } from '../../src/store/threads/threads.js'
import { modelInput, NOW, withDesk } from './activity-desk.js'
import { CLOSE, END, runSettle, settleInput, USAGE } from './settle-desk.js'
import { success } from './tool-outcomes.js'
import { works, withAhead, tool } from './ahead-desk.js'
import type { AheadDesk } from './ahead-desk.js'

describe('a settle of a run whose activity nobody heard of', () => {
  const run = (desk: AheadDesk) => desk.store.read((db) => findRun(db, { threadId: 't', number: 1 }))
  /** The workflow knows the first step only. */
  const known = { unacknowledged: [tool(1)], unacknowledgedStep: 2 }

  test('T9 counts its steps and usage, and returns what its tools have done', async () => {
    const chat = works(9)
    await withAhead({ chat, steps: 3 }, async (desk) => {
      const { registry } = desk.with({
        chat,
        work: async (state) => {
          if (chat.requests.length === 3) await state.queueMessage({ role: 'user', content: 'More.' })
          return success('done')
        },
      })
      await desk.go({ registry })
      const answer = await runSettle(desk, settleInput({ ...known, end: { ...END, usage: USAGE } }))
      expect(answer).toMatchObject({
        ended: { reason: 'stopped', steps: 3 },
        operations: [{ kind: 'queue_message', role: 'user' }],
      })
      const ended = await run(desk)
      expect(ended).toMatchObject({ reason: 'stopped', outcome: 'cancelled', steps: 3 })
      expect(ended?.usage?.inputTokens).toBeGreaterThan(USAGE.inputTokens)
      // A settle that is asked for again has the same answer.
      expect(await runSettle(desk, settleInput({ ...known, end: END }))).toMatchObject({
        ended: { steps: 3 },
      })
    })
  })

  test('T9 leaves the end that it has stored', () =>
    withAhead({ chat: works(1) }, async (desk) => {
      await desk.go()
      const answer = await runSettle(desk, settleInput(known))
      expect(answer).toMatchObject({ ended: { reason: 'stop_on_response', steps: 2 } })
      expect(await run(desk)).toMatchObject({ reason: 'stop_on_response', outcome: 'completed', steps: 2 })
      expect(await desk.told('run.cancelled')).toEqual([])
      expect(await desk.told('run.completed')).toHaveLength(1)
    }))

  test('T8 closes the thread behind the end that it has stored', () =>
    withAhead({ chat: works(1) }, async (desk) => {
      await desk.go()
      const answer = await runSettle(desk, settleInput({ ...known, close: CLOSE }))
      expect(answer).toMatchObject({ ended: { reason: 'stop_on_response', steps: 2 } })
      const thread = await desk.store.read((db) => findThread(db, 't'))
      expect(thread?.closed_at).toBe((NOW + 5) * 1000)
      expect(await desk.told('thread.closed')).toHaveLength(1)
      expect(await run(desk)).toMatchObject({ reason: 'stop_on_response' })
    }))
})

test('T4 a model call that was made ahead is answered with its plan, which a handoff made the workflow forget', () =>
  withAhead({ chat: works(3) }, async (desk) => {
    const first = await desk.go()
    const plan = 'plan' in first ? first.plan : undefined
    expect(plan).toBeDefined()
    const again = { step: 2, trigger: null, sideStarts: false, knownPlan: null } as const
    expect(await desk.go({}, undefined, modelInput(again))).toMatchObject({ type: 'answered', plan })
    const known = { ...again, knownPlan: plan?.digest ?? null, plan: plan?.digest ?? null }
    expect(await desk.go({}, undefined, modelInput(known))).not.toHaveProperty('plan')
  }))

describe('the turn under way, of which another attempt has stored more than the workflow knows', () => {
  const of = (step: number) => ({ runId: 'run_1', stepId: `step_1_${step}` })
  const begins = (side: 'a' | 'b', step: number) => fact('side.started', { side, label: null }, of(step))
  const ends = (step: number) => sideCompletedFact(of(step), 'a', 'stop_on_response')
  /** As the workflow says it at a stop: it knows that the turn of side a is under way. */
  const stopped = sideCompletedFact({ runId: 'run_1' }, 'a', 'stopped')

  test.each([
    ['the same turn', [begins('a', 1)], ['a stopped']],
    ['the next turn', [begins('a', 1), ends(1), begins('b', 2)], ['a stop_on_response', 'b stopped']],
    ['the end of the turn', [begins('a', 1), ends(1)], ['a stop_on_response']],
    ['nothing', [], ['a stopped']],
    [
      'an end that the workflow says, too, and the next turn',
      [begins('a', 1), ends(1), begins('b', 2)],
      ['a stop_on_response', 'b stopped'],
      ends(1),
    ],
  ] as const)('T9 %s is stored: each turn that began ends once', (_, facts, expected, said = stopped) =>
    withDesk({}, async (desk) => {
      await desk.store.write((tx) => appendEvents(tx, { threadId: 't', events: facts, now: NOW * 1000 }))
      await runSettle(desk, settleInput({ facts: [said], unacknowledged: [] }))
      const told = await desk.told('side.completed')
      expect(told.map(({ side, reason }) => `${String(side)} ${String(reason)}`)).toEqual(expected)
    }),
  )
})
