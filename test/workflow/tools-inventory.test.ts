import { describe, expect, test } from 'vitest'

import type { ThreadHandle } from '../../src/client/index.js'
import { PERMISSION_MODES } from '../../src/policy/judge.js'
import { calls, create, done, order } from '../support/kinds-replies.js'
import { marked } from '../support/marker.js'
import { policyDesk } from '../support/policy-desk.js'
import { models, policyDeskOf, refund, tools } from '../support/policy-runs.js'
import type { PolicyScenario } from '../support/policy-runs.js'
import { threeModes } from '../support/three-modes.js'

/** A call of each kind that is no subagent's whole work. The handoff comes last: the next step is the chief's. */
const CALLS = [
  order('look'),
  order('note'),
  refund,
  order('draft'),
  create('resident'),
  order('chief'),
] as const

const ASK_FOR_ALL = { '*': 'require_approval' } as const

const CASES: readonly (readonly [string, Pick<PolicyScenario, 'agent' | 'given'>])[] = [
  ...PERMISSION_MODES.map((permissionMode) => [permissionMode, { given: { permissionMode } }] as const),
  ...PERMISSION_MODES.map(
    (permissionMode) =>
      [
        `${permissionMode}, with a rule that asks`,
        { given: { permissionMode, permissions: ASK_FOR_ALL } },
      ] as const,
  ),
  ['nobody to ask', { given: { permissions: ASK_FOR_ALL, interactive: false } }],
  ['rules that deny', { given: { permissions: { 'orders.*': 'deny', 'texts.draft': false } } }],
  ['an agent with rules', { agent: 'junior', given: { permissions: { 'people.*': 'deny' } } }],
]

threeModes({ registry: policyDesk, models, tools }, (mode) => {
  const { start, everyVoice, requestOf } = policyDeskOf(mode)

  const policies = async (thread: ThreadHandle, names: readonly string[]) =>
    Object.fromEntries(
      (await thread.tools()).tools.flatMap(({ toolName, policy, dependsOnArguments }) => {
        expect(dependsOnArguments).toBe(false)
        return names.includes(toolName) ? [[toolName, policy]] : []
      }),
    )

  /** Denies what a person is asked, and returns what happened to each call. */
  async function outcomes(thread: ThreadHandle) {
    while ((await thread.waitUntilIdle()).status === 'waiting_permission')
      await thread.respond((await requestOf(thread)).id, { approved: false })
    const decisions = await thread.decisions()
    return Object.fromEntries(
      decisions.map(({ toolName, decision, source }) => [toolName, source === 'person' ? 'ask' : decision]),
    )
  }

  describe('what the inventory foresees is what happens', () => {
    test.each(CASES)('AR-CP.12 AR-SN.3 what is foreseen happens with %s', async (_what, scenario) => {
      const { thread } = await start({ ...scenario, voices: everyVoice(calls(...CALLS), done) })
      const foreseen = await policies(
        thread,
        CALLS.map(({ name }) => name),
      )
      expect(Object.keys(foreseen)).toHaveLength(CALLS.length)
      expect(await outcomes(thread)).toEqual(foreseen)
    })
  })

  test('AR-SN.3 a failure in the run counts until it ends', async () => {
    const { thread } = await start({
      voices: everyVoice(calls(order('note')), calls(order('note')), done),
      given: { permissionMode: 'on_failure' },
      tools: { note: () => ({ status: 'error', error: marked('No') }) },
    })
    expect((await thread.waitUntilIdle()).status).toBe('waiting_permission')
    const names = ['note', 'delegate', 'look']
    expect(await policies(thread, names)).toEqual({ note: 'ask', delegate: 'allowed', look: 'allowed' })
    expect(await outcomes(thread)).toEqual({ note: 'ask' })
    expect(await policies(thread, names)).toMatchObject({ note: 'allowed' })
  })

  test('AR-SN.3 the tools are those that the model was offered, and after a handoff those of the new agent', async () => {
    const { thread, voices } = await start({ voices: everyVoice(calls(order('chief')), done) })
    const { agent, tools: listed } = await thread.tools()
    expect(agent).toBe('seller')
    await thread.waitUntilIdle()
    expect(voices['seller']?.requests[0]?.tools).toEqual(
      listed.map(({ toolName: name, description, inputSchema }) => ({ name, description, inputSchema })),
    )
    expect(await thread.tools()).toMatchObject({
      agent: 'chief',
      tools: [{ toolName: 'refund', prompt: 'boss' }],
    })
  })
})
