import { describe, expect, test } from 'vitest'

import { MessageRejectedError } from '../../src/index.js'
import type { Policy } from '../../src/index.js'
import {
  approvalDesk,
  approvalDeskOf,
  models as deskModels,
  tools as deskTools,
} from '../support/approval-desk.js'
import { calls, create, done } from '../support/kinds-replies.js'
import { marked } from '../support/marker.js'
import { policyDesk } from '../support/policy-desk.js'
import { KINDS, models, policyDeskOf, tools } from '../support/policy-runs.js'
import { factsOf, toolResults } from '../support/thread-facts.js'
import { threeModes } from '../support/three-modes.js'

/** What a person gives instead, and the prompt whose model then reads it. */
const CHANGED = {
  refund: [{ task: marked('Less') }, null],
  draft: [{ task: marked('Less') }, 'draft'],
  chief: [{ task: marked('Less') }, 'boss'],
  runner: [{ task: marked('Less') }, 'worker'],
  subagent_create: [create('resident', 'Less').args, 'worker'],
} as const

threeModes({ registry: policyDesk, models, tools }, (mode) => {
  const { start, everyVoice, effectsOf, requestOf } = policyDeskOf(mode)

  describe.each(KINDS)('a person changes the arguments of a call of %s', (_kind, capability, call) => {
    const ask = () =>
      start({
        voices: everyVoice(calls(call), done),
        given: { permissions: { [capability]: 'require_approval' } },
      })
    const [args, reader] = CHANGED[call.name as keyof typeof CHANGED]

    test('PL-AP.7 it runs with them, once, and the record has them', async () => {
      const started = await ask()
      const { thread, voices } = started
      await thread.waitUntilIdle()
      const request = await requestOf(thread)
      expect(request).toMatchObject({ kind: 'approval', schema: { type: 'object' } })
      expect('answers' in request && request.answers).toContain('arguments')
      await thread.respond(request.id, { approved: true, arguments: args, by: 'ben' })
      await thread.waitUntilIdle()
      expect(await effectsOf(started)).toBe(1)
      const [record] = await thread.decisions()
      expect(record).toMatchObject({
        ...{ decision: 'allowed', source: 'person', changed: true, by: 'ben' },
        action: { name: call.name, arguments: args },
      })
      if (reader === null) return
      await expect.poll(() => JSON.stringify(voices[reader]?.requests)).toContain('Less')
      // Whoever takes over reads the conversation, which keeps what the model wrote.
      if (reader !== 'boss') expect(JSON.stringify(voices[reader]?.requests)).not.toContain(marked('Write'))
    })

    test('what does not fit the schema is refused, and the request stays open', async () => {
      const started = await ask()
      const { thread } = started
      await thread.waitUntilIdle()
      const request = await requestOf(thread)
      for (const wrong of [{}, { ...args, task: 7, message: 7 }])
        await expect(thread.respond(request.id, { approved: true, arguments: wrong })).rejects.toSatisfy(
          MessageRejectedError.isInstance,
        )
      expect((await requestOf(thread)).id).toBe(request.id)
      expect(await effectsOf(started)).toBe(0)
      await thread.respond(request.id, { approved: false })
      await thread.waitUntilIdle()
      expect((await toolResults(thread))[0]?.content).toContain('A person did not allow this call')
    })
  })
})

/** The policy function of the worker, which the test changes while the call waits. */
let policy: Policy = () => true

threeModes(
  {
    ...{ registry: approvalDesk, models: deskModels, tools: deskTools },
    policy: async (action, context) => policy(action, context),
  },
  (mode) => {
    const { ran, startAndAsk, requestOf } = approvalDeskOf(mode)

    test('a call that is asked about again, because the rule of the approval is another by now, shows its preview again', async () => {
      policy = () => 'require_approval'
      const { thread, request } = await startAndAsk({ calls: [{ name: 'shown' }] })
      policy = () => ({ effect: 'require_approval', approval: { roles: ['manager'] } })
      await thread.respond(request.id, { approved: true, by: 'ben' })
      await thread.waitUntilIdle()
      const again = await requestOf(thread)
      expect(again.id).not.toBe(request.id)
      expect(again).toMatchObject({
        ...{ approvers: { roles: [['manager']] }, toolCallId: request.toolCallId, args: request.args },
        preview: [{ type: 'text', text: 'Pays 10 euros' }],
      })
      expect(ran).toEqual([])
      const caller = { account: null, user: 'mia', roles: ['manager'] }
      await thread.respond(again.id, { approved: true }, { caller })
      await thread.waitUntilIdle()
      expect(ran).toHaveLength(1)
      expect(await thread.decisions()).toMatchObject([
        { decision: 'allowed', by: 'mia', requestId: again.id },
      ])
      const asked = (await factsOf(thread)).filter(({ type }) => type === 'permission.requested')
      expect(asked.map(({ payload }) => payload)).toMatchObject([
        { requestId: request.id },
        { requestId: again.id },
      ])
    })
  },
)
