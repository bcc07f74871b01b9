import { beforeEach, expect, test } from 'vitest'
import { z } from 'zod'

import { agent, defineTool } from '../../src/index.js'
import { createThreadApp } from '../../src/server/index.js'
import { scriptedModel } from '../../src/testing/index.js'
import type { ScriptedAnswer, ScriptedRequest } from '../../src/testing/index.js'
import { marked } from '../support/marker.js'
import { factsOf, toolResults, transcript } from '../support/thread-facts.js'
import { threeModes } from '../support/three-modes.js'

const TOKEN = 'token-of-an-operator'

/** What each agent says next. */
let says: Record<string, ScriptedAnswer[]> = {}
let from = 0
beforeEach(() => {
  says = {}
  from = model.requests.length
})

const model = scriptedModel(({ prompt }: ScriptedRequest) => {
  const next = says[prompt?.replace('_prompt', '') ?? '']?.shift()
  if (next === undefined) throw new Error(`Expected no request of ${prompt}, got one.`)
  return next
})
const requests = () => model.requests.slice(from)

const output = z.object({ order: z.string(), euros: z.number().positive(), note: z.string().default('none') })
const look_up = defineTool({ description: 'Looks up.', execute: () => marked('80 euros') })
const clerk = agent({
  name: 'clerk',
  description: 'Reads bills.',
  model,
  instructions: 'You read.',
  tools: { look_up },
  output,
})
const plain = { model, name: 'plain', capabilities: { supportsJsonMode: false } }
const writer = agent({ name: 'writer', model: plain, instructions: 'You write.', output })
const boss = agent({ name: 'boss', model, instructions: 'You lead.', subagents: { clerk } })

const bill = { order: marked('A-17'), euros: 80 }
const wrong = { text: JSON.stringify({ order: marked('A-17'), euros: -1 }) }
const right = { text: JSON.stringify(bill) }

threeModes({ agents: [boss, clerk, writer], models: model }, (modes) => {
  const start = (name: string) => modes.env.threads.create({ agent: name, message: marked('The bill?') })

  test('an answer that fits is the output of the run, as its schema makes it', async () => {
    says = { clerk: [{ toolCalls: [{ name: 'look_up' }] }, right] }
    const thread = await start('clerk')
    const run = await thread.waitUntilIdle()
    expect(run).toMatchObject({ reason: 'stop_on_response', output: { ...bill, note: 'none' } })
    expect(run.reply?.content).toBe(right.text)
    expect(requests()[0]?.raw.responseFormat).toMatchObject({
      type: 'json',
      schema: { type: 'object', required: ['order', 'euros'], additionalProperties: false },
    })
    expect(requests()[0]?.system).toBe('You read.')
  })

  test('each run keeps its output for every reader: by id, over HTTP, and in the session', async () => {
    says = { clerk: [right, wrong, wrong, wrong, wrong, { text: JSON.stringify({ ...bill, euros: 5 }) }] }
    const thread = await start('clerk')
    await thread.waitUntilIdle()
    for (const words of ['Again?', 'And now?']) {
      await thread.send(marked(words))
      await thread.waitUntilIdle()
    }
    const expected = [{ ...bill, note: 'none' }, null, { ...bill, euros: 5, note: 'none' }]
    const results = await Promise.all(['run_1', 'run_2', 'run_3'].map((id) => thread.result(id)))
    expect(results.map((result) => result?.output)).toEqual(expected)
    expect(results.map((result) => result?.reason)).toEqual([
      ...['stop_on_response', 'output_invalid', 'stop_on_response'],
    ])
    expect(await thread.result()).toEqual(results[2])
    expect(await thread.result(`${thread.threadId}:run_1`)).toEqual(results[0])
    expect([await thread.result('run_4'), await thread.result('x')]).toEqual([null, null])
    const app = createThreadApp({ client: modes.env.threads, tokens: [{ token: TOKEN }] })
    const get = async (path: string): Promise<{ readonly status: number; readonly body: unknown }> => {
      const headers = { authorization: `Bearer ${TOKEN}` }
      const response = await app.request(path, { headers })
      return { status: response.status, body: await response.json() }
    }
    const path = `/threads/${thread.threadId}`
    expect(await get(`${path}/runs/run_1`)).toEqual({ status: 200, body: results[0] })
    expect(await get(`${path}/result`)).toMatchObject({ body: { idle: true, result: results[2] } })
    expect(await get(`/sessions/${thread.threadId}`)).toMatchObject({
      body: { lastRun: { runId: 'run_3', output: expected[2] } },
    })
    expect(await get(`${path}/runs/run_4`)).toMatchObject({
      status: 404,
      body: { error: { code: 'not_found' } },
    })
  })

  test('one that does not fit is asked for again with the problem, unseen by people', async () => {
    says = { clerk: [{ text: marked('80 euros') }, wrong, { text: `\`\`\`json\n${right.text}\n\`\`\`` }] }
    const thread = await start('clerk')
    expect(await thread.waitUntilIdle()).toMatchObject({ reason: 'stop_on_response', output: bill, steps: 3 })
    const said = requests().map(({ messages }) => messages.at(-1)?.text)
    expect(said[1]).toContain('Expected an answer that is JSON')
    expect(said[2]).toContain('Your answer does not fit: euros: ')
    expect(said[2]).toContain('"required":["order","euros"]')
    expect((await thread.messages()).messages.filter(({ role }) => role === 'user')).toHaveLength(1)
  })

  test('a run whose answers do not fit ends as failed after three more, and the thread goes on', async () => {
    says = { clerk: [wrong, { ...right, endedBy: 'length' }, wrong, wrong, right] }
    const thread = await start('clerk')
    const run = await thread.waitUntilIdle()
    expect(run).toMatchObject({ reason: 'output_invalid', output: null, usage: { inputTokens: 40 } })
    expect(run.reply).toMatchObject({ content: wrong.text, status: 'failed' })
    expect(requests()[2]?.messages.at(-1)?.text).toContain('cut off by its limit of length')
    expect(await thread.errors()).toMatchObject([
      { type: 'output.invalid', message: expect.stringContaining('euros: ') },
    ])
    const facts = await factsOf(thread)
    expect(facts.filter(({ type }) => type === 'runtime.warning')).toMatchObject([
      { payload: { code: 'output_invalid' } },
    ])
    expect(facts.filter(({ type }) => type === 'run.failed')).toMatchObject([
      { payload: { reason: 'output_invalid' } },
    ])
    await thread.send(marked('Again.'))
    expect(await thread.waitUntilIdle()).toMatchObject({ reason: 'stop_on_response', output: bill })
  })

  test('a model that takes no schema has it in its system text', async () => {
    says = { writer: [right] }
    expect(await (await start('writer')).waitUntilIdle()).toMatchObject({ output: bill })
    expect(requests()[0]?.raw.responseFormat).toBeUndefined()
    expect(requests()[0]?.system).toMatch(/^You write\.\n\nWhen you answer .*"required":\["order","euros"\]/)
  })

  test('the output of a subagent is the result of its call, and its failure says why', async () => {
    const asks = { toolCalls: [{ name: 'clerk', args: { message: marked('Read it.') } }] }
    says = { boss: [asks, asks, { text: marked('Done.') }], clerk: [right, wrong, wrong, wrong, wrong] }
    const thread = await start('boss')
    expect((await thread.waitUntilIdle({ children: true })).output).toBeNull()
    const [first, second] = (await toolResults(thread)).map(({ content }) => content)
    expect(first).toBe(right.text)
    expect(second).toContain('(output_invalid): its answers did not have the form')
    expect((await transcript(thread)).at(-1)?.content).toBe(marked('Done.'))
  })
})
