/** What the tools do, without the protocol that carries them. */
import { expect, test } from 'vitest'

import { agentState, FIRST_CURSOR, readState } from '../../../src/server/mcp/agent-state.js'
import {
  answerRequest,
  cancelAgent,
  getAgent,
  sendToAgent,
  startAgent,
} from '../../../src/server/mcp/agent-tools.js'
import type { Filled, ToolContext } from '../../../src/server/mcp/agent-tools.js'
import { listPublished } from '../../../src/server/mcp/published-agents.js'
import type { PublishedAgent } from '../../../src/server/mcp/published-agents.js'
import { mcpFixture } from './mcp-fixture.js'

const desk = mcpFixture()
const { signal } = new AbortController()

function contextOf(closing = signal, user?: string): ToolContext {
  return {
    ...{ client: desk.fixture.threads, closing, admitMessage: (_threadId, work) => work() },
    caller: { account: null, ...(user !== undefined && { user }) },
  }
}

test('each state has the form that its tool promises', async () => {
  const context = contextOf()
  const { id, cursor } = await startAgent(context, 'desk', { message: 'please refund' })
  expect(cursor).toBe(FIRST_CURSOR)
  const asking = await getAgent(context, { id, signal })
  expect(agentState.parse(asking)).toEqual(asking)
  const [{ thread, request } = { thread: '', request: '' }] = asking.requests
  const answer = { approved: true }
  const given = { id: thread, request, answer, canAsk: true, program: 'a test' }
  const asked = await answerRequest(context, { ...given, filled: undefined })
  expect(asked).toMatchObject({ kind: 'ask', form: { required: ['decision'] } })
  expect(await answerRequest(context, { ...given, filled: 'refused' })).toEqual({ kind: 'left' })
  const filled: Filled = { content: { decision: 'approve' } }
  expect(await answerRequest(context, { ...given, filled })).toEqual({ kind: 'accepted' })
  expect(await readState(context.client, id, { signal })).toMatchObject({ status: 'finished' })
  await sendToAgent(context, { id, message: 'tell 500' })
  expect(await cancelAgent(context, { id })).toEqual({ id, cancelled: true })
})

test('a server that closes answers a wait with what holds then', async () => {
  const closing = new AbortController()
  const context = contextOf(closing.signal)
  const { id } = await startAgent(context, 'desk', { message: 'tell 4000' })
  const began = Date.now()
  const waiting = getAgent(context, { id, signal, wait: 50 })
  setTimeout(() => closing.abort(), 300)
  expect(await waiting).toMatchObject({ status: 'working' })
  expect(Date.now() - began).toBeLessThan(40_000)
  await cancelAgent(context, { id })
})

test('the name of a tool depends on the name of its agent alone', async () => {
  const names = async (agents: readonly string[]) =>
    (await listPublished(desk.fixture.threads, agents)).map(({ tool }: PublishedAgent) => tool)
  const long = 'a'.repeat(200)
  const all = await names(['desk', 'a b', 'a_b', 'a/b', long, `${long}b`, '../x', '日本'])
  expect(new Set(all).size).toBe(8)
  expect(all.every((name) => /^start_[\w-]{1,40}$/.test(name) && name.length <= 40)).toBe(true)
  expect(await names(['a/b'])).toEqual([all[3]])
})
