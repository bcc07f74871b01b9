import { tool } from 'ai'
import { beforeEach, expect, test } from 'vitest'
import { z } from 'zod'

import { agent, defineTool } from '../../src/index.js'
import { scriptedModel } from '../../src/testing/index.js'
import type { ScriptedAnswer, ScriptedRequest } from '../../src/testing/index.js'
import { marked } from '../support/marker.js'
import { toolResults, transcript } from '../support/thread-facts.js'
import { threeModes } from '../support/three-modes.js'

/** What each agent says next; a request of another one fails. */
let says: Record<string, ScriptedAnswer[]> = {}
beforeEach(() => {
  says = {}
})

const model = scriptedModel(({ prompt }: ScriptedRequest) => {
  const next = says[prompt?.replace('_prompt', '') ?? '']?.shift()
  if (next === undefined) throw new Error(`Expected no request of ${prompt}, got one.`)
  return next
})
const asked = (name: string) => model.requests.findLast(({ prompt }) => prompt === `${name}_prompt`)

const look_up = defineTool({
  description: 'Looks up an order.',
  args: z.object({ order: z.string() }),
  execute: (_state, { order }) => `${order} was sent.`,
})
/** A tool of the AI SDK. */
const refund = tool({
  description: 'Refunds an order.',
  inputSchema: z.object({ order: z.string(), euros: z.number() }),
  needsApproval: ({ euros }) => euros > 50,
  execute: async ({ order, euros }) => ({ order, euros, status: 'error' }),
})
const clerk = agent({ name: 'clerk', description: 'Finishes.', model, instructions: 'You finish.' })
const researcher = agent({
  ...{ name: 'researcher', description: 'Researches.', model, instructions: 'You research.' },
  ...{ tools: { look_up }, handoffs: { clerk } },
})
const billing = agent({
  ...{ name: 'billing', description: 'Bills.', model, instructions: 'You bill.' },
  handoffs: () => ({ support }),
})
const support = agent({
  ...{ name: 'support', description: 'Helps.', model, instructions: 'You help.', tools: { look_up, refund } },
  subagents: { researcher: { agent: researcher, fanOut: true }, clerk },
  handoffs: () => ({ billing }),
})
const call = (name: string, args: object = {}): ScriptedAnswer => ({ toolCalls: [{ name, args }] })

threeModes({ agents: [support], models: model }, (modes) => {
  test('an agent remembers the conversation and its calls', async () => {
    says = {
      support: [
        call('look_up', { order: marked('A-17') }),
        { text: marked('Sent.') },
        { text: marked('Yes.') },
      ],
    }
    const thread = await modes.env.threads.create({ agent: 'support', message: marked('Where is it?') })
    expect(await thread.waitUntilIdle()).toMatchObject({ reason: 'stop_on_response' })
    await thread.send(marked('Sure?'))
    expect((await thread.waitUntilIdle()).reply?.content).toBe(marked('Yes.'))
    expect(asked('support')?.messages.map(({ text, toolCalls }) => toolCalls?.[0]?.name ?? text)).toEqual([
      ...[marked('Where is it?'), 'look_up', `${marked('A-17')} was sent.`, marked('Sent.'), marked('Sure?')],
    ])
  })

  test('a tool of the AI SDK is checked, approved and answered as JSON', async () => {
    const order = marked('A-17')
    says = {
      support: [
        call('refund', { order: 7, euros: 80 }),
        call('refund', { order, euros: 80 }),
        { text: marked('Done.') },
      ],
    }
    const thread = await modes.env.threads.create({ agent: 'support', message: marked('My money!') })
    await expect.poll(async () => (await thread.snapshot()).pending, { timeout: 20_000 }).toHaveLength(1)
    const [request] = (await thread.snapshot()).pending
    await thread.respond(request?.id ?? '', { approved: true })
    expect((await thread.waitUntilIdle()).reply?.content).toBe(marked('Done.'))
    const [wrong, right] = (await toolResults(thread)).map(({ content }) => content)
    expect(wrong).toContain('order: ')
    expect(right).toBe(JSON.stringify({ order, euros: 80, status: 'error' }))
  })

  test('an ordinary agent as a subagent ends with its answer, which is the result', async () => {
    says = {
      support: [call('clerk', { message: marked('Write it.') }), { text: marked('Done.') }],
      clerk: [{ text: marked('Written.') }],
    }
    const thread = await modes.env.threads.create({ agent: 'support', message: marked('Please.') })
    expect((await thread.waitUntilIdle({ children: true })).reply?.content).toBe(marked('Done.'))
    expect((await toolResults(thread)).map(({ content }) => content)).toEqual([marked('Written.')])
    const [child] = (await thread.tree()).children
    const handle = modes.env.threads.get(child?.threadId ?? '')
    expect(await handle.snapshot()).toMatchObject({ status: 'completed', agent: 'clerk' })
    expect((await transcript(handle)).map(({ role, content }) => [role, content])).toEqual([
      ['user', marked('Write it.')],
      ['assistant', marked('Written.')],
    ])
    expect((await thread.snapshot()).agent).toBe('support')
  })

  test('several sessions of one call end each with the answer of whoever has it', async () => {
    const items = [{ message: marked('One') }, { message: marked('Two') }]
    says = {
      support: [call('researcher', { items }), { text: marked('Both.') }],
      researcher: [call('clerk'), call('clerk')],
      clerk: [{ text: marked('Answer') }, { text: marked('Answer') }],
    }
    const thread = await modes.env.threads.create({ agent: 'support', message: marked('Please.') })
    expect((await thread.waitUntilIdle({ children: true })).reply?.content).toBe(marked('Both.'))
    const [result] = await toolResults(thread)
    expect(result?.content?.match(/Answer/g)).toHaveLength(2)
  })

  test('agents hand the conversation over to each other and back', async () => {
    says = {
      support: [call('billing'), { text: marked('Back.') }],
      billing: [{ text: marked('The bill.') }, call('support')],
    }
    const thread = await modes.env.threads.create({ agent: 'support', message: marked('My bill?') })
    expect((await thread.waitUntilIdle()).reply?.content).toBe(marked('The bill.'))
    expect((await thread.snapshot()).agent).toBe('billing')
    await thread.send(marked('Thanks. My order?'))
    expect((await thread.waitUntilIdle()).reply?.content).toBe(marked('Back.'))
    expect((await thread.snapshot()).agent).toBe('support')
    expect(asked('support')?.messages[0]?.text).toBe(marked('My bill?'))
  })
})
