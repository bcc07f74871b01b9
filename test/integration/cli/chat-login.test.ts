import { NativeConnection } from '@temporalio/worker'
import { afterAll, beforeAll, expect, inject, test } from 'vitest'

import { agent, registry } from '../../../src/index.js'
import { mcpServer } from '../../../src/mcp/index.js'
import { scriptedModel } from '../../../src/testing/index.js'
import { createWorker } from '../../../src/worker/index.js'
import { REDIRECT, serveAuthorization, serveGuarded } from '../../mcp/login-test-server.js'
import { until } from '../../support/until.js'
import { openCliPlace, openScreen } from './cli-place.js'
import type { CliPlace } from './cli-place.js'

const issuer = await serveAuthorization()
const guarded = await serveGuarded({
  register: (server) =>
    server.registerTool('book', { description: 'Books' }, () => ({
      content: [{ type: 'text', text: 'Booked' }],
    })),
  issuer: () => issuer.url,
  scopeOf: (token) => issuer.scopeOf(token),
})
let place: CliPlace
beforeAll(async () => {
  place = await openCliPlace()
})
afterAll(async () => {
  await place.close()
  await issuer.close()
  await guarded.close()
})

test('a person logs in at a server from the terminal: the address that they were sent back to is the answer', async () => {
  const model = scriptedModel([
    { toolCalls: [{ name: 'connect_travel', args: {} }] },
    { toolCalls: [{ name: 'book', args: {} }] },
    { text: 'It is booked.' },
  ])
  const travel = mcpServer({
    ...{ name: 'travel', url: guarded.url, tools: ['book'] },
    oauth: { redirectUrl: REDIRECT, allow: ['127.0.0.1'] },
  })
  const clerk = agent({ name: 'clerk', model, instructions: 'You book.', tools: { travel } })
  const connection = await NativeConnection.connect({ address: inject('devServerAddress') })
  const workflowBundle = { codePath: inject('workflowBundlePath') }
  const worker = await createWorker({ registry: registry({ agents: [clerk] }), connection, workflowBundle })
  const screen = openScreen()
  try {
    const code = await worker.runUntil(async () => {
      const ended = screen.run('chat', 'clerk', '--user', 'ann')
      const sees = (text: string) => until(`"${text}" on the screen`, async () => screen.shown.includes(text))
      await sees('you: ')
      screen.type('Book it.')
      await sees('The address that you were sent to then')
      const url = /travel wants you to log in: (\S+)/.exec(screen.shown)?.[1] ?? ''
      const back = new URLSearchParams(await issuer.visit(url))
      screen.type(`${REDIRECT}?${back.toString()}`)
      await sees('It is booked.')
      screen.end()
      return ended
    })
    expect(code).toBe(0)
    expect(screen.shown).toContain('→ book')
  } finally {
    screen.close()
    await connection.close()
  }
})
