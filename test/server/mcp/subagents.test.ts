/** A subagent that asks: its parent works on, and the client is told. */
import { expect, test } from 'vitest'

import { agent, defineTool, registry } from '../../../src/index.js'
import { scriptedModel } from '../../../src/testing/index.js'
import { mcpFixture } from './mcp-fixture.js'

const ask_person = defineTool({
  description: 'Asks the person.',
  execute: async () => ({ status: 'pending', form: { type: 'string', enum: ['red', 'blue'] } }),
})
/** The first request of each is answered by a call, the next one by a text. */
const model = scriptedModel(({ system, messages }) => {
  const isParent = system.includes('You ask others.')
  if (messages.at(-1)?.role === 'tool') return { text: isParent ? 'It is done.' : 'They chose.' }
  return {
    toolCalls: [
      isParent ? { name: 'painter', args: { message: 'Paint.' } } : { name: 'ask_person', args: {} },
    ],
  }
})
const painter = agent({
  ...{ name: 'painter', description: 'Paints.', model, instructions: 'You paint.', tools: { ask_person } },
})
const house = agent({
  ...{
    name: 'house',
    description: 'Builds.',
    model,
    instructions: 'You ask others.',
    subagents: { painter },
  },
})
const desk = mcpFixture({}, registry({ agents: [house] }))

test('a request of a subagent ends the wait for its parent, and is answered by its own id', async () => {
  const user = await desk.connect()
  const { id } = await user.call('start_house', { message: 'Paint the door.' })
  const began = Date.now()
  const state = await user.call('agent_get', { id, wait: 50 })
  expect(Date.now() - began).toBeLessThan(45_000)
  expect(state).toMatchObject({ status: 'needs_answer', requests: [{ kind: 'call' }] })
  const [{ thread, request }] = state.requests
  expect(thread).not.toBe(id)
  expect(await user.call('agent_get', { id: thread, wait: 0 })).toMatchObject({ requests: [{ request }] })
  const green = { result: { status: 'success', result: 'green' } }
  expect(await user.refused('agent_answer', { id: thread, request, answer: green })).toMatch(
    /^message_rejected: /,
  )
  const red = { result: { status: 'success', result: 'red' } }
  await user.call('agent_answer', { id: thread, request, answer: red })
  expect(await user.rest(id)).toMatchObject({ status: 'finished', text: 'It is done.' })
})
