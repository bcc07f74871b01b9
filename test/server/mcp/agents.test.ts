/** Agents as tools over HTTP, by the official client: on today's wire and on that of older clients. */
import { describe, expect, test } from 'vitest'

import { collect } from '../../client/client-fixture.js'
import { tale } from '../../page/page-desk.js'
import { ERAS } from '../../support/mcp-client.js'
import type { Era } from '../../support/mcp-client.js'
import { mcpFixture, OPERATOR } from './mcp-fixture.js'

const desk = mcpFixture()
const eras = Object.keys(ERAS) as Era[]

describe.each(eras)('a client of the %s wire', (era) => {
  test('starts an agent, and gets what it says', async () => {
    const user = await desk.connect({ era })
    const { id, cursor } = await user.call('start_desk', { message: 'Hello' })
    const state = await user.rest(id, cursor)
    expect(state).toMatchObject({
      ...{ id, agent: 'desk', status: 'finished', text: 'Gladly.', more: false, requests: [] },
    })
    expect(await user.call('agent_get', { id, after: state.cursor })).toMatchObject({ text: '' })
    expect(await user.call('agent_get', { id })).toMatchObject({ text: 'Gladly.' })
    expect(await desk.fixture.threads.find(id)).toMatchObject({ account: 'acme', userId: 'mia' })
  })

  test('goes on with a conversation', async () => {
    const user = await desk.connect({ era })
    const { id } = await user.call('start_desk', { message: 'Hello' })
    const { cursor } = await user.rest(id)
    expect(await user.call('agent_send', { id, message: 'tell 3' })).toEqual({ id, status: 'accepted' })
    expect(await user.rest(id, cursor)).toMatchObject({ status: 'finished', text: tale(3) })
  })

  test('answers a request of the agent', async () => {
    const user = await desk.connect({ era })
    const { id } = await user.call('start_desk', { message: 'please refund' })
    const state = await user.rest(id)
    const [request] = state.requests
    expect(state).toMatchObject({ status: 'needs_answer', requests: [{ thread: id, kind: 'approval' }] })
    expect(request.question).toContain('May refund run')
    expect(request.answer).toMatchObject({ properties: { approved: { type: 'boolean' } } })
    const answered = await user.call('agent_answer', {
      ...{ id: request.thread, request: request.request, answer: { approved: true } },
    })
    expect(answered).toMatchObject({ accepted: true })
    expect(await user.rest(id)).toMatchObject({ status: 'finished', text: 'All is **done**.' })
    const decisions = await desk.fixture.threads.get(id).decisions()
    expect(decisions).toMatchObject([{ by: 'mia', decision: 'allowed' }])
  })

  test('stops an agent, and a second stop changes nothing', async () => {
    const user = await desk.connect({ era })
    const { id } = await user.call('start_desk', { message: 'tell 2000' })
    expect(await user.call('agent_get', { id, wait: 0.5 })).toMatchObject({ status: 'working' })
    expect(await user.call('agent_cancel', { id, reason: 'Enough' })).toEqual({ id, cancelled: true })
    expect(await user.rest(id)).toMatchObject({ status: 'stopped' })
    expect(await user.call('agent_cancel', { id })).toEqual({ id, cancelled: false })
  })

  test('is told that a wait goes on, if it asks for that', async () => {
    const user = await desk.connect({ era })
    const { id } = await user.call('start_desk', { message: 'tell 150' })
    const told: string[] = []
    await user.call('agent_get', { id }, (message) => told.push(message))
    expect(told[0]).toMatch(/^desk is running, event \d+$/)
  })
})

test('each agent that talks with people has a tool that starts it', async () => {
  const user = await desk.connect()
  const { tools } = await user.client.listTools()
  expect(tools.map(({ name }) => name)).toEqual([
    ...['start_desk', 'start_mailer', 'agent_get', 'agent_send', 'agent_answer', 'agent_cancel'],
  ])
  expect(tools[0]?.description).toContain('Answers about orders')
  const hints = tools.map(({ name, annotations: hint }) => [name, hint?.readOnlyHint, hint?.idempotentHint])
  expect(hints.slice(1)).toEqual([
    ['start_mailer', false, false],
    ['agent_get', true, true],
    ['agent_send', false, false],
    ['agent_answer', false, true],
    ['agent_cancel', false, true],
  ])
  expect(tools.every(({ outputSchema }) => outputSchema?.['type'] === 'object')).toBe(true)
})

test('a start that is repeated with its key is one thread', async () => {
  const user = await desk.connect()
  const given = { message: 'Hello', key: 'ticket-1' }
  const [one, other] = await Promise.all([user.call('start_desk', given), user.call('start_desk', given)])
  expect(other).toEqual(one)
  const later = { ...given, message: 'Something else' }
  expect(await user.refused('start_desk', later)).toMatch(
    /^thread_conflict: Expected key "ticket-1" to be new/,
  )
  expect(await user.refused('start_mailer', given)).toMatch(/^thread_conflict:/)
  await user.rest(one.id)
  await user.call('agent_send', { id: one.id, message: 'More', key: 'again' })
  await user.call('agent_send', { id: one.id, message: 'More', key: 'again' })
  await user.rest(one.id)
  const { messages } = await desk.fixture.threads.get(one.id).messages()
  expect(messages.map(({ role }) => role)).toEqual(['user', 'assistant', 'user', 'assistant'])
})

test('a long answer comes in parts that join without a gap', async () => {
  const user = await desk.connect()
  const long = '𝒳'.repeat(30_001)
  const thread = await desk.fixture.threads.create({ agent: 'mailer', account: 'acme' })
  await thread.send({ role: 'assistant', content: long })
  await thread.send({ role: 'assistant', content: 'The end.' })
  const read = async () => (await thread.messages({ after: 0 })).messages
  await expect.poll(async () => (await read()).length).toBeGreaterThan(1)
  let text = ''
  let cursor = '0'
  for (let more = true; more;) {
    const part = await user.call('agent_get', { id: thread.threadId, after: cursor, wait: 0 })
    expect(part.text.length).toBeLessThanOrEqual(20_000)
    text += part.text
    ;({ more, cursor } = part)
  }
  const said = (await read()).filter(({ role }) => role === 'assistant').map(({ content }) => content)
  expect(text.replaceAll('\n\n', '')).toBe(said.join(''))
  expect(text).toContain(long)
})

test('a subagent that asks is answered by its own id', async () => {
  const user = await desk.connect({ token: OPERATOR })
  const { id } = await user.call('start_mailer', { message: 'Hello' })
  const state = await user.rest(id)
  expect(state).toMatchObject({ status: 'needs_answer', requests: [{ kind: 'variables' }] })
  const [{ thread, request }] = state.requests
  await user.call('agent_answer', { id: thread, request, answer: { env: { MAIL_KEY: 'secret-1' } } })
  expect(await user.rest(id)).toMatchObject({ status: 'finished', text: 'Gladly.' })
})

test('nothing of a call is in the log of requests', async () => {
  const user = await desk.connect()
  await user.call('start_desk', { message: 'Hello, this is private' })
  expect(desk.logged.map(({ route, account }) => [route, account])).toContainEqual(['/mcp', 'acme'])
  expect(JSON.stringify(desk.logged)).not.toContain('private')
  expect((await collect(desk.fixture.threads.list({ account: 'acme' }))).length).toBeGreaterThan(0)
})
