/** `everthread mcp`: the same tools over stdin and stdout. Real processes of it are in `test/integration/cli/mcp-restart.test.ts`. */
import { PassThrough } from 'node:stream'

import { StdioServerTransport } from '@modelcontextprotocol/server/stdio'
import { expect, test } from 'vitest'

import { mcp } from '../../../src/cli/mcp.js'
import { openTerminal } from '../../../src/cli/terminal.js'
import { connectMcp } from '../../support/mcp-client.js'
import type { Era } from '../../support/mcp-client.js'
import { mcpFixture } from './mcp-fixture.js'

const desk = mcpFixture()

interface Running {
  readonly era?: Era
  readonly asks?: boolean
  readonly flags?: Readonly<Record<string, string>>
}

/** The command on streams of its own, and a client at their other end. */
async function run({ flags = {}, ...rest }: Running = {}) {
  const [input, output, problems] = [new PassThrough(), new PassThrough(), new PassThrough()]
  let said = ''
  problems.on('data', (chunk: Buffer) => (said += chunk.toString()))
  const terminal = openTerminal({ input, output, problems })
  const ended = mcp.run({ threads: desk.fixture.threads, terminal }, { arguments: [], flags })
  // A transport over two streams is the same at both ends.
  const user = await connectMcp({ transport: new StdioServerTransport(output, input), ...rest })
  return {
    user,
    input,
    said: () => said,
    async end() {
      await user.close()
      input.end()
      await ended
    },
  }
}

test('a person is asked by the request of the older wire, too', async () => {
  const { user, end } = await run({ era: 'older', asks: true, flags: { account: 'acme', user: 'mia' } })
  const { id } = await user.call('start_desk', { message: 'please refund' })
  const { requests } = await user.rest(id)
  const asked = { id: requests[0].thread, request: requests[0].request }
  Object.assign(user.person ?? {}, { reply: { action: 'accept', content: { decision: 'approve' } } })
  expect(await user.call('agent_answer', asked)).toMatchObject({ accepted: true })
  expect(user.person?.asked).toHaveLength(1)
  expect(await user.rest(id)).toMatchObject({ status: 'finished', text: 'All is **done**.' })
  expect(await desk.fixture.threads.find(id)).toMatchObject({ account: 'acme', userId: 'mia' })
  expect(await desk.fixture.threads.get(id).decisions()).toMatchObject([{ by: 'mia' }])
  await end()
})

test('flags say which agents it offers, and of which account it sees threads', async () => {
  const { user, end } = await run({ flags: { agents: 'mailer, desk', account: 'globex' } })
  const { tools } = await user.client.listTools()
  expect(tools.slice(0, 3).map(({ name }) => name)).toEqual(['start_mailer', 'start_desk', 'agent_get'])
  const { threadId } = await desk.fixture.threads.create({ agent: 'desk', account: 'acme' })
  expect(await user.refused('agent_get', { id: threadId })).toMatch(/^thread_not_found: /)
  await end()
})

test('a message passes as it was written, and one of more than 1 MB is refused', async () => {
  const { user, end } = await run()
  const message = 'Hello\u2028\u2029\u0085\r\n\u007f😀'
  const { id } = await user.call('start_desk', { message })
  await user.rest(id)
  const { messages } = await desk.fixture.threads.get(id).messages()
  expect(messages[0]?.content).toBe(message)
  const long = 'x'.repeat(1024 * 1024 + 1)
  expect(await user.refused('start_desk', { message: long })).toMatch(/^message_rejected: .*1048577/)
  await end()
})

test('lines that are no messages are told of, and the next ones are answered', async () => {
  const { user, input, said, end } = await run()
  input.write('no JSON\n\n{"jsonrpc":"2.0"}\n[1,2]\n')
  input.write(`${'['.repeat(100_000)}\n`)
  const { id } = await user.call('start_desk', { message: 'Hello' })
  expect(await user.rest(id)).toMatchObject({ text: 'Gladly.' })
  expect(said().length).toBeGreaterThan(0)
  await end()
})

test('it ends when its client closes the input, also while a call waits', async () => {
  const { user, input, end } = await run()
  const { id } = await user.call('start_desk', { message: 'tell 400' })
  const waiting = user.call('agent_get', { id, wait: 50 }).catch(() => 'closed')
  setTimeout(() => input.end(), 300)
  await end()
  expect(await waiting).toBe('closed')
  await desk.fixture.threads.get(id).stop()
})
