/** Tools that are HTTP requests, in threads: hostile services, secrets, and where results go. */
import { gzipSync } from 'node:zlib'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { z } from 'zod'

import { defineAgent, defineHttpTool, defineModel, definePrompt, registry } from '../../src/index.js'
import type { ThreadHandle } from '../../src/client/index.js'
import type { ToolDefinition } from '../../src/index.js'
import type { Store } from '../../src/store/store.js'
import { scriptedModel } from '../../src/testing/index.js'
import { servicesOfTests } from '../support/http-service.js'
import { testEnvironment } from '../support/test-store.js'
import { factsOf, toolResults } from '../support/thread-facts.js'
import { startTimeSkippingServer } from '../support/time-skipping-server.js'
import type { TimeSkippingServer } from '../support/time-skipping-server.js'

const CANARY = 'canary-of-http-tools/5f1e'

let server: TimeSkippingServer
beforeAll(async () => {
  server = await startTimeSkippingServer()
})
afterAll(() => server.stop())

const serve = servicesOfTests()

type Answer = NonNullable<Parameters<typeof serve>[0]>

/** A thread whose model calls the tool so often, and then answers. */
async function withThread(
  {
    id,
    tool,
    calls = 1,
  }: { readonly id: string; readonly tool: ToolDefinition<typeof described.args>; readonly calls?: number },
  work: (thread: ThreadHandle, environment: { readonly store: Store }) => Promise<void>,
): Promise<void> {
  const desk = registry({
    models: [defineModel({ name: 'chat', provider: { languageModel: () => ({}) as never }, model: 'm' })],
    prompts: [
      definePrompt({
        ...{ name: 'clerk', toolDescription: 'Answers', model: 'chat', prompt: 'Clerk.' },
        ...{ includeChat: true, includePastTools: true, tools: ['look'] },
      }),
    ],
    agents: [defineAgent({ name: 'clerk', sideA: { prompt: 'clerk' } })],
    tools: { look: tool },
  })
  const step = { toolCalls: [{ name: 'look', args: { id: 'A-17' } }] }
  const chat = scriptedModel([...Array.from({ length: calls }, () => step), { text: 'Done.' }])
  const environment = await testEnvironment(
    {
      ...{ registry: desk, models: { chat }, server: server.environment, env: { SHOP_KEY: CANARY } },
    },
    STORED,
  )
  try {
    const thread = await environment.threads.create({ id, agent: 'clerk', message: 'Look.' })
    expect(await thread.waitUntilIdle()).toMatchObject({ status: 'idle', reply: { content: 'Done.' } })
    await work(thread, environment)
  } finally {
    await environment.close()
  }
}

const described = {
  description: 'Looks at an order.',
  allow: ['127.0.0.1'],
  args: z.object({ id: z.string() }),
}
const auth = { bearer: 'SHOP_KEY' } as const

const STORED = [
  'messages',
  'tool_calls',
  'operations',
  'events',
  'errors',
  'deltas',
  'runs',
  'thread_values',
  'pending',
] as const

/** The rows of threads, as one text. */
async function stored({ store }: { readonly store: Store }): Promise<string> {
  return store.read(async (db) =>
    JSON.stringify(await Promise.all(STORED.map((table) => db.selectFrom(table).selectAll().execute()))),
  )
}

test('KP-03.1 a REST service gets the credentials, which are in no record, event or text', async () => {
  const { url, asked } = await serve(
    ({ headers }, response) =>
      void response.writeHead(200, { 'content-type': 'application/json' }).end(
        JSON.stringify({
          item: 'tea',
          echo: headers.authorization,
          both: `${headers.authorization}`.repeat(2),
        }),
      ),
  )
  const tool = defineHttpTool({ ...described, url: `${url}/orders/{id}`, auth })
  await withThread({ id: 'http-tools-secret', tool }, async (thread, environment) => {
    expect(asked).toMatchObject([{ url: '/orders/A-17', headers: { authorization: `Bearer ${CANARY}` } }])
    const [result] = await toolResults(thread)
    expect(result?.content).toContain('"item":"tea"')
    expect(result?.content).toContain('[secret SHOP_KEY]')
    const all = `${await stored(environment)}${JSON.stringify(await factsOf(thread))}`
    expect(all).toContain('[secret SHOP_KEY]')
    expect(all).not.toContain('5f1e')
  })
})

test('KP-03.1 a GraphQL service gets the arguments as variables', async () => {
  const { url, asked } = await serve(
    (_asked, response) =>
      void response
        .writeHead(200, { 'content-type': 'application/json' })
        .end('{"data":{"order":{"item":"tea"}}}'),
  )
  const graphql = 'query ($id: ID!) { order(id: $id) { item } }'
  const tool = defineHttpTool({ ...described, url, graphql, auth, select: '/order' })
  await withThread({ id: 'http-tools-graphql', tool }, async (thread) => {
    expect(JSON.parse(asked[0]?.body ?? '')).toEqual({ query: graphql, variables: { id: 'A-17' } })
    expect((await toolResults(thread))[0]?.content).toBe('{"item":"tea"}')
  })
})

test('KP-13.3 a status of failure is recognizable in the trace', async () => {
  const { url, asked } = await serve(
    (_asked, response) => void response.writeHead(500).end('the disk is full'),
  )
  const tool = defineHttpTool({ ...described, method: 'POST', url })
  await withThread({ id: 'http-tools-500', tool }, async (thread) => {
    expect(asked).toHaveLength(1)
    const told = (await factsOf(thread)).filter(({ type }) => type === 'tool.result')
    expect(told.map(({ payload }) => payload)).toMatchObject([
      { failure: { status: 500, category: 'transient', isRetryable: true, attempts: 1 } },
    ])
    const [result] = await toolResults(thread)
    expect(result?.content).toContain('The service answered 500 (Internal Server Error): the disk is full')
  })
})

test('KP-04.6 503 and then 200 is one result of two attempts; 400 is asked once, a destructive tool too', async () => {
  const flaky = await serve(
    (() => {
      let asked = 0
      return (_asked, response) => {
        asked += 1
        response.writeHead(asked === 1 ? 503 : 200).end('tea')
      }
    })(),
  )
  await withThread(
    { id: 'http-tools-503', tool: defineHttpTool({ ...described, url: flaky.url }) },
    async (thread) => {
      expect(flaky.asked).toHaveLength(2)
      expect((await toolResults(thread)).map(({ content }) => content)).toEqual(['tea'])
      const [call] = await thread.decisions()
      expect((await thread.toolCall(call?.toolCallId ?? ''))?.failure).toMatchObject({
        ...{ attempts: 2, status: 503, recovery: 'retry' },
      })
    },
  )
  const bad = await serve((_asked, response) => void response.writeHead(400).end())
  await withThread(
    { id: 'http-tools-400', tool: defineHttpTool({ ...described, url: bad.url }) },
    async () => {
      expect(bad.asked).toHaveLength(1)
    },
  )
  const busy = await serve((_asked, response) => void response.writeHead(503).end())
  const removing = defineHttpTool({ ...described, method: 'DELETE', url: busy.url, destructive: true })
  await withThread({ id: 'http-tools-destructive', tool: removing }, async () => {
    expect(busy.asked).toHaveLength(1)
  })
})

test('KP-04.4 a result lands in the context of the model, or in a value of the thread', async () => {
  const { url } = await serve(
    (_asked, response) =>
      void response.writeHead(200, { 'content-type': 'application/json' }).end('{"item":"tea"}'),
  )
  await withThread(
    { id: 'http-tools-context', tool: defineHttpTool({ ...described, url }) },
    async (thread) => {
      expect((await toolResults(thread))[0]?.content).toBe('{"item":"tea"}')
    },
  )
  const tool = defineHttpTool({ ...described, url, storeAs: 'order' })
  await withThread({ id: 'http-tools-value', tool }, async (thread, { store }) => {
    expect((await toolResults(thread))[0]?.content).toBe('Stored as the value "order" of this conversation.')
    const values = await store.read((db) => db.selectFrom('thread_values').select(['key', 'value']).execute())
    expect(values.map(({ key, value }) => [key, JSON.parse(String(value)) as unknown])).toEqual([
      ['order', { item: 'tea' }],
    ])
  })
})

test('a hostile service is an error with a name in each case, and the thread goes on', async () => {
  // Packed before the request: on a busy machine that takes as long as the request may.
  const bomb = gzipSync(Buffer.alloc(100_000_000))
  const hostile: readonly (readonly [string, Answer])[] = [
    [
      'http_address',
      (_asked, response) => void response.writeHead(302, { location: 'https://169.254.169.254/' }).end(),
    ],
    ['unusable_answer', (_asked, response) => void response.end(Buffer.alloc(100_000_000, 'x'))],
    ['http_timeout', (_asked, response) => void response.write('slow')],
    [
      'unusable_answer',
      (_asked, response) =>
        void response.writeHead(200, { 'content-type': 'text/plain' }).end(Buffer.from([0xc3, 0x28])),
    ],
    [
      'http_connection',
      (_asked, response) => {
        response.writeHead(200, { 'content-length': '9' })
        response.write('x')
        setTimeout(() => response.destroy(), 20)
      },
    ],
    [
      'unusable_answer',
      (_asked, response) => void response.writeHead(200, { 'content-encoding': 'gzip' }).end(bomb),
    ],
    ['http_redirect', ({ url }, response) => void response.writeHead(302, { location: `${url}x` }).end()],
  ]
  let asked = 0
  const { url } = await serve((one, response) => {
    // Of a redirect that is followed, the same answer.
    if (!/x+$/.test(one.url)) asked += 1
    hostile[Math.min(asked, hostile.length) - 1]?.[1](one, response)
  })
  const tool = defineHttpTool({
    ...{ ...described, url, retry: false, requestTimeout: 2_000, redirectHosts: ['169.254.169.254'] },
  })
  await withThread({ id: 'http-tools-hostile', tool, calls: hostile.length }, async (thread) => {
    const codes = (await factsOf(thread)).flatMap((event) =>
      event.type === 'tool.result' ? event.payload.errorCode : [],
    )
    expect(codes).toEqual(hostile.map(([code]) => code))
  })
})

test('what a name stands for is checked when it is reached', async () => {
  const { port, asked } = await serve((_asked, response) => void response.end('inside'))
  const tool = defineHttpTool({ ...described, url: `https://localhost:${port}/`, allow: [] })
  await withThread({ id: 'http-tools-inside', tool }, async (thread) => {
    expect((await toolResults(thread))[0]?.content).toContain(
      'Expected "localhost" to be on the public internet',
    )
    expect(asked).toEqual([])
  })
})
