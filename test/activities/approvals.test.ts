import { describe, expect, test } from 'vitest'
import { executeTool } from '../../src/activities/tool/execute-tool.js'
import type { ExecuteToolInput } from '../../src/protocol/activities.js'
import { findError } from '../../src/store/errors.js'
import { findOperation } from '../../src/store/operations.js'
import { createGate } from '../support/gate.js'
import { until } from '../support/until.js'
import { attempt, NOW, withDesk } from './activity-desk.js'
import type { ActivityDesk } from './activity-desk.js'
import type { DeskParts } from './desk-registry.js'
import { lastResult, storedValue } from './tool-outcomes.js'

const ASKED = {
  type: 'pending',
  requestId: 'approval_call_1_1_0',
  kind: 'approval',
  status: 'waiting_permission',
  next: 'execute',
}

function counting(more: DeskParts = {}): DeskParts & { runs: number } {
  const parts = {
    ...more,
    runs: 0,
    work: () => ({ status: 'success', result: `paid ${(parts.runs += 1)}` }),
  }
  return parts
}

function answered(input: ExecuteToolInput, requestId = ASKED.requestId): ExecuteToolInput {
  return { ...input, response: { requestId } }
}

const operation = (desk: ActivityDesk, { callId }: ExecuteToolInput) =>
  desk.store.read((db) => findOperation(db, 't', callId))
const types = async (desk: ActivityDesk) =>
  (await desk.events())
    .map(({ type }) => type)
    .filter((type) => /^(tool\.(started|result)|action\..*)$/.test(type))

describe('a call that needs approval', () => {
  test('waits before anything of it has begun', () => {
    const parts = counting()
    return withDesk(parts, async (desk) => {
      const input = await desk.call('pay', { amount: 70 })
      expect(await desk.run(input)).toEqual(ASKED)
      expect(parts.runs).toBe(0)
      expect(await operation(desk, input)).toMatchObject({ state: 'waiting' })
      expect(await desk.request(ASKED.requestId)).toMatchObject({
        kind: 'approval',
        status: 'open',
        call_id: input.callId,
        tool_name: 'pay',
        requested_at: NOW * 1000,
      })
      expect(await desk.told('action.required')).toEqual([
        { requestId: ASKED.requestId, kind: 'approval', toolName: 'pay' },
      ])
      expect(await desk.told('tool.started')).toEqual([])
    })
  })

  test('AR-ID.9 AR-EC.10 runs once it is approved', () => {
    const parts = counting()
    return withDesk(parts, async (desk) => {
      const input = await desk.call('pay', { amount: 70 })
      await desk.run(input)
      await desk.decide(ASKED.requestId, { approved: true, by: 'ben' })
      expect(await desk.run(answered(input))).toEqual({ type: 'result', outcome: 'succeeded' })
      expect(parts.runs).toBe(1)
      expect(await types(desk)).toEqual(['action.required', 'action.resolved', 'tool.started', 'tool.result'])
      expect(await desk.told('action.required')).toMatchObject([{ requestId: ASKED.requestId }])
      expect(await desk.told('action.resolved')).toEqual([
        { requestId: ASKED.requestId, kind: 'approval', decision: 'approved', by: 'ben' },
      ])
    })
  })

  test('is at its first attempt when it is approved', () => {
    const attempts: number[] = []
    const work: DeskParts['work'] = (_state, _args, { attempt: number }) => {
      attempts.push(number)
      return { status: 'success' }
    }
    return withDesk({ work }, async (desk) => {
      const input = await desk.call('pay', { amount: 70 })
      await desk.run(input)
      await desk.decide(ASKED.requestId, { approved: true })
      await desk.run(answered(input))
      expect(attempts).toEqual([1])
    })
  })

  test('PL-AP.3 reads the reason when it is denied', () => {
    const parts = counting()
    return withDesk(parts, async (desk) => {
      const input = await desk.call('pay', { amount: 70 })
      await desk.run(input)
      await desk.decide(ASKED.requestId, { approved: false, reason: 'Too much.', by: 'ben' })
      expect(await desk.run(answered(input))).toEqual({ type: 'result', outcome: 'denied' })
      expect(parts.runs).toBe(0)
      const row = await lastResult(desk)
      expect(row).toMatchObject({ tool_status: 'error' })
      expect(row?.content).toContain('Too much.')
      expect(await desk.told('tool.result')).toEqual([
        {
          ...{ name: 'pay', outcome: 'denied', errorCode: 'denied' },
          failure: { category: 'permission', isRetryable: false },
        },
      ])
      expect(await types(desk)).toEqual(['action.required', 'action.resolved', 'tool.result'])
    })
  })

  test.each([
    [true, 'succeeded', 'approved'],
    [false, 'denied', 'denied'],
  ])('a bare update that says %s decides by cli', (approved, outcome, decision) =>
    withDesk(counting(), async (desk) => {
      const input = await desk.call('pay', { amount: 70 })
      await desk.run(input)
      const response = { requestId: ASKED.requestId, approved }
      expect(await desk.run({ ...input, response })).toMatchObject({ outcome })
      expect(await desk.request(ASKED.requestId)).toMatchObject({ approved, answered_by: 'cli' })
      expect(await desk.told('action.resolved')).toMatchObject([{ decision, by: 'cli' }])
    }),
  )

  test('the row decides, whatever the update says', () =>
    withDesk(counting(), async (desk) => {
      const input = await desk.call('pay', { amount: 70 })
      await desk.run(input)
      await desk.decide(ASKED.requestId, { approved: false })
      const response = { requestId: ASKED.requestId, approved: true }
      expect(await desk.run({ ...input, response })).toMatchObject({ outcome: 'denied' })
    }))

  test('AR-VA.4 words in the conversation approve nothing', () => {
    const parts = counting()
    return withDesk(parts, async (desk) => {
      const input = await desk.call('pay', { amount: 70 })
      await desk.run(input)
      await desk.send('approved', 'yes, do it')
      expect(await desk.run(input)).toEqual(ASKED)
      expect(await desk.run(answered(input))).toEqual(ASKED)
      expect(parts.runs).toBe(0)
    })
  })

  test('asks again when the arguments are others', () => {
    const parts = counting()
    return withDesk(parts, async (desk) => {
      const input = await desk.call('pay', { amount: 70 })
      await desk.run(input)
      await desk.decide(ASKED.requestId, { approved: true, by: 'ben' })
      await desk.store.write((tx) =>
        tx.updateTable('tool_calls').set({ arguments: '{"amount":900}' }).execute(),
      )
      const again = `${ASKED.requestId}_2`
      const first = await desk.run(answered(input))
      expect(first).toEqual({ ...ASKED, requestId: again })
      expect(parts.runs).toBe(0)
      expect(await types(desk)).toEqual(['action.required', 'action.resolved', 'action.required'])
      expect(await desk.run(answered(input))).toEqual(first)
      expect(await types(desk)).toHaveLength(3)
      await desk.decide(again, { approved: true })
      expect(await desk.run(answered(input, again))).toMatchObject({ outcome: 'succeeded' })
    })
  })

  test('PL-AP.7 arguments that fit no more after the approval are refused', () => {
    const parts = counting()
    return withDesk(parts, async (desk) => {
      const input = await desk.call('pay', { amount: 70 })
      await desk.run(input)
      await desk.decide(ASKED.requestId, { approved: true })
      const text = '{ "amount": "much" }'
      await desk.store.write((tx) => tx.updateTable('tool_calls').set({ arguments: text }).execute())
      expect(await desk.run(answered(input))).toMatchObject({ type: 'result', outcome: 'failed' })
      expect((await lastResult(desk))?.content).toContain('amount')
      expect(parts.runs).toBe(0)
    })
  })

  test('the same arguments in another order are the same', () =>
    withDesk(counting(), async (desk) => {
      const input = await desk.call('pay', { amount: 70, note: 'x' })
      await desk.run(input)
      await desk.decide(ASKED.requestId, { approved: true })
      const text = '{ "note": "x", "amount": 70 }'
      await desk.store.write((tx) => tx.updateTable('tool_calls').set({ arguments: text }).execute())
      expect(await desk.run(answered(input))).toMatchObject({ outcome: 'succeeded' })
    }))

  test('a check that says no runs it at once', () => {
    const parts = counting({ needsApproval: (_state, args) => (args as { amount: number }).amount > 50 })
    return withDesk(parts, async (desk) => {
      const [small, large] = await desk.calls([
        { name: 'pay', args: { amount: 20 } },
        { name: 'pay', args: { amount: 70 } },
      ])
      expect(await desk.run(small as ExecuteToolInput)).toMatchObject({ outcome: 'succeeded' })
      expect(await desk.run(large as ExecuteToolInput)).toMatchObject({ type: 'pending' })
      expect(parts.runs).toBe(1)
    })
  })

  test.each<readonly [string, DeskParts['needsApproval']]>([
    [
      'throws',
      () => {
        throw new Error('The rules are gone.')
      },
    ],
    ['rejects', () => Promise.reject(new Error('The rules are gone.'))],
    ['answers nonsense', () => undefined as never],
    [
      'throws an error that no row can hold',
      () => {
        throw Object.assign(new Error(), { message: { toString: () => 'The rules are gone.' } })
      },
    ],
  ])('a check that %s asks', (what, needsApproval) => {
    const parts = counting({ needsApproval })
    return withDesk(parts, async (desk) => {
      const input = await desk.call('pay', { amount: 1 })
      expect(await desk.run(input)).toEqual(ASKED)
      expect(parts.runs).toBe(0)
      const warned = await desk.told('runtime.warning')
      expect(warned).toHaveLength(what === 'answers nonsense' ? 0 : 1)
      // T5: its words are where operators look, and nowhere else.
      expect(JSON.stringify(await desk.events())).not.toContain('The rules are gone')
      const error = await desk.store.read((db) => findError(db, `t:${input.callId}:approval`))
      expect(error?.message ?? null).toBe(what === 'answers nonsense' ? null : 'The rules are gone.')
    })
  })

  test('what a check writes is not kept', () =>
    withDesk(
      {
        needsApproval: async (state) => {
          await state.setValue('checked', true)
          return false
        },
      },
      async (desk) => {
        await desk.run(await desk.call('pay', { amount: 1 }))
        expect(await storedValue(desk, 'checked')).toBeUndefined()
      },
    ))

  test('arguments that do not fit ask nobody', () =>
    withDesk(counting(), async (desk) => {
      expect(await desk.run(await desk.call('pay', { amount: 'much' }))).toMatchObject({
        outcome: 'failed',
      })
      expect(await desk.told('action.required')).toEqual([])
    }))

  test('a stop during the check interrupts the call', () => {
    const gate = createGate()
    let checking = false
    const needsApproval = async () => {
      checking = true
      await gate.passed
      return false
    }
    const parts = counting({ needsApproval })
    return withDesk(parts, async (desk) => {
      const environment = attempt()
      const input = await desk.call('pay', { amount: 1 })
      const running = environment.run(
        (given: ExecuteToolInput) => executeTool(desk.dependencies, given),
        input,
      )
      await until('the check', () => checking)
      environment.cancel()
      expect(await running).toEqual({ type: 'result', outcome: 'interrupted' })
      expect(parts.runs).toBe(0)
      gate.open()
    })
  })
})

describe('T4 a second attempt', () => {
  test('after the question gives the same question', () =>
    withDesk(counting(), async (desk) => {
      const input = await desk.call('pay', { amount: 70 })
      const first = await desk.run(input)
      const events = await desk.events()
      expect(await desk.run(input)).toEqual(first)
      expect(await desk.events()).toEqual(events)
    }))

  test('after the decision waits until the workflow has heard', () => {
    const parts = counting()
    return withDesk(parts, async (desk) => {
      const input = await desk.call('pay', { amount: 70 })
      await desk.run(input)
      await desk.decide(ASKED.requestId, { approved: true })
      expect(await desk.run(input)).toEqual(ASKED)
      expect(await desk.run(answered(input))).toMatchObject({ outcome: 'succeeded' })
      expect(parts.runs).toBe(1)
    })
  })

  test('after the start is unknown, as of any call', () => {
    const gate = createGate()
    let runs = 0
    const work = async () => {
      runs += 1
      await gate.passed
      return { status: 'success', result: 'late' }
    }
    return withDesk({ work }, async (desk) => {
      const input = await desk.call('pay', { amount: 70 })
      await desk.run(input)
      await desk.decide(ASKED.requestId, { approved: true })
      const late = desk.run(answered(input))
      await until('the tool', () => runs === 1)
      const second = await desk.run(answered(input))
      expect(second).toEqual({ type: 'result', outcome: 'unknown' })
      gate.open()
      expect(await late).toEqual(second)
      expect(runs).toBe(1)
      expect(await desk.told('action.resolved')).toHaveLength(1)
    })
  })

  test('that began meanwhile is not asked about', () => {
    const [check, tool] = [createGate(), createGate()]
    let checks = 0
    let runs = 0
    const needsApproval = async () => {
      checks += 1
      if (checks > 1) return false
      await check.passed
      return true
    }
    const work = async () => {
      runs += 1
      await tool.passed
      return { status: 'success' }
    }
    return withDesk({ needsApproval, work }, async (desk) => {
      const input = await desk.call('pay', { amount: 70 })
      const first = desk.run(input)
      await until('the first check', () => checks === 1)
      const second = desk.run(input)
      await until('the tool', () => runs === 1)
      check.open()
      expect(await first).toEqual({ type: 'result', outcome: 'unknown' })
      tool.open()
      expect(await second).toEqual({ type: 'result', outcome: 'unknown' })
      expect(await desk.request(ASKED.requestId)).toBeNull()
    })
  })

  test('after a denial gives the denial', () =>
    withDesk(counting(), async (desk) => {
      const input = await desk.call('pay', { amount: 70 })
      await desk.run(input)
      await desk.decide(ASKED.requestId, { approved: false })
      const first = await desk.run(answered(input))
      const events = await desk.events()
      expect(await desk.run(answered(input))).toEqual(first)
      expect(await desk.events()).toEqual(events)
    }))

  test('whose activity was ended from outside still waits for its answer', () =>
    withDesk({}, async (desk) => {
      const input = await desk.call('pay', { amount: 70 })
      const waits = await desk.run(input)
      expect(waits).toMatchObject({ type: 'pending' })
      expect(await desk.run({ ...input, failed: true })).toEqual(waits)
    }))

  test('weeks later, on a worker without the check, obeys the denial', () => {
    const parts = counting()
    return withDesk(parts, async (desk) => {
      const input = await desk.call('pay', { amount: 70 })
      await desk.run(input)
      await desk.decide(ASKED.requestId, { approved: false })
      const later = { ...answered(input), now: NOW + 30 * 86_400_000 }
      const relaxed = desk.with({ ...parts, needsApproval: false })
      expect(await desk.run(later, relaxed)).toMatchObject({ outcome: 'denied' })
      expect(parts.runs).toBe(0)
    })
  })
})

test('T8 a terminated thread asks nobody', () =>
  withDesk(counting(), async (desk) => {
    const input = await desk.call('pay', { amount: 70 })
    await desk.store.write((tx) => tx.updateTable('threads').set({ terminate_requested_at: 1 }).execute())
    expect(await desk.run(input)).toEqual({ type: 'terminated' })
    expect(await desk.request(ASKED.requestId)).toBeNull()
  }))
