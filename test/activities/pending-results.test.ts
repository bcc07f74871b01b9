import { describe, expect, test } from 'vitest'
import type { JsonValue } from '../../src/protocol/values.js'
import { closeOpenCalls } from '../../src/store/calls/close-open-calls.js'
import { answerFate, answerRequest, insertEarlyAnswer } from '../../src/store/calls/requests.js'
import type { PendingRecord } from '../../src/store/calls/requests.js'
import { findToolCall } from '../../src/store/calls/tool-calls.js'
import { statFile } from '../../src/store/files/files.js'
import { createGate } from '../support/gate.js'
import { until } from '../support/until.js'
import { NOW, withDesk } from './activity-desk.js'
import type { ActivityDesk } from './activity-desk.js'
import type { DeskParts } from './desk-registry.js'
import { lastResult, storedValue } from './tool-outcomes.js'

const PENDING = {
  type: 'pending',
  requestId: 'call_1_1_0',
  kind: 'call',
  status: 'waiting_input',
  next: 'complete',
}
const BY = { kind: 'response', requestId: PENDING.requestId } as const

/** A tool that leaves its answer to somebody else. */
const later: DeskParts = {
  work: async (state) => {
    await state.setValue('sent', true)
    await state.queueMessage({ role: 'user', content: 'It was sent.' })
    return { status: 'pending' }
  },
}

async function answeredWith(desk: ActivityDesk, answer: JsonValue) {
  const input = await desk.call('work')
  await desk.run(input)
  await desk.decide(PENDING.requestId, { answer, by: 'browser' })
  return { input, answer: await desk.complete(input, BY) }
}

describe('a tool that is answered later', () => {
  test('T9 keeps what it did, and waits', () =>
    withDesk(later, async (desk) => {
      const input = await desk.call('work')
      const operations = [{ kind: 'queue_message', id: 't:call_1_1_0:0', role: 'user' }]
      expect(await desk.run(input)).toEqual({ ...PENDING, operations })
      expect(await storedValue(desk, 'sent')).toBe(true)
      expect(await desk.request(PENDING.requestId)).toMatchObject({ kind: 'call', tool_name: 'work' })
      expect(await desk.told('action.required')).toEqual([
        { requestId: PENDING.requestId, kind: 'call', toolName: 'work' },
      ])
      expect(await lastResult(desk)).toBeUndefined()
    }))

  test('T4 a second attempt does nothing again', () =>
    withDesk(later, async (desk) => {
      const input = await desk.call('work')
      const first = await desk.run(input)
      const events = await desk.events()
      expect(await desk.run(input)).toEqual(first)
      expect(await desk.events()).toEqual(events)
    }))

  test('its answer is the result', () =>
    withDesk(later, async (desk) => {
      const { input, answer } = await answeredWith(desk, { status: 'success', result: { signed: true } })
      expect(answer).toEqual({ type: 'result', outcome: 'succeeded' })
      expect(await lastResult(desk)).toMatchObject({
        content: '{"signed":true}',
        tool_call_id: input.callId,
      })
      expect(await desk.told('action.resolved')).toEqual([
        { requestId: PENDING.requestId, kind: 'call', decision: 'answered', by: 'browser' },
      ])
      const events = (await desk.events()).map(({ type }) => type)
      expect(events.filter((type) => type === 'tool.started')).toHaveLength(1)
    }))

  test('T4 a second completion finds the first', () =>
    withDesk(later, async (desk) => {
      const { input, answer } = await answeredWith(desk, { status: 'success', result: 'signed' })
      const events = await desk.events()
      expect(await desk.complete(input, BY)).toEqual(answer)
      expect(await desk.events()).toEqual(events)
    }))

  describe('and answered before it said so', () => {
    const early = (desk: ActivityDesk, id: string, now = 1) =>
      desk.store.write((tx) =>
        insertEarlyAnswer(
          tx,
          { thread_id: 't', id, tool_name: 'work' },
          { answer: { status: 'success', result: 'fast' }, digest: 'd', now },
        ),
      )

    test('T4 finds its answer, also in a second attempt', () => {
      const gate = createGate()
      const work: DeskParts['work'] = async (_state, _args, { attempt }) => {
        if (attempt === 1) await gate.passed
        return { status: 'pending' }
      }
      return withDesk({ work }, async (desk) => {
        const input = await desk.call('again')
        const late = desk.run(input)
        await until('the first run', async () => (await desk.told('tool.started')).length === 1)
        await early(desk, input.callId)
        const second = await desk.run(input)
        expect(second).toMatchObject({ type: 'pending', answered: true })
        gate.open()
        expect(await late).toEqual(second)
        expect(await desk.run(input)).toEqual(second)
        expect(await desk.request(input.callId)).toMatchObject({ status: 'answered' })
        expect(await desk.complete(input, BY)).toMatchObject({ outcome: 'succeeded' })
        expect((await lastResult(desk))?.content).toBe('fast')
      })
    })

    test('drops what comes for a call that ends without asking, and tells no event of it', () =>
      withDesk({ work: () => ({ status: 'success' }) }, async (desk) => {
        const input = await desk.call('work')
        await early(desk, input.callId)
        const again = { threadId: 't', id: input.callId, digest: 'd', now: 1 }
        const respond = () => desk.store.write((tx) => answerRequest(tx, again))
        expect(await respond()).toBe('again')
        expect(await desk.run(input)).toMatchObject({ type: 'result', outcome: 'succeeded' })
        expect(await respond()).toBe('refused')
        await desk.store.write((tx) => closeOpenCalls(tx, { threadId: 't', now: 1, outcome: 'cancelled' }))
        expect(await desk.told('action.resolved')).toEqual([])
      }))

    test('P5 says nothing about an approval of the same call', () =>
      withDesk({ work: () => ({ status: 'success' }) }, async (desk) => {
        const input = await desk.call('pay', { amount: 70 })
        const asked = await desk.run(input)
        expect(asked).toMatchObject({ type: 'pending', kind: 'approval' })
        await early(desk, input.callId, (NOW + 1) * 1000)
        const approval = (await desk.request(`approval_${input.callId}`)) as PendingRecord
        expect(await desk.store.read((db) => answerFate(db, approval))).toBe('waiting')
      }))

    test('T8 closes it with the call that a stop ends', () =>
      withDesk(later, async (desk) => {
        const input = await desk.call('work')
        await early(desk, input.callId)
        await desk.store.write((tx) => closeOpenCalls(tx, { threadId: 't', now: 1, outcome: 'interrupted' }))
        expect(await desk.request(input.callId)).toMatchObject({ status: 'closed' })
        expect(await desk.told('action.resolved')).toMatchObject([{ decision: 'closed' }])
      }))
  })

  test.each<readonly [string, JsonValue, string]>([
    ['an error', { status: 'error', error: 'Nobody signed.' }, 'Error: Nobody signed.'],
    ['no result', 'signed', 'something that is not a result'],
    ['another wait', { status: 'pending' }, 'something that is not a result'],
    ['a missing file', { status: 'success', attachments: [{ path: '/no.pdf' }] }, 'no such file'],
    [
      'data that is not base64',
      { status: 'success', attachments: [{ name: 'a.pdf', mimeType: 'application/pdf', data: '§' }] },
      'not base64',
    ],
  ])('%s as the answer is an error result', (_what, given, words) =>
    withDesk(later, async (desk) => {
      const { answer } = await answeredWith(desk, given)
      expect(answer).toMatchObject({ type: 'result', outcome: 'failed' })
      expect((await lastResult(desk))?.content).toContain(words)
    }),
  )

  test('files of the answer become files of the thread', () =>
    withDesk(later, async (desk) => {
      const attachments = [{ name: 'signed.txt', mimeType: 'text/plain', data: 'aGk=' }]
      await answeredWith(desk, { status: 'success', attachments })
      const path = '/attachments/signed.txt'
      expect((await lastResult(desk))?.attachments).toMatchObject([{ path, size: 2 }])
      expect(await desk.store.read((db) => statFile(db, 't', path))).toMatchObject({ size: 2 })
    }))

  test('T10 an update without an answer is an error result', () =>
    withDesk(later, async (desk) => {
      const input = await desk.call('work')
      await desk.run(input)
      expect(await desk.complete(input, BY)).toMatchObject({ outcome: 'failed' })
      expect((await lastResult(desk))?.content).toContain('without a result')
    }))

  test('a stop tool that is answered later still has its words', () =>
    withDesk({ work: () => ({ status: 'pending' }) }, async (desk) => {
      const input = await desk.call('finish', { words: 'Goodbye.' })
      await desk.run(input)
      await desk.decide(PENDING.requestId, { answer: { status: 'success' } })
      expect(await desk.complete(input, BY)).toMatchObject({ outcome: 'succeeded', text: true })
      expect((await desk.transcript()).at(-1)).toMatchObject({ role: 'assistant', content: 'Goodbye.' })
    }))

  test('T8 a call that was closed meanwhile takes no answer', () =>
    withDesk(later, async (desk) => {
      const input = await desk.call('work')
      await desk.run(input)
      await desk.store.write(async (tx) => {
        await closeOpenCalls(tx, { threadId: 't', now: 1, outcome: 'interrupted' })
      })
      expect(await desk.decide(PENDING.requestId, { answer: 'late' })).toBe('refused')
      const storedNothing = { type: 'result', outcome: 'interrupted', storedNothing: true }
      expect(await desk.complete(input, BY)).toEqual(storedNothing)
      expect((await desk.transcript()).filter(({ role }) => role === 'tool')).toHaveLength(1)
      expect(await desk.store.read((db) => findToolCall(db, 't', input.callId))).toMatchObject({
        status: 'interrupted',
      })
      expect(await desk.told('action.resolved')).toMatchObject([{ decision: 'closed' }])
    }))
})
