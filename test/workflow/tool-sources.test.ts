import { beforeEach, expect, test } from 'vitest'

import { agent, defineTool, ToolError } from '../../src/index.js'
import type { ResumedCall, SourceCall, SourceTool, ToolSource } from '../../src/index.js'
import { scriptedModel } from '../../src/testing/index.js'
import type { ScriptedAnswer } from '../../src/testing/index.js'
import { marked } from '../support/marker.js'
import { factsOf, toolResults } from '../support/thread-facts.js'
import { threeModes } from '../support/three-modes.js'

const schema = { type: 'object', properties: { place: { type: 'string' } } } as const
const listed = (name: string, fields: Partial<SourceTool> = {}): SourceTool => ({
  ...{ name, description: `Does ${name}`, inputSchema: schema },
  ...fields,
})

/** What the source says, by thread; each list is asked for once. */
const lists = new Map<string, (() => unknown)[]>()
const answers = new Map<string, (call: SourceCall) => unknown>()
const resumes = new Map<string, (call: ResumedCall) => unknown>()
const asked = new Map<string, number>()

const weather: ToolSource = {
  name: 'weather',
  async list({ threadId }) {
    asked.set(threadId, (asked.get(threadId) ?? 0) + 1)
    return (lists.get(threadId)?.shift() ?? (() => []))() as SourceTool[]
  },
  call: (call) => (answers.get(call.threadId) ?? (() => 'nothing'))(call) as string,
  resume: (call) => (resumes.get(call.threadId) ?? (() => 'nothing'))(call) as string,
}

let says: ScriptedAnswer[] = []
beforeEach(() => {
  says = []
})
const model = scriptedModel(() => {
  const next = says.shift()
  if (next === undefined) throw new Error('Expected no request, got one.')
  return next
})
const offered = (threadId: string) =>
  model.requests.flatMap((request) =>
    request.threadId === threadId ? [request.tools.map(({ name }) => name)] : [],
  )

const look = defineTool({ description: 'Looks.', execute: () => 'looked' })
const guide = agent({ name: 'guide', model, instructions: 'You guide.', tools: { look, weather } })
const careful = agent({
  ...{ name: 'careful', model, instructions: 'You guide.', tools: { weather } },
  permissions: { 'weather.change': 'require_approval', 'weather.end': 'deny' },
})

const call = (name: string, args: object = {}): ScriptedAnswer => ({ toolCalls: [{ name, args }] })
const done: ScriptedAnswer = { text: marked('Done') }

threeModes({ agents: [guide, careful], models: model }, (modes) => {
  let number = 0

  async function start(
    name: 'guide' | 'careful',
    given: {
      list?: (() => unknown)[]
      answer?: (call: SourceCall) => unknown
      resume?: (call: ResumedCall) => unknown
      userId?: string
    },
  ) {
    const id = `tool-sources-${(number += 1)}-${modes.mode.replaceAll(' ', '-')}`
    lists.set(id, given.list ?? [])
    answers.set(id, given.answer ?? (() => marked('sunny')))
    resumes.set(id, given.resume ?? (() => marked('later')))
    const thread = await modes.env.threads.create({
      ...{ agent: name, id, message: marked('Hello') },
      ...(given.userId !== undefined && { userId: given.userId }),
    })
    return { thread, id }
  }

  test('KP-03.2 tools of a source are offered, called, decided about and in the inventory', async () => {
    says = [call('forecast', { place: marked('Rome') }), done]
    const calls: SourceCall[] = []
    const { thread, id } = await start('guide', {
      userId: 'mia',
      list: [() => [listed('forecast', { readOnly: true, capabilities: ['weather.read'] })]],
      answer: (made) => (calls.push(made), marked('sunny')),
    })
    await thread.waitUntilIdle()
    expect(offered(id)).toEqual([
      ['look', 'forecast'],
      ['look', 'forecast'],
    ])
    expect(await toolResults(thread)).toMatchObject([
      { name: 'forecast', tool_status: 'success', content: marked('sunny') },
    ])
    expect(calls).toMatchObject([
      {
        ...{ tool: { name: 'forecast' }, args: { place: marked('Rome') }, user: 'mia', agent: 'guide' },
        ...{ id: 'call_1_1_0', attempt: 1, threadId: id, idempotencyKey: `${id}:call_1_1_0` },
      },
    ])
    const { tools } = await thread.tools()
    expect(tools.map(({ toolName, kind, source }) => [toolName, kind, source])).toEqual([
      ['look', 'function', undefined],
      ['forecast', 'source', 'weather'],
    ])
    expect(tools[1]).toMatchObject({
      ...{ inputSchema: schema, isReadOnly: true, capabilities: ['weather.read'], policy: 'allowed' },
      ...{ runtimeOwner: 'local', isIdempotent: false, timeout: 300_000 },
    })
    expect(await thread.decisions()).toMatchObject([{ toolName: 'forecast', decision: 'allowed' }])
    const facts = await factsOf(thread)
    const catalog = facts.find(({ type }) => type === 'tool.catalog.resolved')
    expect(catalog?.payload).toMatchObject({ tools: ['look', 'forecast'] })
  })

  test('a source is asked once for a run, and again for the next one', async () => {
    says = [call('a'), call('b'), done, done]
    const { thread, id } = await start('guide', {
      list: [() => [listed('a'), listed('b')], () => [listed('b')]],
    })
    await thread.waitUntilIdle()
    expect(asked.get(id)).toBe(1)
    await thread.send(marked('More'))
    await thread.waitUntilIdle()
    expect(asked.get(id)).toBe(2)
    expect(offered(id)).toEqual([...Array.from({ length: 3 }, () => ['look', 'a', 'b']), ['look', 'b']])
  })

  test('rules judge its tools, and a person approves a call', async () => {
    says = [call('change', { place: marked('Rome') }), call('end'), done]
    const made: string[] = []
    const { thread } = await start('careful', {
      list: [
        () => [
          listed('change', { capabilities: ['weather.change'] }),
          listed('end', { capabilities: ['weather.end'] }),
        ],
      ],
      answer: ({ tool }) => (made.push(tool.name), marked('changed')),
    })
    expect((await thread.waitUntilIdle()).status).toBe('waiting_permission')
    expect(made).toEqual([])
    expect((await thread.tools()).tools.map(({ policy }) => policy)).toEqual(['ask', 'denied'])
    const { pending } = await thread.snapshot()
    expect(pending).toMatchObject([{ kind: 'approval', toolName: 'change' }])
    await thread.respond(pending[0]?.id ?? '', { approved: true })
    await thread.waitUntilIdle()
    expect(made).toEqual(['change'])
    expect(await toolResults(thread)).toMatchObject([
      { name: 'change', tool_status: 'success' },
      { name: 'end', tool_status: 'error' },
    ])
  })

  test('an answer that comes later completes the call', async () => {
    says = [call('ask'), done]
    const { thread } = await start('guide', {
      ...{ list: [() => [listed('ask')]], answer: () => ({ status: 'pending' }) },
    })
    expect((await thread.waitUntilIdle()).status).toBe('waiting_input')
    await thread.respond('call_1_1_0', { result: { status: 'success', result: marked('later') } })
    await thread.waitUntilIdle()
    expect(await toolResults(thread)).toMatchObject([{ tool_status: 'success', content: marked('later') }])
  })

  const form = {
    ...{ type: 'object', properties: { size: { type: 'integer' } }, required: ['size'] },
  }

  test('a call that asks a person goes on with the answer, and may ask again', async () => {
    says = [call('book'), done]
    const parts: unknown[] = []
    const { thread } = await start('guide', {
      list: [() => [listed('book')]],
      answer: () => ({ status: 'pending', form, resume: { part: 1 } }),
      resume({ resume, answer }) {
        parts.push([resume, answer])
        return resume['part'] === 1 ? { status: 'pending', resume: { part: 2 } } : marked('booked')
      },
    })
    expect(await thread.waitUntilIdle()).toMatchObject({ status: 'waiting_input' })
    const [first] = (await thread.snapshot()).pending
    expect(first).toMatchObject({ id: 'call_1_1_0_input_1', kind: 'call', toolName: 'book', form })
    const wrong = thread.respond(first?.id ?? '', { result: { status: 'success', result: { size: 'big' } } })
    await expect(wrong).rejects.toThrow(/size/)
    const size = { status: 'success', result: { size: 3 } } as const
    await thread.respond(first?.id ?? '', { result: size })
    expect(await thread.waitUntilIdle()).toMatchObject({ status: 'waiting_input' })
    // The same answer again is safe.
    await thread.respond(first?.id ?? '', { result: size })
    const [second] = (await thread.snapshot()).pending
    expect(second).toMatchObject({ id: 'call_1_1_0_input_2' })
    await thread.respond(second?.id ?? '', { result: { status: 'error', error: marked('I will not') } })
    expect(await thread.waitUntilIdle()).toMatchObject({ status: 'idle', reason: 'stop_on_response' })
    expect(parts).toEqual([
      [{ part: 1 }, size],
      [{ part: 2 }, { status: 'error', error: marked('I will not') }],
    ])
    expect(await toolResults(thread)).toMatchObject([{ tool_status: 'success', content: marked('booked') }])
    const types = (await factsOf(thread)).map(({ type }) => type)
    expect(types.filter((type) => type === 'tool.started')).toHaveLength(1)
    expect(types.filter((type) => type === 'action.required')).toHaveLength(2)
    expect(types.filter((type) => type === 'action.resolved')).toHaveLength(2)
    expect(await thread.decisions()).toHaveLength(1)
  })

  test('a call that goes on after a time takes no worker meanwhile', async () => {
    says = [call('grow'), done]
    const parts: unknown[] = []
    const { thread } = await start('guide', {
      list: [() => [listed('grow')]],
      answer: () => ({ status: 'pending', after: 100, resume: { part: 1 } }),
      resume({ resume, answer, attempt }) {
        parts.push([resume, answer, attempt])
        return parts.length < 3 ? { status: 'pending', after: 100, resume: { part: 2 } } : marked('grown')
      },
    })
    expect(await thread.waitUntilIdle()).toMatchObject({ status: 'idle', reason: 'stop_on_response' })
    expect(parts).toEqual([
      [{ part: 1 }, null, 1],
      [{ part: 2 }, null, 1],
      [{ part: 2 }, null, 1],
    ])
    expect(await toolResults(thread)).toMatchObject([{ content: marked('grown') }])
  })

  test('a call that asks is ended by a stop, and its request is closed', async () => {
    says = [call('book'), done]
    const { thread } = await start('guide', {
      ...{ list: [() => [listed('book')]], answer: () => ({ status: 'pending', resume: {} }) },
    })
    await thread.waitUntilIdle()
    await thread.stop()
    await thread.waitUntilIdle()
    expect((await thread.snapshot()).pending).toEqual([])
    expect(await toolResults(thread)).toMatchObject([{ tool_status: 'error' }])
  })

  test('a source that asks for ever, or has too much to keep, is an error', async () => {
    says = [call('much'), call('bad'), done]
    const { thread } = await start('guide', {
      list: [() => [listed('much'), listed('bad')]],
      answer: ({ tool }) =>
        tool.name === 'much'
          ? { status: 'pending', resume: { kept: 'x'.repeat(70_000) } }
          : { status: 'pending', resume: {}, form: { type: 'nonsense' } },
    })
    await thread.waitUntilIdle()
    expect((await toolResults(thread)).map(({ content }) => content)).toEqual([
      expect.stringContaining('more than 65536 bytes of state'),
      expect.stringContaining('no JSON Schema'),
    ])
  })

  test('a thrown error is a result with its category, and is tried again where the tool may be repeated', async () => {
    says = [call('once'), call('often'), done]
    const made: string[] = []
    const { thread } = await start('guide', {
      list: [() => [listed('once'), listed('often', { idempotent: true })]],
      answer: ({ tool, attempt }) => {
        made.push(`${tool.name} ${attempt}`)
        if (tool.name === 'often' && attempt === 2) return marked('at last')
        throw new ToolError(marked('The server is down.'), { category: 'transient', code: 'mcp_down' })
      },
    })
    await thread.waitUntilIdle()
    expect(made).toEqual(['once 1', 'often 1', 'often 2'])
    const results = (await factsOf(thread)).flatMap((one) =>
      one.type === 'tool.result' ? [one.payload] : [],
    )
    expect(results).toMatchObject([
      { outcome: 'failed', errorCode: 'mcp_down', failure: { category: 'transient' } },
      { outcome: 'succeeded', failure: { recovery: 'retry' } },
    ])
  })

  test('a source that cannot be asked leaves its tools out, and the run goes on', async () => {
    says = [call('forecast'), done]
    const { thread, id } = await start('guide', {
      list: [
        () => {
          throw new Error(marked('Connection refused'))
        },
      ],
    })
    expect(await thread.waitUntilIdle()).toMatchObject({ status: 'idle', reason: 'stop_on_response' })
    expect(offered(id)).toEqual([['look'], ['look']])
    expect(await toolResults(thread)).toMatchObject([{ name: 'forecast', tool_status: 'error' }])
    const warnings = (await factsOf(thread)).flatMap((one) =>
      one.type === 'runtime.warning' ? [one.payload] : [],
    )
    expect(warnings).toEqual([
      {
        code: 'tools_left_out',
        message: 'The source "weather" could not be asked for its tools, so this run has no tools of it.',
      },
    ])
    expect(await thread.errors()).toMatchObject([
      { type: 'tool_source', message: marked('Connection refused') },
    ])
  })

  test('a name of the prompt stays its own', async () => {
    says = [call('look'), done]
    const { thread, id } = await start('guide', {
      list: [() => [listed('look'), listed('Look'), listed('see')]],
    })
    await thread.waitUntilIdle()
    expect(offered(id)[0]).toEqual(['look', 'see'])
    expect(await toolResults(thread)).toMatchObject([{ tool_status: 'success', content: 'looked' }])
  })
})
