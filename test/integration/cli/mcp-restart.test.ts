/** An MCP client and kill -9 of everything between its calls: its server, the worker and Temporal. */
import { StreamableHTTPClientTransport } from '@modelcontextprotocol/client'
import { StdioClientTransport } from '@modelcontextprotocol/client/stdio'
import { afterEach, beforeEach, expect, test } from 'vitest'

import { connectMcp } from '../../support/mcp-client.js'
import type { McpUser } from '../../support/mcp-client.js'
import { COMMAND, openRestartPlace, TOKEN } from './restart-place.js'
import type { RestartPlace } from './restart-place.js'

let place: RestartPlace
beforeEach(async () => {
  place = await openRestartPlace('mcp')
})
afterEach(() => place.close())

/** Each connects a client to a new process. */
const DOORS = {
  async http(): Promise<McpUser> {
    const url = await place.serve('--mcp')
    const requestInit = { headers: { authorization: `Bearer ${TOKEN}` } }
    const transport = new StreamableHTTPClientTransport(new URL(`${url}/mcp`), { requestInit })
    return connectMcp({ transport })
  },
  async stdio(): Promise<McpUser> {
    const transport = new StdioClientTransport({
      ...{ command: process.execPath, args: [...COMMAND, 'mcp'], env: place.env, stderr: 'ignore' },
    })
    const user = await connectMcp({ transport })
    const { pid } = transport
    place.onKill(async () => {
      if (pid !== null) process.kill(pid, 'SIGKILL')
      await user.close()
    })
    return user
  },
} as const

test.each(Object.keys(DOORS) as (keyof typeof DOORS)[])(
  'a client over %s starts an agent, answers its request and gets its result over a restart of everything',
  async (door) => {
    const start = { message: 'please refund', key: 'ticket-1' }
    // A worker has recorded its agents; then none runs.
    await place.startTemporal()
    await place.startWorker()
    await place.killAll()
    await place.startTemporal()
    let user = await DOORS[door]()
    const { id } = await user.call('start_desk', start)
    expect(await user.call('agent_get', { id, wait: 0 })).toMatchObject({ status: 'working' })

    await place.killAll()
    await place.startTemporal()
    await place.startWorker()
    user = await DOORS[door]()
    expect(await user.call('start_desk', start)).toMatchObject({ id })
    const [asked] = (await user.rest(id)).requests
    expect(asked).toMatchObject({ kind: 'approval', thread: id })

    await place.killAll()
    await place.startTemporal()
    await place.startWorker()
    user = await DOORS[door]()
    const answer = { id, request: asked.request, answer: { approved: true } }
    expect(await user.call('agent_answer', answer)).toMatchObject({ accepted: true })
    const ended = await user.rest(id)
    expect(ended).toMatchObject({ status: 'finished', text: 'All is **done**.' })

    await place.killAll()
    await place.startTemporal()
    user = await DOORS[door]()
    expect(await user.rest(id)).toEqual(ended)
    const { threads } = place
    const { messages } = await threads.get(id).messages()
    expect(messages.map(({ role }) => role)).toEqual(['user', 'assistant', 'tool', 'assistant'])
    expect(await threads.get(id).decisions()).toMatchObject([{ decision: 'allowed', outcome: 'succeeded' }])
  },
  180_000,
)
