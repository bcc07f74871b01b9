import { afterAll, beforeEach, expect, test } from 'vitest'

import { agent } from '../../src/index.js'
import { mcpServer } from '../../src/mcp/index.js'
import { createThreadApp } from '../../src/server/index.js'
import { scriptedModel } from '../../src/testing/index.js'
import type { ScriptedAnswer } from '../../src/testing/index.js'
import { REDIRECT, serveAuthorization, serveGuarded } from '../mcp/login-test-server.js'
import { marked } from '../support/marker.js'
import { factsOf, toolResults } from '../support/thread-facts.js'
import { threeModes } from '../support/three-modes.js'

const issuer = await serveAuthorization()
let booked = 0
const guarded = await serveGuarded({
  register(server) {
    server.registerTool('book', { description: 'Books' }, () => {
      booked += 1
      return { content: [{ type: 'text', text: marked('Booked') }] }
    })
  },
  issuer: () => issuer.url,
  scopeOf: (token) => issuer.scopeOf(token),
})
afterAll(async () => {
  await issuer.close()
  await guarded.close()
})

let says: (ScriptedAnswer | (() => ScriptedAnswer))[] = []
beforeEach(() => {
  says = []
})
/** The names that each request to the model has offered. */
const offered: string[][] = []
const model = scriptedModel((request) => {
  offered.push((request.tools ?? []).map(({ name }) => name))
  const next = says.shift()
  if (next === undefined) throw new Error('Expected no request, got one.')
  return typeof next === 'function' ? next() : next
})

const travel = mcpServer({
  ...{ name: 'travel', url: guarded.url, tools: ['book'] },
  oauth: { redirectUrl: REDIRECT, allow: ['127.0.0.1'] },
})
const clerk = agent({ name: 'clerk', model, instructions: 'You book.', tools: { travel } })

const call = (name: string): ScriptedAnswer => ({ toolCalls: [{ name, args: {} }] })
const done: ScriptedAnswer = { text: marked('Done') }

threeModes({ agents: [clerk], models: model }, (modes) => {
  const place = modes.mode.replaceAll(' ', '-')
  const start = (id: string, user: string) =>
    modes.env.threads.create({
      ...{ agent: 'clerk', message: marked('Hello'), id: `mcp-logins-${id}-${place}`, userId: user },
    })
  type Thread = Awaited<ReturnType<typeof start>>
  /** The request to log in that a thread waits with. */
  const askedOf = async (thread: Thread) => {
    expect((await thread.waitUntilIdle()).status).toBe('waiting_input')
    const [request] = (await thread.snapshot()).pending
    if (request?.kind !== 'call' || request.connect === undefined)
      throw new Error('Expected a request to log in.')
    return { id: request.id, connect: request.connect }
  }
  const answerTo = async (address: string, allows = true) =>
    ({ result: { status: 'success', result: await issuer.visit(address, allows) } }) as const
  const logIn = async (thread: Thread, user: string): Promise<void> => {
    const { id, connect } = await askedOf(thread)
    await thread.respond(id, await answerTo(connect.url), { caller: { account: null, user } })
  }

  test('a person without a login is asked for one, and the same run then has the tools of the server', async () => {
    offered.length = 0
    says = [call('connect_travel'), call('book'), done]
    const thread = await start('connect', 'ann')
    await logIn(thread, 'ann')
    expect(await thread.waitUntilIdle()).toMatchObject({ status: 'idle', reason: 'stop_on_response' })
    expect(offered).toEqual([['connect_travel'], ['book'], ['book']])
    expect(await toolResults(thread)).toMatchObject([
      { tool_status: 'success', content: expect.stringContaining('Its tools: book.') },
      { tool_status: 'success', content: marked('Booked') },
    ])
    // Another thread of that person needs no request; one of another person has its own.
    says = [call('book'), done]
    const second = await start('second', 'ann')
    expect(await second.waitUntilIdle()).toMatchObject({ status: 'idle' })
    says = [call('connect_travel'), done]
    const other = await start('other', 'tom')
    await askedOf(other)
    const logins = await modes.env.threads.logins.list({ userId: 'ann' })
    expect(logins).toMatchObject([{ source: 'travel' }])
  })

  test('a login that ends between the list and the call lets the call wait, and it is made once', async () => {
    says = [call('connect_travel'), done]
    const thread = await start('ends', 'eva')
    await logIn(thread, 'eva')
    await thread.waitUntilIdle()
    const before = booked
    says = [
      () => {
        issuer.revoke(true)
        return call('book')
      },
      done,
    ]
    await thread.send(marked('Book it'))
    const { id, connect } = await askedOf(thread)
    expect(booked).toBe(before)
    const caller = { account: null, user: 'eva' } as const
    // Another state is refused, and so is anybody but the person; the request stays open.
    const back = await issuer.visit(connect.url)
    const forged = { result: { status: 'success', result: { ...back, state: 'forged' } } } as const
    await expect(thread.respond(id, forged, { caller })).rejects.toThrow('stays open')
    const right = { result: { status: 'success', result: back } } as const
    for (const others of [
      { account: null, user: 'tom' },
      { account: 'acme', user: 'eva' },
      { account: null },
    ])
      await expect(thread.respond(id, right, { caller: others })).rejects.toThrow('the user of the thread')
    await expect(thread.respond(id, right)).rejects.toThrow('an answer without `{ caller }`')
    await thread.respond(id, right, { caller })
    expect(await thread.waitUntilIdle()).toMatchObject({ status: 'idle', reason: 'stop_on_response' })
    expect(booked).toBe(before + 1)
    expect((await toolResults(thread)).at(-1)).toMatchObject({ content: marked('Booked') })
  })

  test('a person who declines is an error result, and the run goes on', async () => {
    says = [call('connect_travel'), done]
    const thread = await start('declines', 'ida')
    const { id, connect } = await askedOf(thread)
    await thread.respond(id, await answerTo(connect.url, false), { caller: { account: null, user: 'ida' } })
    expect(await thread.waitUntilIdle()).toMatchObject({ status: 'idle', reason: 'stop_on_response' })
    const results = (await factsOf(thread)).flatMap((one) =>
      one.type === 'tool.result' ? [one.payload] : [],
    )
    expect(results).toMatchObject([
      { outcome: 'failed', errorCode: 'mcp_login_refused', failure: { category: 'permission' } },
    ])
  })

  test('over HTTP a request has its address, and only the token of its person answers it', async () => {
    says = [call('connect_travel'), call('book'), done]
    const tokens = ['kim', 'lee'].map((user) => ({
      token: `token-of-the-user-${user}`,
      account: 'acme',
      user,
    }))
    const app = createThreadApp({
      ...{ client: modes.env.threads, page: false, tokens: [...tokens, { token: 'token-of-an-operator' }] },
    })
    const ask = async (path: string, token: string, body?: object): Promise<[number, unknown]> => {
      const response = await app.request(path, {
        headers: { authorization: `Bearer ${token}`, 'content-type': 'application/json' },
        ...(body !== undefined && { method: 'POST', body: JSON.stringify(body) }),
      })
      return [response.status, response.status === 204 ? null : await response.json()]
    }
    const [kim = '', lee = ''] = tokens.map(({ token }) => token)
    const id = `mcp-logins-http-${place}`
    const made = { agent: 'clerk', message: marked('Hello'), id, userId: 'kim', account: 'acme' }
    const thread = await modes.env.threads.create(made)
    const { id: requestId, connect } = await askedOf(thread)
    const [, listed] = await ask(`/requests?threadId=${id}`, kim)
    expect(listed).toMatchObject({ requests: [{ kind: 'call', connect }] })
    const path = `/threads/${id}/requests/${requestId}`
    const answer = await answerTo(connect.url)
    for (const token of [lee, 'token-of-an-operator'])
      expect(await ask(path, token, answer)).toMatchObject([403, { error: { code: 'approval_forbidden' } }])
    expect((await ask(path, kim, answer))[0]).toBeLessThan(300)
    expect(await thread.waitUntilIdle()).toMatchObject({ status: 'idle' })
    expect((await toolResults(thread)).at(-1)).toMatchObject({ content: marked('Booked') })
  })

  test('neither a verifier nor a token is in what a thread shows, in its rows or in its histories', async () => {
    says = [call('connect_travel'), call('book'), done]
    const thread = await start('secrets', 'zoe')
    const { connect, id } = await askedOf(thread)
    const shown = [await thread.snapshot(), await factsOf(thread), await thread.request(id)]
    for await (const request of modes.env.threads.pending()) shown.push(request as never)
    await thread.respond(id, await answerTo(connect.url), { caller: { account: null, user: 'zoe' } })
    await thread.waitUntilIdle()
    shown.push(await thread.snapshot(), await factsOf(thread))
    shown.push((await thread.messages()) as never)
    const store = modes.env.store
    const rows = await store.read(async (db) => [
      await db.selectFrom('operations').selectAll().where('thread_id', '=', thread.threadId).execute(),
      await db.selectFrom('pending').selectAll().where('thread_id', '=', thread.threadId).execute(),
      await db.selectFrom('logins').selectAll().where('user_id', '=', 'zoe').execute(),
      await db.selectFrom('errors').selectAll().where('thread_id', '=', thread.threadId).execute(),
      await db.selectFrom('events').selectAll().where('thread_id', '=', thread.threadId).execute(),
    ])
    const histories = (await modes.runs(thread.threadId)).map(({ history }) => decoded(history))
    const everything = [JSON.stringify([shown, rows]), ...histories].join('\n')
    expect(histories.join('').length).toBeGreaterThan(1_000)
    const secrets = [...issuer.verifiers, ...guarded.seen]
    expect(secrets.length).toBeGreaterThan(2)
    expect(secrets.filter((secret) => everything.includes(secret))).toEqual([])
    // The state and the address are for the person, and in no history.
    expect(histories.filter((text) => text.includes(connect.state))).toEqual([])
  })
})

/** A history with its payloads as texts. */
function decoded(history: object): string {
  return JSON.stringify(history, (_key, value: unknown) =>
    value instanceof Uint8Array
      ? Buffer.from(value).toString('utf8')
      : typeof value === 'bigint'
        ? String(value)
        : value,
  )
}
