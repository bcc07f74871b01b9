import { setTimeout as sleep } from 'node:timers/promises'

import { ActivityCancellationDetails } from '@temporalio/common'
import { describe, expect, test } from 'vitest'
import { fact, phaseFact } from '../../src/protocol/facts.js'
import type { Store } from '../../src/store/store.js'
import { findRun } from '../../src/store/threads/runs.js'
import { insertNews, insertStop } from '../../src/store/threads/stops.js'
import { scriptedModel } from '../../src/testing/index.js'
import { RULES } from '../../src/thread/ahead.js'
import { createGate } from '../support/gate.js'
import { untilAborted } from '../support/until-aborted.js'
import { until } from '../support/until.js'
import { attempt, failingStore, NOW } from './activity-desk.js'
import { runSettle, settleInput } from './settle-desk.js'
import { success } from './tool-outcomes.js'
import {
  AHEAD,
  holdStore,
  WORKS,
  LONGEST,
  works,
  withAhead,
  pairsOf,
  idsOf,
  typesOf,
  tool,
  model,
} from './ahead-desk.js'

describe('an activity goes on', () => {
  test('by default only to the end of its run', async () => {
    const chat = works(0)
    await withAhead({ chat, steps: 0 }, async (desk) => {
      const answer = await desk.go()
      expect(idsOf(answer)).toEqual(['settle_1'])
      expect(await desk.store.read((db) => findRun(db, { threadId: 't', number: 1 }))).toMatchObject({
        reason: 'stop_on_response',
        steps: 1,
      })
    })
  })

  test('by default to no tool', () =>
    withAhead({ chat: works(1), steps: 0 }, async (desk) => {
      expect(await desk.go()).toMatchObject({ type: 'answered', calls: [{ name: 'work' }] })
      expect(await desk.operation(tool(1))).toBeNull()
    }))

  test('through its steps to the end of the run, in the order of the workflow', () =>
    withAhead({ chat: works(2) }, async (desk) => {
      const answer = await desk.go()
      expect(idsOf(answer)).toEqual([tool(1), model(2), tool(2), model(3), 'settle_1'])
      expect(typesOf(answer)).toEqual(['result', 'answered', 'result', 'answered', 'settled'])
      const times = pairsOf(answer).map(({ at }) => at)
      expect(times).toEqual(times.toSorted((one, other) => one - other))
      expect(times[0]).toBeGreaterThanOrEqual(NOW)
      expect((await desk.told('run.completed')).length).toBe(1)
      // A second attempt answers from the rows.
      expect(idsOf(await desk.go())).toEqual(idsOf(answer))
      expect((await desk.told('run.completed', 'tool.started')).length).toBe(3)
    }))

  test('not where the workflow has other rules', () =>
    withAhead({ chat: works(1) }, async (desk) => {
      const ahead = { ...AHEAD, rules: RULES + 1 }
      const answer = await desk.go({}, attempt(LONGEST), { ...desk.input, ahead })
      expect(idsOf(answer)).toEqual([])
    }))
})

describe('an activity ends', () => {
  test('with its last step, tools included', async () => {
    const chat = works(9)
    await withAhead({ chat, steps: 3 }, async (desk) => {
      expect(idsOf(await desk.go())).toEqual([tool(1), model(2), tool(2), model(3), tool(3)])
      expect(chat.requests).toHaveLength(3)
    })
  })

  test('T3 before a model call where a message waits in the store', async () => {
    const chat = works(9)
    const parts = { chat, work: () => success('done') }
    await withAhead(parts, async (desk) => {
      const registry = desk.with({
        chat,
        work: async () => {
          if (chat.requests.length === 2) await desk.send('And this.')
          return success('done')
        },
      }).registry
      expect(idsOf(await desk.go({ registry }))).toEqual([tool(1), model(2), tool(2)])
    })
  })

  test('T3 before a model call where an item without a row waits for it', async () => {
    const chat = works(9)
    await withAhead({ chat }, async (desk) => {
      const { registry } = desk.with({
        chat,
        work: async () => {
          // Of another activity: nothing happens.
          const operation = chat.requests.length === 1 ? 'model_1_7' : 'model_1_1'
          if (chat.requests.length < 3)
            await desk.store.write((tx) => insertNews(tx, { threadId: 't', run: 1, operation }))
          return success('done')
        },
      })
      expect(idsOf(await desk.go({ registry }))).toEqual([tool(1), model(2), tool(2)])
    })
  })

  test('T8 where a stop is stored', async () => {
    const chat = works(9)
    await withAhead({ chat }, async (desk) => {
      const { registry } = desk.with({
        chat,
        work: async (state, args, call) => {
          if (chat.requests.length < 2) return success('done')
          await desk.store.write((tx) => insertStop(tx, { threadId: 't', run: 1 }))
          return untilAborted(state, args, call)
        },
      })
      const answer = await desk.go({ registry })
      expect(idsOf(answer)).toEqual([tool(1), model(2), tool(2)])
      expect(pairsOf(answer).at(-1)?.answer).toMatchObject({ outcome: 'interrupted' })
    })
  })

  test('before a model call where its worker may do no more steps', () => {
    const chat = works(9)
    return withAhead({ chat }, async (desk) => {
      const mayRunAhead = (next: string) => next === 'executeTool' || chat.requests.length < 3
      expect(idsOf(await desk.go({ mayRunAhead }))).toEqual([tool(1), model(2), tool(2), model(3), tool(3)])
    })
  })

  test('its worker may do no more steps, and still stores the end of the run', () =>
    withAhead({ chat: works(0) }, async (desk) => {
      expect(idsOf(await desk.go({ mayRunAhead: () => false }))).toEqual(['settle_1'])
    }))

  test('before an action that could outlast its own time', () =>
    withAhead({ chat: works(1) }, async (desk) => {
      expect(idsOf(await desk.go({}, attempt({ startToCloseTimeoutMs: 1000 })))).toEqual([])
    }))

  test('T6 where its answer has enough bytes', () =>
    withAhead({ chat: works(200), steps: 300 }, async (desk) => {
      const answer = await desk.go()
      const bytes = JSON.stringify(pairsOf(answer)).length
      expect(bytes).toBeGreaterThan(12_000)
      expect(bytes).toBeLessThan(12_500)
      expect(pairsOf(answer).length).toBeLessThan(200)
    }))

  test('before a call that waits for a person', () =>
    withAhead(
      { chat: scriptedModel([{ toolCalls: [{ name: 'pay', args: { amount: 1 } }] }]) },
      async (desk) => {
        const answer = await desk.go()
        expect([idsOf(answer), typesOf(answer)]).toEqual([[tool(1)], ['pending']])
      },
    ))
})

describe('an action that fails', () => {
  test('leaves a mark in the place of its answer, and what was done before', async () => {
    const pays = { toolCalls: [{ name: 'pay', args: { amount: 1 } }] }
    const chat = scriptedModel(() => (chat.requests.length === 1 ? WORKS : pays))
    let isBroken = false
    // Not with the answer: the code of a user comes before it begins.
    const needsApproval = async () => ((isBroken = true), await sleep(20), false)
    await withAhead({ chat, needsApproval }, async (desk) => {
      const store: Store = failingStore(desk.store, (write) => isBroken && write > 0)
      const answer = await desk.go({ store })
      expect(idsOf(answer)).toEqual([tool(1), model(2), tool(2)])
      expect(typesOf(answer)).toEqual(['result', 'answered', 'no_answer'])
      expect(chat.requests).toHaveLength(2)
    })
  })

  test('of its own fails the activity', () =>
    withAhead({ chat: works(9) }, async (desk) => {
      const store: Store = failingStore(desk.store, () => true)
      await expect(desk.go({ store })).rejects.toThrow('The disk is full.')
    }))
})

describe('a later attempt', () => {
  const first = () => attempt({ ...LONGEST, currentAttemptScheduledTimestampMs: NOW })
  const second = () => attempt({ ...LONGEST, attempt: 2, currentAttemptScheduledTimestampMs: NOW + 31_000 })

  test('T4 finishes a model call that was begun before news and bounds', async () => {
    const gate = createGate()
    const chat = scriptedModel(async () => {
      if (chat.requests.length === 2) await gate.passed
      return WORKS
    })
    await withAhead({ chat, steps: 2 }, async (desk) => {
      const cut = first()
      const running = desk.go({}, cut)
      await until('the second request', () => chat.requests.length === 2)
      cut.cancel('WORKER_SHUTDOWN', new ActivityCancellationDetails({ workerShutdown: true }))
      expect(typesOf(await running)).toEqual(['result', 'no_answer'])
      await desk.send('And this.')
      const news = { threadId: 't', run: 1, operation: model(1) }
      await desk.store.write((tx) => insertNews(tx, news))
      const answer = await desk.go({ mayRunAhead: (next) => next === 'executeTool' }, second())
      expect(idsOf(answer)).toEqual([tool(1), model(2), tool(2)])
      expect(typesOf(answer)).toEqual(['result', 'answered', 'result'])
      expect(await desk.told('tool.started')).toHaveLength(2)
      gate.open()
    })
  })

  test('T1 takes a tool over, and the first one begins nothing behind it', async () => {
    const gate = createGate()
    const chat = works(9)
    let calls = 0
    const work = async () => ((calls += 1), await gate.passed, success('done'))
    await withAhead({ chat, work }, async (desk) => {
      const running = desk.go({}, first())
      await until('the tool', () => calls === 1)
      const later = await desk.go({ mayRunAhead: (next) => next === 'executeTool' }, second())
      expect(pairsOf(later)).toMatchObject([{ id: tool(1), answer: { outcome: 'unknown' } }])
      gate.open()
      const answer = await running
      expect(pairsOf(answer)).toMatchObject([
        { id: tool(1), answer: { outcome: 'unknown' } },
        { id: model(2), answer: { type: 'no_answer' } },
      ])
      expect([chat.requests.length, calls]).toEqual([1, 1])
      expect(await desk.operation(model(2))).toBeNull()
    })
  })

  test('T1 goes on behind what the first one has finished, which begins nothing more', async () => {
    const [held, asked] = [createGate(), createGate()]
    const chat = scriptedModel(async () => {
      if (chat.requests.length === 2) await asked.passed
      return chat.requests.length === 1 ? WORKS : { text: 'Done.' }
    })
    await withAhead({ chat }, async (desk) => {
      await desk.go({ mayRunAhead: (next) => next === 'executeTool' }, first())
      let looks = 0
      // The first attempt answers from the rows, and is held before it asks whether it may begin the next step.
      const store = holdStore(desk, { at: 'read', behind: tool(1) }, () => ((looks += 1), held.passed))
      const running = desk.go({ store }, first())
      await until('a finished tool', () => looks > 0)
      const later = desk.go({}, second())
      await until('the second request', () => chat.requests.length === 2)
      expect((await desk.operation(tool(1)))?.scheduled_at).toBe((NOW + 31_000) * 1000)
      held.open()
      expect(pairsOf(await running)).toMatchObject([
        { id: tool(1), answer: { outcome: 'succeeded' } },
        { id: model(2), answer: { type: 'no_answer' } },
      ])
      asked.open()
      expect(idsOf(await later)).toEqual([tool(1), model(2), 'settle_1'])
      expect(chat.requests).toHaveLength(2)
    })
  })

  test('T1 T8 an attempt whose run is over begins nothing more, also where there is no later one', async () => {
    const held = createGate()
    const chat = scriptedModel(() => (chat.requests.length === 1 ? WORKS : { text: 'Done.' }))
    await withAhead({ chat }, async (desk) => {
      await desk.go({ mayRunAhead: (next) => next === 'executeTool' }, first())
      let looks = 0
      // It answers from the rows, and is held before it asks whether it may begin the next step.
      const store = holdStore(desk, { at: 'read', behind: tool(1) }, () => ((looks += 1), held.passed))
      const running = desk.go({ store }, first())
      await until('a finished tool', () => looks > 0)
      // Temporal has given the activity up for good, and the workflow has ended the run.
      await runSettle(desk, settleInput({ unacknowledged: [model(1)], unacknowledgedStep: 1 }))
      held.open()
      expect(pairsOf(await running).at(-1)).toMatchObject({ id: model(2), answer: { type: 'no_answer' } })
      expect(await desk.operation(model(2))).toBeNull()
      expect(chat.requests).toHaveLength(1)
    })
  })

  test('T1 T8 an attempt whose run is over stores nothing of what it has begun', async () => {
    const asked = createGate()
    const chat = scriptedModel(async () => {
      if (chat.requests.length === 2) await asked.passed
      return chat.requests.length === 1 ? WORKS : { text: 'Done.' }
    })
    await withAhead({ chat }, async (desk) => {
      const running = desk.go({}, first())
      await until('the second request', () => chat.requests.length === 2)
      await runSettle(desk, settleInput({ unacknowledged: [model(1)], unacknowledgedStep: 1 }))
      asked.open()
      expect(pairsOf(await running)[1]).toMatchObject({ id: model(2), answer: { reason: 'interrupted' } })
      expect((await desk.transcript()).map(({ role }) => role)).toEqual(['user', 'assistant', 'tool'])
      expect(await desk.told('run.cancelled', 'run.completed')).toHaveLength(1)
    })
  })

  test('T1 stores the end of the run, and the first one stores nothing behind it', () =>
    withAhead({ chat: works(0) }, async (desk) => {
      const held = createGate()
      const ahead = { ...AHEAD, rules: RULES + 1 }
      await desk.go({}, first(), { ...desk.input, ahead })
      let waits = 0
      // The first attempt answers from the row, and is held before the transaction that stores the end of the run.
      const store = holdStore(desk, { at: 'write', behind: model(1) }, () => ((waits += 1), held.passed))
      const running = desk.go({ store }, first())
      await until('the end of the run', () => waits > 0)
      // The second one has answered with the model call, and the workflow has taken a stop meanwhile.
      const scope = { runId: 'run_1', stepId: 'step_1_1' }
      const stopped = fact('step.completed', { step: 1, reason: 'stopped' }, scope)
      const facts = [...([5, 6, 7] as const).map((phase) => phaseFact(phase, scope)), stopped]
      await runSettle(desk, settleInput({ facts, unacknowledged: [], unacknowledgedStep: 2 }))
      held.open()
      await running
      expect(await desk.told('step.completed')).toMatchObject([{ reason: 'stopped' }])
      expect(await desk.told('run.cancelled', 'run.completed')).toHaveLength(1)
    }))
})
