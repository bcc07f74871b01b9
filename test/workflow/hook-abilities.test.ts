import { expect, test } from 'vitest'
import { z } from 'zod'

import { defineAgent, defineHook, defineModel, definePrompt, defineTool, registry } from '../../src/index.js'
import { createFamilyScripts } from '../support/family-scripts.js'
import { calls } from '../support/kinds-replies.js'
import { marked } from '../support/marker.js'
import { factsOf, transcript } from '../support/thread-facts.js'
import { threeModes } from '../support/three-modes.js'
import { unscripted } from '../support/unscripted.js'

const execute = (): never => {
  throw new Error('Expected the tool to be faked by the test.')
}
const hooks = [
  defineHook({
    ...{ hook: 'after_thread_created', id: 'adds_context' },
    execute: async (state) =>
      void (await state.injectMessage({ role: 'user', content: marked('House rules') })),
  }),
  defineHook({
    ...{ hook: 'before_create_message', id: 'blocks_input' },
    execute(_state, { content }) {
      if (content === marked('Forbidden')) throw new Error('It is forbidden.')
    },
  }),
  defineHook({
    ...{ hook: 'before_tool_call', id: 'changes_arguments' },
    execute(state, call) {
      state.emit('audited', { call: call.id })
      return { arguments: { ...call.arguments, amount: 1 } }
    },
  }),
  defineHook({
    ...{ hook: 'before_permission_request', id: 'permits' },
    execute: (_state) => ({ effect: 'allow', reason: marked('Small enough') }),
  }),
  defineHook({
    ...{ hook: 'before_run_end', id: 'checks_the_end' },
    execute: (_state, { text }) => (text === marked('Early') ? { continue: marked('Check it') } : null),
  }),
] as const
const ids = hooks.map(({ id }) => id)
const desk = registry({
  models: [defineModel({ name: 'voice', provider: unscripted, model: 'scripted' })],
  prompts: [
    definePrompt({
      ...{ name: 'clerk', toolDescription: 'Works', prompt: 'You work.', model: 'voice' },
      ...{ includeChat: true, includePastTools: true, tools: ['pay'] },
    }),
  ],
  agents: [defineAgent({ name: 'clerk', sideA: { prompt: 'clerk' }, hooks: [...ids] })],
  hooks: [...hooks],
  tools: {
    pay: defineTool({
      ...{ description: 'Pays', args: z.object({ amount: z.number(), task: z.string() }), execute },
      needsApproval: true,
    }),
  },
})
const scripts = createFamilyScripts(desk)
let number = 0

threeModes({ registry: desk, models: scripts.models, tools: scripts.tools }, (mode) => {
  test('AR-HP.1 one hook for each ability: context, blocked input, arguments, permission, audit, stop check', async () => {
    const id = `abilities-${(number += 1)}-${mode.mode.replaceAll(' ', '-')}`
    const executed: unknown[] = []
    const pay = calls({ name: 'pay', args: { amount: 9, task: marked('Pay') } })
    const { clerk } = scripts.script(id, mode.env.store, {
      voices: { clerk: [pay, { text: marked('Early') }, { text: marked('Late') }] },
      tools: {
        pay: (_state, args) => {
          executed.push(args)
          return { status: 'success', result: marked('Paid') }
        },
      },
    })
    const thread = await mode.env.threads.create({ agent: 'clerk', id, message: marked('Hello') })
    await thread.waitUntilIdle()
    const { messageId: refused } = await thread.send(marked('Forbidden'))
    await thread.waitUntilIdle()
    const facts = await factsOf(thread)
    const ended = (hook: string) =>
      facts.flatMap((one) =>
        one.type === 'hook.completed' && one.payload.hook === hook ? [one.payload] : [],
      )

    // Context: the model reads it, and the fact names the message.
    const added = (await transcript(thread)).find(({ content }) => content === marked('House rules'))
    expect(JSON.stringify(clerk?.requests[0])).toContain(marked('House rules'))
    expect(ended('adds_context')).toMatchObject([{ decision: 'none', added: [added?.id] }])
    // Blocked input: no request has it.
    expect(JSON.stringify(clerk?.requests)).not.toContain(marked('Forbidden'))
    expect(facts.filter(({ type }) => type === 'hook.failed')).toMatchObject([
      { messageId: refused, payload: { hook: 'blocks_input', fails: 'closed' } },
    ])
    // Arguments and permission.
    expect(executed).toEqual([{ amount: 1, task: marked('Pay') }])
    expect(ended('changes_arguments')).toMatchObject([
      { decision: 'change', updated: ['arguments:call_1_1_0'] },
    ])
    expect(ended('permits')).toMatchObject([{ decision: 'allow' }])
    expect(await thread.decisions()).toMatchObject([
      { decision: 'allowed', source: 'hook', hook: 'permits', changedBy: ['changes_arguments'] },
    ])
    // Audit.
    expect(facts.filter(({ type }) => type === 'custom')).toMatchObject([
      { payload: { name: 'audited', data: { call: 'call_1_1_0' } } },
    ])
    // Stop check.
    expect(ended('checks_the_end').map(({ decision }) => decision)).toEqual(['continue', 'none'])
    expect((await transcript(thread)).map(({ content }) => content)).toContain(marked('Check it'))
    expect(clerk?.requests).toHaveLength(3)
  })
})
