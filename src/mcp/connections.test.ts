import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'

import { afterAll, beforeAll, expect, test } from 'vitest'

import { createConnections } from './connections.js'

/** The least of a server of 2025. */
const server = createServer((request, response) => {
  let body = ''
  request.on('data', (chunk: Buffer) => (body += chunk.toString()))
  request.on('end', () => {
    const { id, method } = (body === '' ? {} : JSON.parse(body)) as { id?: number; method?: string }
    if (id === undefined) return response.writeHead(request.method === 'POST' ? 202 : 405).end()
    const result = {
      ...{ protocolVersion: '2025-06-18', capabilities: {}, serverInfo: { name: 'least', version: '1' } },
    }
    const answer = method === 'initialize' ? { result } : { error: { code: -32_601, message: 'No' } }
    response.setHeader('content-type', 'application/json')
    return response.end(JSON.stringify({ jsonrpc: '2.0', id, ...answer }))
  })
})
let url = ''
beforeAll(async () => {
  await new Promise<void>((resolve) => {
    server.listen(0, '127.0.0.1', resolve)
  })
  url = `http://127.0.0.1:${(server.address() as AddressInfo).port}/mcp`
})
afterAll(() => {
  server.closeAllConnections()
  server.close()
})

const by = (user: string) => ({ threadId: 't', agent: 'a', account: null, user })

test('people share a connection without tokens', async () => {
  const connections = createConnections({ name: 'demo', url, tools: 'all' })
  expect(await connections.get(by('mia'))).toBe(await connections.get(by('tom')))
  await connections.close()
})

test('with tokens each person has one, at most 64 are open, and the one that rested longest is closed', async () => {
  const connections = createConnections({ name: 'demo', url, tools: 'all', tokens: ({ user }) => user })
  const [first, second] = [await connections.get(by('0')), await connections.get(by('1'))]
  expect(first).not.toBe(second)
  for (let number = 2; number < 64; number += 1) await connections.get(by(String(number)))
  expect(await connections.get(by('0'))).toBe(first)
  await connections.get(by('64'))
  expect(await connections.get(by('0'))).toBe(first)
  expect(await connections.get(by('1'))).not.toBe(second)
  await connections.close()
})

test('a connection that could not be made is tried again', async () => {
  let token: string | null = null
  const connections = createConnections({ name: 'demo', url, tools: 'all', tokens: () => token })
  await expect(connections.get(by('mia'))).rejects.toMatchObject({ code: 'mcp_no_token' })
  token = 'a-token'
  await expect(connections.get(by('mia'))).resolves.toBeDefined()
  await connections.close()
})
