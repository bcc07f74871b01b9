import { describe, expect, test } from 'vitest'

import { scriptedModel } from '../../src/testing/index.js'
import type { ScriptedRequest } from '../../src/testing/index.js'
import { RESUMABLE, runCall, text, withBoss } from './exposure-desk.js'
import type { BossDesk } from './exposure-desk.js'

const talking = () => scriptedModel(() => ({ text: 'Well.' }))
const names = (request: ScriptedRequest | undefined) => request?.tools.map(({ name }) => name)
const flagged = { name: 'helper', optional: 'HELP' }
const agentsOf = (request: ScriptedRequest | undefined) => {
  const create = request?.tools.find(({ name }) => name === 'subagent_create')
  const schema = create?.inputSchema as { properties: { agent: { enum: readonly string[] } } } | undefined
  return schema?.properties.agent.enum
}

describe('the flag of a subagent', () => {
  test.each(['true', 'TRUE', '1', 'yes', 'Yes', ' true\n'])('SA-R-07.3b is on with %j', (value) => {
    const chat = talking()
    return withBoss({ chat, tools: [flagged], variables: [text('HELP')] }, async (desk) => {
      await desk.give({ HELP: value })
      await desk.step()
      expect(names(chat.requests[0])).toEqual(['helper'])
    })
  })

  test.each(['false', '0', 'no', 'on', 'y', '', 'true.'])('SA-A-07.5a is off with %j', (value) => {
    const chat = talking()
    return withBoss({ chat, tools: [flagged], variables: [text('HELP')] }, async (desk) => {
      await desk.give({ HELP: value })
      await desk.step()
      expect(names(chat.requests[0])).toEqual([])
    })
  })

  test('SA-R-07.3b is off without a value', () => {
    const chat = talking()
    return withBoss({ chat, tools: [flagged], variables: [text('HELP')] }, async (desk) => {
      await desk.step()
      expect(names(chat.requests[0])).toEqual([])
    })
  })

  test.each([
    ['off as the secret that an undeclared value is', [], []],
    ['on as the text that it is declared to be', [text('HELP')], ['helper']],
  ])('SA-R-07.3b is %s', (_title, variables, offered) => {
    const chat = talking()
    return withBoss({ chat, tools: [flagged], variables, env: { HELP: 'true' } }, async (desk) => {
      await desk.step()
      expect(names(chat.requests[0])).toEqual(offered)
    })
  })

  test('SA-R-07.3a is looked at anew in each step', () => {
    const chat = talking()
    return withBoss({ chat, tools: [flagged], variables: [text('HELP')] }, async (desk) => {
      const again = (step: number) => desk.step({ step, drain: [], asked: true, trigger: null })
      await desk.give({ HELP: 'yes' })
      await desk.step()
      await desk.give({ HELP: 'no' })
      await again(2)
      await desk.give({ HELP: 'yes' })
      await again(3)
      expect(chat.requests.map(names)).toEqual([['helper'], [], ['helper']])
    })
  })
})

describe('the lifecycle tools', () => {
  test('SA-R-07.2a are there while a resumable subagent is enabled', () => {
    const chat = talking()
    const tools = [{ ...flagged, ...RESUMABLE }]
    return withBoss({ chat, tools, variables: [text('HELP')] }, async (desk) => {
      await desk.step()
      await desk.give({ HELP: '1' })
      await desk.step({ step: 2, drain: [], asked: true, trigger: null })
      expect(chat.requests.map(names)).toEqual([[], ['subagent_create', 'subagent_message']])
    })
  })

  test('SA-A-07.5b offer no agent that is disabled', () => {
    const chat = talking()
    const tools = [
      { ...flagged, ...RESUMABLE },
      { name: 'writer', ...RESUMABLE },
    ]
    return withBoss({ chat, tools, variables: [text('HELP')] }, async (desk) => {
      await desk.step()
      await desk.give({ HELP: 'true' })
      await desk.step({ step: 2, drain: [], asked: true, trigger: null })
      expect(chat.requests.map(agentsOf)).toEqual([['writer'], ['helper', 'writer']])
    })
  })

  test('SA-A-07.3b tell of each agent whether the call waits', () => {
    const chat = talking()
    const tools = [
      { name: 'helper', blocking: false },
      { name: 'writer', blocking: true },
    ]
    return withBoss({ chat, tools }, async (desk) => {
      await desk.step()
      expect(chat.requests[0]?.tools.map(({ description }) => description)).toEqual([
        'A helper. The call does not wait: the result comes later, as a message.',
        'A writer. The call waits until the agent is done, and answers with its result.',
      ])
    })
  })
})

describe('a forged call', () => {
  const calling = (name: string) => scriptedModel([{ toolCalls: [{ name, args: {} }] }])
  const wordsOf = async (desk: BossDesk) => (await desk.transcript()).at(-1)?.content

  test('SA-R-07.2a of a resumable agent by name is shown the way', () =>
    withBoss({ chat: calling('helper'), tools: [{ name: 'helper', ...RESUMABLE }] }, async (desk) => {
      const answer = await desk.step()
      expect(answer).toMatchObject({ calls: [{ name: '(unknown)' }] })
      expect(await runCall(desk, answer)).toMatchObject({ type: 'result', outcome: 'failed' })
      expect(await wordsOf(desk)).toBe(
        'Error: "helper" is no tool: start an instance with subagent_create and the agent "helper", or write with subagent_message to one that is there.',
      )
    }))

  test('SA-R-07.3a of one that is off says that it is not enabled', () =>
    withBoss({ chat: calling('helper'), tools: [{ ...flagged, ...RESUMABLE }] }, async (desk) => {
      expect(await runCall(desk, await desk.step())).toMatchObject({ outcome: 'failed' })
      expect(await wordsOf(desk)).toBe(
        'Error: The agent "helper" is not enabled here, so it cannot be called.',
      )
    }))

  test('of nothing at all lists what is enabled', () =>
    withBoss({ chat: calling('nothing'), tools: [flagged, 'writer'] }, async (desk) => {
      await runCall(desk, await desk.step())
      expect(await wordsOf(desk)).toBe('Error: There is no tool "nothing". The tools are: writer.')
    }))
})
