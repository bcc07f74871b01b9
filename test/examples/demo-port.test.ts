import { once } from 'node:events'
import { createServer } from 'node:net'
import type { AddressInfo } from 'node:net'

import { expect, onTestFinished, test } from 'vitest'

import { listen } from '../../examples/demo/listen.js'
import { ThreadClient } from '../../src/client/index.js'
import { ConfigError } from '../../src/index.js'

async function takePort(): Promise<number> {
  const other = createServer().listen(0, '127.0.0.1')
  onTestFinished(() => void other.close())
  await once(other, 'listening')
  return (other.address() as AddressInfo).port
}

test('the HTTP server of the demo takes a free port if its own is taken', async () => {
  const client = new ThreadClient()
  const port = await takePort()
  const server = await listen({ client, tokens: [{ token: 'a-token-of-the-operator' }], port })
  expect(new URL(server.url).port).not.toBe(String(port))
  expect((await fetch(`${server.url}/health`)).status).toBe(200)
  await server.close()
  await client.close()
})

test('a wrong configuration of that server is refused', async () => {
  const listening = listen({
    client: new ThreadClient(),
    tokens: [{ token: 'short' }],
    port: await takePort(),
  })
  await expect(listening).rejects.toThrow(ConfigError)
})
