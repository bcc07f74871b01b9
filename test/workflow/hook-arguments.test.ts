import { beforeEach, expect, test } from 'vitest'
import { z } from 'zod'

import { defineAgent, defineHook, defineModel, definePrompt, defineTool, registry } from '../../src/index.js'
import type { HookOpinion, JudgedCall, Permissions, Policy } from '../../src/index.js'
import { findToolCall } from '../../src/store/calls/tool-calls.js'
import { createFamilyScripts } from '../support/family-scripts.js'
import { calls, done } from '../support/kinds-replies.js'
import { marked } from '../support/marker.js'
import { factsOf, toolResults, transcript } from '../support/thread-facts.js'
import { threeModes } from '../support/three-modes.js'
import { unscripted } from '../support/unscripted.js'

type Judge = (call: JudgedCall) => HookOpinion | null

/** What the two hooks and the policy function do; each test sets them. */
let first: Judge = () => null
let second: Judge = () => null
let policy: Policy = () => true
beforeEach(() => {
  first = () => null
  second = () => null
  policy = () => true
})

const execute = (): never => {
  throw new Error('Expected the tool to be faked by the test.')
}
const payment = z.object({ amount: z.number().max(5_000), to: z.string() })
const hook = (id: string, judge: () => Judge) =>
  defineHook({ hook: 'before_tool_call', id, execute: (_state, call) => judge()(call) })
const desk = registry({
  models: [defineModel({ name: 'voice', provider: unscripted, model: 'scripted' })],
  prompts: [
    definePrompt({
      ...{ name: 'clerk', toolDescription: 'Works', prompt: 'You work.', model: 'voice' },
      ...{ includeChat: true, includePastTools: true, tools: ['pay', 'draft'] },
    }),
    definePrompt({
      ...{ name: 'draft', toolDescription: 'Drafts', prompt: 'You draft.', model: 'voice' },
      requiredSchema: z.object({ topic: z.string() }),
    }),
  ],
  agents: [defineAgent({ name: 'clerk', sideA: { prompt: 'clerk' }, hooks: ['first', 'second'] })],
  hooks: [hook('first', () => first), hook('second', () => second)],
  tools: {
    pay: defineTool({
      ...{ description: 'Pays', args: payment, capabilities: ['money.pay'], execute },
      needsApproval: (_state, { amount }) => amount > 100,
    }),
  },
})

const scripts = createFamilyScripts(desk)
let number = 0
const paid = (amount: number) => ({ amount, to: marked('Ada') })
const pay = (amount: number) => calls({ name: 'pay', args: paid(amount) })
/** An answer that sets the amount. */
const set =
  (amount: number, more: HookOpinion = {}): Judge =>
  ({ arguments: args }) => ({ ...more, arguments: { ...args, amount } })

threeModes(
  {
    registry: desk,
    models: scripts.models,
    tools: scripts.tools,
    policy: async (action, context) => policy(action, context),
  },
  (mode) => {
    async function start(
      script: readonly ReturnType<typeof pay>[],
      given: { readonly permissions?: Permissions } = {},
    ) {
      const id = `changes-${(number += 1)}-${mode.mode.replaceAll(' ', '-')}`
      const executed: unknown[] = []
      const { store } = mode.env
      scripts.script(id, store, {
        voices: { clerk: [...script, done], draft: [done] },
        tools: {
          pay: (_state, args) => {
            executed.push(args)
            return { status: 'success', result: marked('Paid') }
          },
        },
      })
      const thread = await mode.env.threads.create({ agent: 'clerk', id, message: marked('Hello'), ...given })
      const status = await thread.waitUntilIdle()
      const row = () => store.read((db) => findToolCall(db, id, 'call_1_1_0'))
      return { thread, status, executed, row }
    }

    test('AR-HP.1 a hook changes the arguments of a tool, and the record has the model’s, the hook and the executed ones', async () => {
      first = set(50)
      const { thread, executed, row } = await start([pay(1_000)])
      expect(executed).toEqual([paid(50)])
      const [, answer] = await transcript(thread)
      expect(JSON.parse(answer?.tool_calls ?? '')).toMatchObject([
        { function: { name: 'pay', arguments: JSON.stringify(paid(1_000)) } },
      ])
      expect(JSON.parse((await row())?.arguments ?? '')).toEqual(paid(50))
      expect(await thread.decisions()).toMatchObject([{ decision: 'allowed', changedBy: ['first'] }])
      expect((await toolResults(thread))[0]?.content).toMatch(
        /^A rule of this application changed the arguments of this call to \{"amount":50,.*\}\n\nPaid/,
      )
      const facts = (await factsOf(thread)).flatMap((one) => (one.type === 'hook.completed' ? [one] : []))
      expect(facts.map(({ payload }) => [payload.hook, payload.decision, payload.updated])).toEqual([
        ['first', 'change', ['arguments:call_1_1_0']],
        ['second', 'none', undefined],
      ])
    })

    test('several hooks change one after the other, and the earlier ones judge what the later ones made', async () => {
      const seen: unknown[] = []
      first = ({ arguments: { amount } }) => {
        seen.push(['first', amount])
        return null
      }
      second = (call) => {
        seen.push(['second', call.arguments['amount']])
        return set(20)(call)
      }
      const allowed = await start([pay(10)])
      // An attempt that is repeated asks them again.
      expect([allowed.executed, seen.slice(-3)]).toEqual([
        [paid(20)],
        [
          ['first', 10],
          ['second', 10],
          ['first', 20],
        ],
      ])
      first = ({ arguments: { amount } }) =>
        amount === 20 ? { effect: 'deny', reason: marked('No 20') } : null
      const denied = await start([pay(10)])
      expect(denied.executed).toEqual([])
      expect(await denied.thread.decisions()).toMatchObject([
        { decision: 'denied', source: 'hook', hook: 'first', changedBy: ['second'] },
      ])
      first = ({ arguments: args }) => ({ arguments: { ...args, amount: Number(args['amount']) + 1 } })
      const endless = await start([pay(10)])
      expect(endless.executed).toEqual([])
      expect(await endless.thread.decisions()).toMatchObject([{ decision: 'denied', hook: 'first' }])
    })

    test('a change widens nothing: tool, policy and rules judge what would run', async () => {
      first = set(1_000)
      const asked = await start([pay(50)])
      expect([asked.status.status, asked.executed]).toEqual(['waiting_permission', []])
      const amounts: unknown[] = []
      policy = ({ arguments: { amount } }) => {
        amounts.push(amount)
        return amount !== 7
      }
      first = set(7, { effect: 'allow' })
      const byPolicy = await start([pay(50)])
      expect([byPolicy.executed, amounts]).toEqual([[], [7]])
      expect(await byPolicy.thread.decisions()).toMatchObject([{ decision: 'denied', source: 'policy' }])
      const byRule = await start([pay(50)], { permissions: { 'money.*': 'deny' } })
      expect(byRule.executed).toEqual([])
      expect(await byRule.thread.decisions()).toMatchObject([{ decision: 'denied', changedBy: ['first'] }])
    })

    test('a person is shown the changed arguments, and what they approve runs', async () => {
      first = set(1_000)
      const { thread, executed, row } = await start([pay(50)])
      const [request] = (await thread.snapshot()).pending
      const shown = await thread.request(request?.id ?? '')
      expect(shown).toMatchObject({ args: paid(1_000) })
      expect(JSON.parse((await row())?.arguments ?? '')).toEqual(paid(1_000))
      await thread.respond(request?.id ?? '', { approved: true, by: 'ben' })
      await thread.waitUntilIdle()
      expect(executed).toEqual([paid(1_000)])
      expect(await thread.decisions()).toMatchObject([
        { decision: 'allowed', source: 'person', by: 'ben', changedBy: ['first'] },
      ])
    })

    test('what a person has approved, or given, no hook changes: the call is denied', async () => {
      first = set(1_000)
      const { thread, executed } = await start([pay(50)])
      const [request] = (await thread.snapshot()).pending
      await thread.respond(request?.id ?? '', { approved: true, by: 'ben', arguments: paid(60) })
      await thread.waitUntilIdle()
      expect(executed).toEqual([])
      expect(await thread.decisions()).toMatchObject([{ decision: 'denied', source: 'hook', hook: 'first' }])
      const failures = (await factsOf(thread)).filter(({ type }) => type === 'hook.failed')
      expect(failures).toMatchObject([{ payload: { code: 'invalid_answer', fails: 'closed' } }])
    })

    test.each([
      ['that do not fit the schema of the tool', { arguments: { amount: 'much', to: 'Ada' } }],
      ['beyond the bounds of the schema', { arguments: { amount: 9_000, to: 'Ada' } }],
      ['that are no object', { arguments: [1] }],
      ['that are no JSON', { arguments: { amount: 1, to: () => 'Ada' } }],
      ['of another name', { args: { amount: 1, to: 'Ada' } }],
    ])('arguments %s deny the call, with the failure of the hook', async (_what, answer) => {
      first = () => answer as never
      const { thread, executed } = await start([pay(50)])
      expect(executed).toEqual([])
      expect(await thread.decisions()).toMatchObject([{ decision: 'denied', source: 'hook', hook: 'first' }])
      const failures = (await factsOf(thread)).filter(({ type }) => type === 'hook.failed')
      expect(failures).toMatchObject([
        { payload: { hook: 'first', code: 'invalid_answer', fails: 'closed', retryable: false } },
      ])
    })

    test('the arguments of a prompt stay as they are: a hook that gives others denies its call', async () => {
      first = () => ({ arguments: { topic: marked('Other') } })
      const { thread } = await start([calls({ name: 'draft', args: { topic: marked('One') } })])
      expect(await thread.decisions()).toMatchObject([{ decision: 'denied', source: 'hook', hook: 'first' }])
    })
  },
)
