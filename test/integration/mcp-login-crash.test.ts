import { setTimeout as sleep } from 'node:timers/promises'

import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest'
import { z } from 'zod'

import { REDIRECT, serveAuthorization, serveGuarded } from '../mcp/login-test-server.js'
import type { AuthorizationServer } from '../mcp/login-test-server.js'
import { createGate } from '../support/gate.js'
import { marked } from '../support/marker.js'
import { toolResults } from '../support/thread-facts.js'
import { until } from '../support/until.js'
import { createFixture } from './worker/fixture.js'
import type { Fixture } from './worker/fixture.js'
import { caseOf } from './worker/model-script.js'
import type { WorkerProcess } from './worker/run-worker.js'
import { expectWholeLog } from './worker/whole-thread.js'

let fixture: Fixture
let worker: WorkerProcess
let issuer: AuthorizationServer
let closeServer: () => Promise<void>
/** The calls of the MCP server, by case. */
const did: string[] = []
/** The calls of these cases are not answered. */
const held = new Set<string>()
const never = createGate()

beforeAll(async () => {
  issuer = await serveAuthorization()
  const served = await serveGuarded({
    register(server) {
      server.registerTool(
        'book',
        { description: 'Books', inputSchema: z.object({ task: z.string() }) },
        async ({ task }) => {
          did.push(task)
          if (held.delete(task)) await never.passed
          return { content: [{ type: 'text', text: marked('Booked') }] }
        },
      )
    },
    issuer: () => issuer.url,
    scopeOf: (token) => issuer.scopeOf(token),
  })
  closeServer = served.close
  fixture = await createFixture({
    ...{ desk: 'mcp', mcpUrl: served.url, mcpRedirectUrl: REDIRECT },
    answerer(messages) {
      const since = messages.slice(messages.findLastIndex(({ role }) => role === 'user'))
      const [, names = ''] = /please ([\w ]+)/.exec(JSON.stringify(since[0]?.content)) ?? []
      const name = names.trim().split(' ')[
        since.length === 1 ? 0 : since.filter(({ role }) => role === 'tool').length
      ]
      if (name === undefined) return { text: marked('Done') }
      // The run has its list already: what ends now ends before the call.
      if (name === 'book' && since.length === 1) issuer.revoke(true)
      const input = name === 'book' ? { task: caseOf(messages) } : {}
      return { toolCalls: [{ name, input: JSON.stringify(input) }] }
    },
  })
  worker = await fixture.startWorker()
})
afterAll(async () => {
  await fixture.close()
  await issuer.close()
  await closeServer()
})
beforeEach(() => {
  issuer.before = () => Promise.resolve()
  issuer.behind = () => Promise.resolve()
})

const start = (id: string, tools = 'connect_web book') =>
  fixture.create({ id, userId: id, message: marked(`please ${tools} #${id}`) })
type Thread = Awaited<ReturnType<typeof start>>

/** The newest request to log in, once its state is another one than `known`. */
const asked = (thread: Thread, known = '') =>
  until('a request to log in', async () => {
    const [request] = (await thread.snapshot()).pending
    const isNew = request?.kind === 'call' && request.connect !== undefined && request.connect.state !== known
    return isNew && request.connect !== undefined ? { id: request.id, connect: request.connect } : undefined
  })

async function answer(thread: Thread, { id, connect }: Awaited<ReturnType<typeof asked>>): Promise<void> {
  const result = await issuer.visit(connect.url)
  const caller = { account: null, user: thread.threadId }
  await thread.respond(id, { result: { status: 'success', result } }, { caller })
}

/** A call of a tool that may not be repeated, whose login ended behind the list of its run. */
async function bookWithEndedLogin(id: string) {
  const thread = await start(id, 'connect_web')
  await answer(thread, await asked(thread))
  await thread.waitUntilIdle({ timeout: '100 s' })
  await thread.send(marked(`please book #${id}`))
  return { thread, request: await asked(thread) }
}

async function expectBooked(thread: Thread): Promise<void> {
  await thread.waitUntilIdle({ timeout: '100 s' })
  expect((await toolResults(thread)).at(-1)).toMatchObject({
    ...{ tool_status: 'success', content: marked('Booked') },
  })
  expect(did.filter((one) => one === thread.threadId)).toHaveLength(1)
  await expectWholeLog(thread)
}

test('a worker that is killed while a person logs in loses nothing: the next one exchanges the code', async () => {
  const thread = await start('mcp-login-away')
  const request = await asked(thread)
  await worker.kill()
  const answering = answer(thread, request)
  worker = await fixture.startWorker()
  await answering
  await expectBooked(thread)
})

test('a worker that is killed behind the exchange, before it has kept the tokens, lets the person be asked again', async () => {
  const { thread, request } = await bookWithEndedLogin('mcp-login-lost')
  const exchanged = createGate()
  issuer.behind = async () => {
    issuer.behind = () => Promise.resolve()
    exchanged.open()
    await never.passed
  }
  await answer(thread, request)
  await exchanged.passed
  await worker.kill()
  worker = await fixture.startWorker()
  const second = await asked(thread, request.connect.state)
  await answer(thread, second)
  await expectBooked(thread)
})

test('a worker that is killed when it has kept the tokens, before its commit, leaves them to the next one', async () => {
  const { thread, request } = await bookWithEndedLogin('mcp-login-kept')
  const [reached, goOn] = [createGate(), createGate()]
  issuer.before = async () => {
    reached.open()
    await goOn.passed
  }
  const before = issuer.asked.length
  await answer(thread, request)
  await reached.passed
  const at = { of: 'thread', operation: 'call_2_1_0', state: 'waiting', when: 'before its commit' } as const
  worker.dieAt({ threadId: thread.threadId, ...at })
  // The order has to arrive before the answer of the token endpoint.
  await sleep(1_000)
  goOn.open()
  expect(await worker.gone).toBe('SIGKILL')
  worker = await fixture.startWorker()
  await expectBooked(thread)
  // The code was exchanged once, and nobody was asked again.
  expect(issuer.asked.slice(before)).toEqual(['authorization_code'])
})

test('a call that a killed worker leaves behind a login is unknown, and made once', async () => {
  const id = 'mcp-login-call'
  const { thread, request } = await bookWithEndedLogin(id)
  held.add(id)
  await answer(thread, request)
  await until('a running call', () => did.includes(id))
  await worker.kill()
  worker = await fixture.startWorker()
  await thread.waitUntilIdle({ timeout: '100 s' })
  expect((await toolResults(thread)).at(-1)).toMatchObject({
    ...{ tool_status: 'error', content: expect.stringContaining('unknown') },
  })
  expect(did.filter((one) => one === id)).toHaveLength(1)
  await expectWholeLog(thread)
})
