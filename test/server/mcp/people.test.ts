/** What a person is asked by a form of the client, and that no model answers in the place of that person. */
import { describe, expect, test } from 'vitest'

import { BEN, mcpFixture, MIA, OPERATOR } from './mcp-fixture.js'

const desk = mcpFixture()

/** An agent that waits for an answer, and the request. */
async function asking(message: string, user: Awaited<ReturnType<typeof desk.connect>>) {
  const { id } = await user.call('start_desk', { message })
  const { requests } = await user.rest(id)
  expect(requests).toHaveLength(1)
  const [{ thread, request }] = requests
  return { id, asked: { id: thread as string, request: request as string } }
}

describe('a client that shows forms', () => {
  test('has the person decide, whatever the model says', async () => {
    const user = await desk.connect({ asks: true })
    const { id, asked } = await asking('please refund', user)
    const approval = { ...asked, answer: { approved: true } }
    expect(await user.call('agent_answer', approval)).toMatchObject({ accepted: false })
    expect(await user.call('agent_get', { id, wait: 0 })).toMatchObject({ status: 'needs_answer' })
    expect(user.person?.asked[0]?.message).toContain('May refund run with {"order":"A-17","euros":40')
    Object.assign(user.person ?? {}, {
      reply: { action: 'accept', content: { decision: 'deny', reason: 'Too much' } },
    })
    expect(await user.call('agent_answer', approval)).toMatchObject({ accepted: true })
    await user.rest(id)
    expect(await desk.fixture.threads.get(id).decisions()).toMatchObject([
      { decision: 'denied', by: 'mia', outcome: 'denied' },
    ])
  })

  test('shows what the model adds to an approval', async () => {
    const user = await desk.connect({ asks: true })
    const { id, asked } = await asking('please refund', user)
    Object.assign(user.person ?? {}, { reply: { action: 'accept', content: { decision: 'approve' } } })
    const less = { order: 'A-17', euros: 5, reason: 'broken', note: 'Less' }
    await user.call('agent_answer', { ...asked, answer: { approved: true, arguments: less } })
    expect(user.person?.asked[0]?.message).toContain('"euros":5')
    await user.rest(id)
    const { messages } = await desk.fixture.threads.get(id).messages()
    expect(messages.find(({ role }) => role === 'tool')?.content).toContain('5 euros are refunded.')
  })

  test('has the person fill the form of a tool', async () => {
    const user = await desk.connect({ asks: true })
    const { id, asked } = await asking('please survey', user)
    Object.assign(user.person ?? {}, { reply: { action: 'accept', content: { stars: 4, again: true } } })
    await user.call('agent_answer', asked)
    expect(user.person?.asked[0]?.requestedSchema).toMatchObject({ properties: { stars: { maximum: 5 } } })
    expect(await user.rest(id)).toMatchObject({ status: 'finished' })
    const { messages } = await desk.fixture.threads.get(id).messages()
    expect(messages.find(({ role }) => role === 'tool')?.content).toContain('"stars":4')
  })

  test('asks nobody for variables, which may be secrets', async () => {
    const user = await desk.connect({ asks: true })
    const { id } = await user.call('start_mailer', { message: 'Hello' })
    const { requests } = await user.rest(id)
    const asked = { id: requests[0].thread, request: requests[0].request }
    expect(await user.refused('agent_answer', asked)).toMatch(/^bad_request: Expected "answer", got none/)
    expect(user.person?.asked).toEqual([])
  })
})

test('a form that does not fit is refused, and the request stays open', async () => {
  const user = await desk.connect({ asks: true })
  const { id, asked } = await asking('please survey', user)
  // The official client refuses such a form itself, so that it is sent by hand.
  const call = (content: object) =>
    desk.post(
      {
        ...{ jsonrpc: '2.0', id: 1, method: 'tools/call' },
        params: {
          ...{ name: 'agent_answer', arguments: asked },
          inputResponses: { answer: { action: 'accept', content } },
          _meta: {
            'io.modelcontextprotocol/protocolVersion': '2026-07-28',
            'io.modelcontextprotocol/clientInfo': { name: 'by hand', version: '1' },
            'io.modelcontextprotocol/clientCapabilities': { elicitation: {} },
          },
        },
      },
      { 'mcp-protocol-version': '2026-07-28', 'mcp-method': 'tools/call', 'mcp-name': 'agent_answer' },
    )
  for (const content of [{ stars: 9 }, { stars: 'many' }, {}, { stars: 4, words: { deep: [] } }]) {
    const { result } = (await (await call(content)).json()) as { result: object }
    expect(result, JSON.stringify(content)).toMatchObject({
      isError: true,
      content: [{ text: expect.stringMatching(/^message_rejected: /) }],
    })
  }
  expect(await user.call('agent_get', { id, wait: 0 })).toMatchObject({ status: 'needs_answer' })
})

describe('a client without forms', () => {
  test('is refused an answer that does not fit, and the request stays open', async () => {
    const user = await desk.connect()
    const { id, asked } = await asking('please survey', user)
    for (const answer of [
      {},
      { approved: true },
      { result: 'text' },
      { result: { status: 'success', result: { stars: 9 } } },
      { result: { status: 'success', result: { stars: 3 } }, env: { A: 'b' } },
    ])
      expect(await user.refused('agent_answer', { ...asked, answer }), JSON.stringify(answer)).toMatch(
        /^message_rejected: /,
      )
    expect(await user.call('agent_get', { id, wait: 0 })).toMatchObject({ status: 'needs_answer' })
    const answer = { result: { status: 'success', result: { stars: 3 } } }
    await user.call('agent_answer', { ...asked, answer })
    await user.call('agent_answer', { ...asked, answer })
    expect(await user.rest(id)).toMatchObject({ status: 'finished' })
  })

  test('the record names the program where the caller has no name', async () => {
    const user = await desk.connect({ token: OPERATOR })
    const { id, asked } = await asking('please refund', user)
    await user.call('agent_answer', { ...asked, answer: { approved: true, by: 'the king' } })
    await user.rest(id)
    expect(await desk.fixture.threads.get(id).decisions()).toMatchObject([{ by: 'MCP client test-client' }])
  })
})

test('of two clients that answer one request, one is told that the other was first', async () => {
  const [mia, ben] = [await desk.connect({ token: MIA }), await desk.connect({ token: BEN })]
  const { id, asked } = await asking('please refund', mia)
  const given = await Promise.allSettled([
    mia.call('agent_answer', { ...asked, answer: { approved: true } }),
    ben.call('agent_answer', { ...asked, answer: { approved: false, reason: 'No' } }),
  ])
  expect(given.map(({ status }) => status).toSorted()).toEqual(['fulfilled', 'rejected'])
  await mia.rest(id)
  const later = { ...asked, answer: { approved: false, reason: 'Later' } }
  expect(await ben.refused('agent_answer', later)).toMatch(/^request_answered: /)
  expect(await desk.fixture.threads.get(id).decisions()).toHaveLength(1)
})
