import { describe, expect, test } from 'vitest'

import type { JsonValue } from '../../src/protocol/json.js'
import { closeOpenCalls } from '../../src/store/close-open-calls.js'
import { statFile } from '../../src/store/file-entry.js'
import { findToolCall } from '../../src/store/tool-calls.js'
import { payloads, withOffice } from './office.js'
import type { Office, OfficeParts } from './office.js'
import { lastResult, storedValue } from './tool-desk.js'

const PENDING = {
  type: 'pending',
  requestId: 'call_1_1_0',
  kind: 'call',
  status: 'waiting_input',
  next: 'complete',
}
const BY = { kind: 'response', requestId: PENDING.requestId } as const

/** A tool that leaves its answer to somebody else. */
const later: OfficeParts = {
  work: async (state) => {
    await state.setValue('sent', true)
    await state.queueMessage({ role: 'user', content: 'It was sent.' })
    return { status: 'pending' }
  },
}

async function answeredWith(office: Office, answer: JsonValue) {
  const input = await office.call('work')
  await office.run(input)
  await office.decide(PENDING.requestId, { answer, by: 'browser' })
  return { input, answer: await office.complete(input, BY) }
}

describe('a tool that is answered later', () => {
  test('T9 keeps what it did, and waits', () =>
    withOffice(later, async (office) => {
      const input = await office.call('work')
      const operations = [{ kind: 'queue_message', id: 't:call_1_1_0:0', role: 'user' }]
      expect(await office.run(input)).toEqual({ ...PENDING, operations })
      expect(await storedValue(office, 'sent')).toBe(true)
      expect(await office.request(PENDING.requestId)).toMatchObject({ kind: 'call', tool_name: 'work' })
      expect(await payloads(office, 'action.required')).toEqual([
        { requestId: PENDING.requestId, kind: 'call', toolName: 'work' },
      ])
      expect(await lastResult(office)).toBeUndefined()
    }))

  test('T4 a second attempt does nothing again', () =>
    withOffice(later, async (office) => {
      const input = await office.call('work')
      const first = await office.run(input)
      const events = await office.events()
      expect(await office.run(input)).toEqual(first)
      expect(await office.events()).toEqual(events)
    }))

  test('its answer is the result', () =>
    withOffice(later, async (office) => {
      const { input, answer } = await answeredWith(office, { status: 'success', result: { signed: true } })
      expect(answer).toEqual({ type: 'result', outcome: 'succeeded' })
      expect(await lastResult(office)).toMatchObject({
        content: '{"signed":true}',
        tool_call_id: input.callId,
      })
      expect(await payloads(office, 'action.resolved')).toEqual([
        { requestId: PENDING.requestId, kind: 'call', decision: 'answered', by: 'browser' },
      ])
      const events = (await office.events()).map(({ type }) => type)
      expect(events.filter((type) => type === 'tool.started')).toHaveLength(1)
    }))

  test('T4 a second completion finds the first', () =>
    withOffice(later, async (office) => {
      const { input, answer } = await answeredWith(office, { status: 'success', result: 'signed' })
      const events = await office.events()
      expect(await office.complete(input, BY)).toEqual(answer)
      expect(await office.events()).toEqual(events)
    }))

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
    withOffice(later, async (office) => {
      const { answer } = await answeredWith(office, given)
      expect(answer).toMatchObject({ type: 'result', outcome: 'failed' })
      expect((await lastResult(office))?.content).toContain(words)
    }),
  )

  test('files of the answer become files of the thread', () =>
    withOffice(later, async (office) => {
      const attachments = [{ name: 'signed.txt', mimeType: 'text/plain', data: 'aGk=' }]
      await answeredWith(office, { status: 'success', attachments })
      const path = '/attachments/signed.txt'
      expect((await lastResult(office))?.attachments).toMatchObject([{ path, size: 2 }])
      expect(await office.store.read((db) => statFile(db, 't', path))).toMatchObject({ size: 2 })
    }))

  test('T10 an update without an answer is an error result', () =>
    withOffice(later, async (office) => {
      const input = await office.call('work')
      await office.run(input)
      expect(await office.complete(input, BY)).toMatchObject({ outcome: 'failed' })
      expect((await lastResult(office))?.content).toContain('without a result')
    }))

  test('a stop tool that is answered later still has its words', () =>
    withOffice({ work: () => ({ status: 'pending' }) }, async (office) => {
      const input = await office.call('finish', { words: 'Goodbye.' })
      await office.run(input)
      await office.decide(PENDING.requestId, { answer: { status: 'success' } })
      expect(await office.complete(input, BY)).toMatchObject({ outcome: 'succeeded', text: true })
      expect((await office.transcript()).at(-1)).toMatchObject({ role: 'assistant', content: 'Goodbye.' })
    }))

  test('T8 a call that was closed meanwhile takes no answer', () =>
    withOffice(later, async (office) => {
      const input = await office.call('work')
      await office.run(input)
      await office.store.write(async (tx) => {
        await closeOpenCalls(tx, { threadId: 't', now: 1, outcome: 'interrupted' })
      })
      expect(await office.decide(PENDING.requestId, { answer: 'late' })).toBe('refused')
      expect(await office.complete(input, BY)).toEqual({ type: 'result', outcome: 'interrupted' })
      expect((await office.transcript()).filter(({ role }) => role === 'tool')).toHaveLength(1)
      expect(await office.store.read((db) => findToolCall(db, 't', input.callId))).toMatchObject({
        status: 'interrupted',
      })
      expect(await payloads(office, 'action.resolved')).toMatchObject([{ decision: 'closed' }])
    }))
})
