import { connect } from 'node:net'

import { describe, expect, test } from 'vitest'

import type { ThreadClient } from '../../src/client/index.js'
import { serveThreads } from '../../src/server/index.js'
import { createGate } from '../support/gate.js'
import { deskOfTests as desk } from './desk-of-tests.js'
import { endpointFixture } from './endpoint-fixture.js'
import { ACME } from './server-fixture.js'

const fixture = endpointFixture('dev')
const { ask, run, hurried, answered, logged } = fixture

describe('an endpoint that takes too long', () => {
  test('is 504, told so by the signal of its request, and keeps what it wrote', async () => {
    const late = createGate()
    let refusal: unknown
    const response = await hurried(async ({ signal }, state) => {
      await state.setValue('awaited', 1)
      state.queueTool('look_up', { what: 'begun' })
      void state.setValue('begun', 1)
      await new Promise((stop) => signal.addEventListener('abort', stop))
      refusal = await state.setValue('late', 1).catch((error: unknown) => error)
      late.open()
      return Response.json({})
    })
    expect([response.status, response.headers.get('retry-after')]).toEqual([504, null])
    const { error } = (await response.json()) as { error: { code: string; message: string } }
    expect([error.code, error.message]).toEqual(['endpoint_timeout', expect.stringContaining('within 0.5 s')])
    expect(logged.at(-1)).toMatchObject({ status: 504, error: { code: 'endpoint_timeout' } })
    await late.passed
    expect(String(refusal)).toContain('The endpoint has ended')
    const values = await answered((_request, state) =>
      Promise.all(['awaited', 'begun', 'late'].map((key) => state.getValue(key))),
    )
    expect(values).toEqual([1, 1, null])
    await fixture.thread.waitUntilIdle()
    expect(await answered((_request, state) => state.getValue('looked'))).toBe('begun')
  })

  test('is 504 in time where its store hangs, and nothing is written later', async () => {
    const free = createGate()
    const holding = createGate()
    const held = fixture.env.store.write(async () => {
      holding.open()
      await free.passed
    })
    await holding.passed
    let refusal: unknown
    const response = await hurried(async (_request, state) => {
      refusal = await state.setValue('late', 1).catch((error: unknown) => error)
      return Response.json({})
    })
    expect(response.status).toBe(504)
    free.open()
    await held
    await expect.poll(() => String(refusal)).toContain('The endpoint has ended')
    expect(await answered((_request, state) => state.getValue('late'))).toBeNull()
  })

  test('and answers or throws then is heard by nobody', async () => {
    const cancelled: unknown[] = []
    const over = createGate()
    const streamed = hurried(async () => {
      await over.passed
      return new Response(new ReadableStream({ cancel: (why) => void cancelled.push(why) }))
    })
    expect((await streamed).status).toBe(504)
    const thrown = hurried(async () => {
      await over.passed
      throw new Error('Too late')
    })
    expect((await thrown).status).toBe(504)
    over.open()
    await expect.poll(() => cancelled).toHaveLength(1)
    expect((await ask('orders/A-17')).status).toBe(200)
  })
})

test('an answer that breaks off tells its words to the store, and to nobody else', async () => {
  const response = await run(
    () =>
      new Response(
        ReadableStream.from(
          (async function* () {
            yield new TextEncoder().encode('begun')
            throw new Error('Order 1234')
          })(),
        ),
      ),
    { headers: { 'x-request-id': 'broken-1' } },
  )
  await expect(response.text()).rejects.toThrow('An answer broke off')
  expect(logged.at(-1)).toMatchObject({ status: 500, requestId: 'broken-1' })
  expect(JSON.stringify(logged)).not.toContain('1234')
  const { findError } = await import('../../src/store/errors.js')
  const kept = () => fixture.env.store.read((db) => findError(db, `${fixture.thread.threadId}:broken-1`))
  await expect.poll(async () => (await kept())?.message).toBe('Order 1234')
})

test('an endpoint is told when its caller has gone', async () => {
  const begun = createGate()
  const told = createGate()
  const seen = async ({ signal }: Request) => {
    signal.addEventListener('abort', told.open)
    begun.open()
    await told.passed
    return Response.json({})
  }
  const server = await serveThreads({
    client: fixture.env.threads as ThreadClient,
    tokens: [{ token: ACME, account: 'acme' }],
    endpoints: { routes: { 'seen.post': seen }, registry: desk },
    port: 0,
  })
  const { hostname, port } = new URL(server.url)
  const socket = connect(Number(port), hostname)
  const path = `/threads/${fixture.thread.threadId}/api/seen`
  socket.write(
    `POST ${path} HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer ${ACME}\r\nContent-Length: 0\r\n\r\n`,
  )
  await begun.passed
  socket.destroy()
  await told.passed
  await server.close()
})
