import { describe, expect, test } from 'vitest'

import {
  isAskedAgain,
  readStoredAnswer,
  requestApproval,
} from '../../src/activities/tool/approval-request.js'
import type { CallResponse } from '../../src/activities/tool/approval-request.js'
import { approvalDecision, checkAnswerer } from '../../src/client/answers/approval.js'
import type { CombinedApproval } from '../../src/policy/approval.js'
import { ApprovalForbiddenError } from '../../src/index.js'
import type { JsonValue } from '../../src/protocol/values.js'
import { findRequest } from '../../src/store/calls/requests.js'
import { findToolCall } from '../../src/store/calls/tool-calls.js'
import { NOW, withDesk } from './activity-desk.js'
import type { ActivityDesk } from './activity-desk.js'

const ID = 'approval_call_1_1_0'

/** A call of `pay` that was asked about. */
async function asked(
  desk: ActivityDesk,
  { args = { amount: 5 }, approval = {} }: { args?: JsonValue; approval?: CombinedApproval } = {},
) {
  const input = await desk.call('pay', { amount: 5 })
  const { threadId, callId } = input
  const row = await desk.store.read((db) => findToolCall(db, threadId, callId))
  if (row === null) throw new Error('Expected a call.')
  const question = { kind: 'tool', arguments: args, approval } as const
  const ask = () =>
    desk.store.write((tx) => requestApproval(tx, { input, row, question, requester: 'ann', number: 1 }))
  const read = (response: CallResponse | null, changed = row) =>
    desk.store.write((tx) => readStoredAnswer(tx, { input, response, row: changed }))
  const again = (response: CallResponse | null, now: CombinedApproval, changed = row) =>
    desk.store.read((db) =>
      isAskedAgain(db, { input: { threadId, callId, response }, row: changed, approval: now }),
    )
  return { row, ask, read, again, made: await ask() }
}

describe('a request', () => {
  test('is made once, and says until when it waits', () =>
    withDesk({}, async (desk) => {
      const { made, ask } = await asked(desk, { approval: { expiresIn: 5_000 } })
      expect(made.answer).toMatchObject({ type: 'pending', requestId: ID, expiresAt: NOW + 5_000 })
      expect(made.events.map(({ type }) => type)).toEqual(['permission.requested', 'action.required'])
      expect(await ask()).toEqual({ ...made, events: [] })
    }))

  test('T10 of arguments that are nested too deep shows that', () =>
    withDesk({}, async (desk) => {
      let deep: JsonValue = 1
      for (let level = 0; level < 100_000; level += 1) deep = [deep]
      await asked(desk, { args: deep })
      expect((await desk.request(ID))?.detail).toMatchObject({
        arguments: 'They are nested too deep to be shown.',
      })
    }))
})

describe('the answer to a request', () => {
  const goesOn = { requestId: ID } as const

  test('is waited for: without the response of the workflow a decision in the row says nothing', () =>
    withDesk({}, async (desk) => {
      const { read } = await asked(desk)
      expect(await read(goesOn)).toMatchObject({ kind: 'waits' })
      await desk.decide(ID, { approved: true, by: 'ben' })
      expect(await read(null)).toMatchObject({ kind: 'waits' })
      expect(await read(goesOn)).toMatchObject({ kind: 'approved', by: 'ben', isOutdated: false })
    }))

  test('that came before the end of the time counts, whatever the timer says', () =>
    withDesk({}, async (desk) => {
      const { read } = await asked(desk, { approval: { expiresIn: 5 } })
      await desk.decide(ID, { approved: true })
      expect(await read({ ...goesOn, expired: true })).toMatchObject({ kind: 'approved' })
    }))

  test('that comes after the end of the time finds no request, also before the denial is committed', () =>
    withDesk({}, async (desk) => {
      const { read } = await asked(desk, { approval: { expiresIn: 5 } })
      const denied = { kind: 'denied', isExpired: true }
      expect(await read({ ...goesOn, expired: true })).toMatchObject(denied)
      expect(await desk.decide(ID, { approved: true })).toBe('refused')
      expect(await read({ ...goesOn, expired: true })).toMatchObject(denied)
    }))

  test('is for the arguments that were shown, or for those that the person gave', () =>
    withDesk({}, async (desk) => {
      const { read, row } = await asked(desk)
      await desk.decide(ID, { approved: true })
      const other = { ...row, arguments: '{"amount":6}' }
      expect(await read(goesOn, other)).toMatchObject({ kind: 'approved', isOutdated: true, requested: 1 })
    }))

  test('is asked for again where it was for other arguments, or for a lesser rule', () =>
    withDesk({}, async (desk) => {
      const { again, row } = await asked(desk, { approval: { roles: [['clerk']] } })
      const same = { roles: [['clerk']] }
      expect(await again(goesOn, { fourEyes: true })).toBe(false)
      await desk.decide(ID, { approved: true })
      expect(await again(null, { fourEyes: true })).toBe(false)
      expect(await again(goesOn, same)).toBe(false)
      expect(await again(goesOn, { fourEyes: true })).toBe(true)
      expect(await again(goesOn, same, { ...row, arguments: '{"amount":6}' })).toBe(true)
    }))

  test('of the command line counts where everybody may answer, and nowhere else', () =>
    withDesk({}, async (desk) => {
      const { read } = await asked(desk)
      expect(await read({ ...goesOn, approved: false })).toMatchObject({ kind: 'denied', by: 'cli' })
    }))

  test('of somebody else than the rule wants is refused before it is stored', () =>
    withDesk({}, async (desk) => {
      const { read } = await asked(desk, { approval: { fourEyes: true } })
      expect(await read({ ...goesOn, approved: true })).toMatchObject({ kind: 'waits' })
      const request = await desk.store.read((db) => findRequest(db, 't', ID))
      if (request === null) throw new Error('Expected a request.')
      const answer = (user: string) =>
        checkAnswerer(request, { caller: { account: null, user }, by: undefined })
      expect(() => answer('ann')).toThrow(ApprovalForbiddenError)
      expect(answer('ben')).toBe('ben')
      const decision = await desk.store.write((tx) =>
        approvalDecision(tx, request, { kind: 'approval', approved: true, by: 'ben', arguments: {} }),
      )
      expect(decision).toMatchObject({ approved: true, by: 'ben', answer: { arguments: {} } })
    }))
})
