import { describe, expect, test } from 'vitest'

import type { ExecuteToolInput } from '../../src/protocol/activities.js'
import { findError } from '../../src/store/errors.js'
import { findOperation } from '../../src/store/operations.js'
import { createGate } from '../support/gate.js'
import { until } from '../support/until.js'
import { NOW, attempt } from './activity-desk.js'
import { executeTool } from '../../src/activities/execute-tool/execute-tool.js'
import { payloads, withOffice } from './office.js'
import type { Office, OfficeParts } from './office.js'
import { lastResult, storedValue } from './tool-desk.js'

const ASKED = {
  type: 'pending',
  requestId: 'approval_call_1_1_0',
  kind: 'approval',
  status: 'waiting_permission',
  next: 'execute',
}

function counting(more: OfficeParts = {}): OfficeParts & { runs: number } {
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

const operation = (office: Office, { callId }: ExecuteToolInput) =>
  office.store.read((db) => findOperation(db, 't', callId))
const types = async (office: Office) =>
  (await office.events()).map(({ type }) => type).filter((type) => /^(tool|action)\./.test(type))

describe('a call that needs approval', () => {
  test('waits before anything of it has begun', () => {
    const parts = counting()
    return withOffice(parts, async (office) => {
      const input = await office.call('pay', { amount: 70 })
      expect(await office.run(input)).toEqual(ASKED)
      expect(parts.runs).toBe(0)
      expect(await operation(office, input)).toMatchObject({ state: 'waiting' })
      expect(await office.request(ASKED.requestId)).toMatchObject({
        kind: 'approval',
        status: 'open',
        call_id: input.callId,
        tool_name: 'pay',
        requested_at: NOW * 1000,
      })
      expect(await payloads(office, 'action.required')).toEqual([
        { requestId: ASKED.requestId, kind: 'approval', toolName: 'pay' },
      ])
      expect(await payloads(office, 'tool.started')).toEqual([])
    })
  })

  test('runs once it is approved', () => {
    const parts = counting()
    return withOffice(parts, async (office) => {
      const input = await office.call('pay', { amount: 70 })
      await office.run(input)
      await office.decide(ASKED.requestId, { approved: true, by: 'ben' })
      expect(await office.run(answered(input))).toEqual({ type: 'result', outcome: 'succeeded' })
      expect(parts.runs).toBe(1)
      expect(await types(office)).toEqual([
        'action.required',
        'action.resolved',
        'tool.started',
        'tool.result',
      ])
      expect(await payloads(office, 'action.resolved')).toEqual([
        { requestId: ASKED.requestId, kind: 'approval', decision: 'approved', by: 'ben' },
      ])
    })
  })

  test('reads the reason when it is denied', () => {
    const parts = counting()
    return withOffice(parts, async (office) => {
      const input = await office.call('pay', { amount: 70 })
      await office.run(input)
      await office.decide(ASKED.requestId, { approved: false, reason: 'Too much.', by: 'ben' })
      expect(await office.run(answered(input))).toEqual({ type: 'result', outcome: 'denied' })
      expect(parts.runs).toBe(0)
      const row = await lastResult(office)
      expect(row).toMatchObject({ tool_status: 'error' })
      expect(row?.content).toContain('Too much.')
      expect(await payloads(office, 'tool.result')).toEqual([
        { name: 'pay', outcome: 'denied', errorCode: 'denied' },
      ])
      expect(await types(office)).toEqual(['action.required', 'action.resolved', 'tool.result'])
    })
  })

  test.each([
    [true, 'succeeded', 'approved'],
    [false, 'denied', 'denied'],
  ])('a bare update that says %s decides by cli', (approved, outcome, decision) =>
    withOffice(counting(), async (office) => {
      const input = await office.call('pay', { amount: 70 })
      await office.run(input)
      const response = { requestId: ASKED.requestId, approved }
      expect(await office.run({ ...input, response })).toMatchObject({ outcome })
      expect(await office.request(ASKED.requestId)).toMatchObject({ approved, answered_by: 'cli' })
      expect(await payloads(office, 'action.resolved')).toMatchObject([{ decision, by: 'cli' }])
    }),
  )

  test('the row decides, whatever the update says', () =>
    withOffice(counting(), async (office) => {
      const input = await office.call('pay', { amount: 70 })
      await office.run(input)
      await office.decide(ASKED.requestId, { approved: false })
      const response = { requestId: ASKED.requestId, approved: true }
      expect(await office.run({ ...input, response })).toMatchObject({ outcome: 'denied' })
    }))

  test('AR-VA.4 words in the conversation approve nothing', () => {
    const parts = counting()
    return withOffice(parts, async (office) => {
      const input = await office.call('pay', { amount: 70 })
      await office.run(input)
      await office.send('approved', 'yes, do it')
      expect(await office.run(input)).toEqual(ASKED)
      expect(await office.run(answered(input))).toEqual(ASKED)
      expect(parts.runs).toBe(0)
    })
  })

  test('asks again when the arguments are others', () => {
    const parts = counting()
    return withOffice(parts, async (office) => {
      const input = await office.call('pay', { amount: 70 })
      await office.run(input)
      await office.decide(ASKED.requestId, { approved: true, by: 'ben' })
      await office.store.write((tx) =>
        tx.updateTable('tool_calls').set({ arguments: '{"amount":900}' }).execute(),
      )
      const again = `${ASKED.requestId}_2`
      const first = await office.run(answered(input))
      expect(first).toEqual({ ...ASKED, requestId: again })
      expect(parts.runs).toBe(0)
      expect(await types(office)).toEqual(['action.required', 'action.resolved', 'action.required'])
      expect(await office.run(answered(input))).toEqual(first)
      expect(await types(office)).toHaveLength(3)
      await office.decide(again, { approved: true })
      expect(await office.run(answered(input, again))).toMatchObject({ outcome: 'succeeded' })
    })
  })

  test('the same arguments in another order are the same', () =>
    withOffice(counting(), async (office) => {
      const input = await office.call('pay', { amount: 70, note: 'x' })
      await office.run(input)
      await office.decide(ASKED.requestId, { approved: true })
      const text = '{ "note": "x", "amount": 70 }'
      await office.store.write((tx) => tx.updateTable('tool_calls').set({ arguments: text }).execute())
      expect(await office.run(answered(input))).toMatchObject({ outcome: 'succeeded' })
    }))

  test('a check that says no runs it at once', () => {
    const parts = counting({ needsApproval: (_state, args) => (args as { amount: number }).amount > 50 })
    return withOffice(parts, async (office) => {
      const [small, large] = await office.calls([
        { name: 'pay', args: { amount: 20 } },
        { name: 'pay', args: { amount: 70 } },
      ])
      expect(await office.run(small as ExecuteToolInput)).toMatchObject({ outcome: 'succeeded' })
      expect(await office.run(large as ExecuteToolInput)).toMatchObject({ type: 'pending' })
      expect(parts.runs).toBe(1)
    })
  })

  test.each<readonly [string, OfficeParts['needsApproval']]>([
    [
      'throws',
      () => {
        throw new Error('The rules are gone.')
      },
    ],
    ['rejects', () => Promise.reject(new Error('The rules are gone.'))],
    ['answers nonsense', () => undefined as never],
  ])('a check that %s asks', (what, needsApproval) => {
    const parts = counting({ needsApproval })
    return withOffice(parts, async (office) => {
      const input = await office.call('pay', { amount: 1 })
      expect(await office.run(input)).toEqual(ASKED)
      expect(parts.runs).toBe(0)
      const warned = await payloads(office, 'runtime.warning')
      expect(warned).toHaveLength(what === 'answers nonsense' ? 0 : 1)
      // T5: its words are where operators look, and nowhere else.
      expect(JSON.stringify(await office.events())).not.toContain('The rules are gone')
      const error = await office.store.read((db) => findError(db, `t:${input.callId}:approval`))
      expect(error?.message ?? null).toBe(what === 'answers nonsense' ? null : 'The rules are gone.')
    })
  })

  test('what a check writes is not kept', () =>
    withOffice(
      {
        needsApproval: async (state) => {
          await state.setValue('checked', true)
          return false
        },
      },
      async (office) => {
        await office.run(await office.call('pay', { amount: 1 }))
        expect(await storedValue(office, 'checked')).toBeUndefined()
      },
    ))

  test('arguments that do not fit ask nobody', () =>
    withOffice(counting(), async (office) => {
      expect(await office.run(await office.call('pay', { amount: 'much' }))).toMatchObject({
        outcome: 'failed',
      })
      expect(await payloads(office, 'action.required')).toEqual([])
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
    return withOffice(parts, async (office) => {
      const environment = attempt()
      const input = await office.call('pay', { amount: 1 })
      const running = environment.run(
        (given: ExecuteToolInput) => executeTool(office.dependencies, given),
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
    withOffice(counting(), async (office) => {
      const input = await office.call('pay', { amount: 70 })
      const first = await office.run(input)
      const events = await office.events()
      expect(await office.run(input)).toEqual(first)
      expect(await office.events()).toEqual(events)
    }))

  test('after the decision waits until the workflow has heard', () => {
    const parts = counting()
    return withOffice(parts, async (office) => {
      const input = await office.call('pay', { amount: 70 })
      await office.run(input)
      await office.decide(ASKED.requestId, { approved: true })
      expect(await office.run(input)).toEqual(ASKED)
      expect(await office.run(answered(input))).toMatchObject({ outcome: 'succeeded' })
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
    return withOffice({ work }, async (office) => {
      const input = await office.call('pay', { amount: 70 })
      await office.run(input)
      await office.decide(ASKED.requestId, { approved: true })
      const late = office.run(answered(input))
      await until('the tool', () => runs === 1)
      const second = await office.run(answered(input))
      expect(second).toEqual({ type: 'result', outcome: 'unknown' })
      gate.open()
      expect(await late).toEqual(second)
      expect(runs).toBe(1)
      expect(await payloads(office, 'action.resolved')).toHaveLength(1)
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
    return withOffice({ needsApproval, work }, async (office) => {
      const input = await office.call('pay', { amount: 70 })
      const first = office.run(input)
      await until('the first check', () => checks === 1)
      const second = office.run(input)
      await until('the tool', () => runs === 1)
      check.open()
      expect(await first).toEqual({ type: 'result', outcome: 'unknown' })
      tool.open()
      expect(await second).toEqual({ type: 'result', outcome: 'unknown' })
      expect(await office.request(ASKED.requestId)).toBeNull()
    })
  })

  test('after a denial gives the denial', () =>
    withOffice(counting(), async (office) => {
      const input = await office.call('pay', { amount: 70 })
      await office.run(input)
      await office.decide(ASKED.requestId, { approved: false })
      const first = await office.run(answered(input))
      const events = await office.events()
      expect(await office.run(answered(input))).toEqual(first)
      expect(await office.events()).toEqual(events)
    }))

  test('weeks later, on a worker without the check, obeys the denial', () => {
    const parts = counting()
    return withOffice(parts, async (office) => {
      const input = await office.call('pay', { amount: 70 })
      await office.run(input)
      await office.decide(ASKED.requestId, { approved: false })
      const later = { ...answered(input), now: NOW + 30 * 86_400_000 }
      const relaxed = office.worker({ ...parts, needsApproval: false })
      expect(await office.run(later, relaxed)).toMatchObject({ outcome: 'denied' })
      expect(parts.runs).toBe(0)
    })
  })
})

test('T8 a terminated thread asks nobody', () =>
  withOffice(counting(), async (office) => {
    const input = await office.call('pay', { amount: 70 })
    await office.store.write((tx) => tx.updateTable('threads').set({ terminate_requested_at: 1 }).execute())
    expect(await office.run(input)).toEqual({ type: 'terminated' })
    expect(await office.request(ASKED.requestId)).toBeNull()
  }))
