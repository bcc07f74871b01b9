import { describe, expect, test } from 'vitest'
import type { CallModelAnswer } from '../../src/protocol/activities.js'
import { findToolCall } from '../../src/store/calls/tool-calls.js'
import { scriptedModel } from '../../src/testing/index.js'
import type { ModelScript } from '../../src/testing/index.js'
import { until } from '../support/until.js'
import { attempt } from './activity-desk.js'
import { RESUMABLE, text, withBoss } from './exposure-desk.js'
import type { BossDesk } from './exposure-desk.js'
import { rows } from './stored-rows.js'

const TOOL = 'bootstrap_immediate_subagent'
const HINTS = { immediate: { nameEnv: 'WHO', descriptionEnv: 'WHAT' } }
const MAPPED = { initUserMessageProperty: 'topic', initAgentNameProperty: 'by' }
const variables = [text('WHO'), text('WHAT'), text('CITY'), text('TOKEN')]
const prompt = {
  prompt: [
    { type: 'text', content: 'You work in ' },
    { type: 'env', property: 'CITY' },
  ],
} as const
const VALUES = { WHO: 'Ann', WHAT: 'Write about bridges.', CITY: 'Rome', TOKEN: 'sesame' }
const writing = (args: unknown) => ({ toolCalls: [{ name: TOOL, args }] })

/** The arguments of the one call of an activation. */
async function said(desk: BossDesk, answer: CallModelAnswer): Promise<unknown> {
  if (answer.type !== 'activates') throw new Error(`Expected an activation, got ${answer.type}.`)
  const [call] = answer.calls
  const row = await desk.store.read((db) => findToolCall(db, 't', call?.id ?? ''))
  return JSON.parse(row?.arguments ?? 'null')
}

function bootstrapping(
  script: ModelScript,
  work: (desk: BossDesk, chat: ReturnType<typeof scriptedModel>) => Promise<void>,
  entry: object = {},
): Promise<void> {
  const chat = scriptedModel(script)
  const tools = [{ name: 'writer', ...HINTS, ...MAPPED, ...entry }]
  return withBoss(
    { chat, tools, variables, prompt, model: { inputPrice: 1, outputPrice: 1 } },
    async (desk) => {
      await desk.give(VALUES)
      await work(desk, chat)
    },
  )
}

describe('the bootstrap pass', () => {
  test('SA-A-07.6d shows a model the two hints and nothing else', () =>
    bootstrapping([writing({ topic: 'Bridges', tone: 'warm' })], async (desk, chat) => {
      const answer = await desk.activate()
      expect(await said(desk, answer)).toEqual({ topic: 'Bridges', tone: 'warm' })
      const [request] = chat.requests
      expect(request?.raw.toolChoice).toEqual({ type: 'tool', toolName: TOOL })
      expect(request?.tools).toMatchObject([
        { name: TOOL, inputSchema: { properties: { topic: { type: 'string' } }, required: ['topic'] } },
      ])
      expect(request?.messages).toEqual([
        {
          role: 'user',
          text: 'The agent: The writer. A writer.\nIts name: Ann\nWhat it is to do: Write about bridges.',
        },
      ])
      const whole = JSON.stringify(chat.requests)
      expect(whole).not.toMatch(/Rome|Hello|You work/)
      expect(chat.requests).toHaveLength(1)
    }))

  test('costs what its answer says', () =>
    bootstrapping(
      [{ ...writing({ topic: 'B' }), usage: { inputTokens: 7, outputTokens: 2 } }],
      async (desk) => {
        const answer = await desk.activate()
        expect(answer).toMatchObject({ usage: { inputTokens: 7, outputTokens: 2, cost: 9 } })
        expect((await desk.events()).map(({ type }) => type)).toEqual([
          'run.started',
          'context.resolved',
          'model.requested',
          'model.completed',
        ])
        expect(await desk.told('context.resolved', 'model.requested')).toMatchObject([
          { messages: 0, items: [{ kind: 'system' }, { kind: 'tools' }, { kind: 'user' }] },
          { routing: { kind: 'bootstrap', needs: ['tools'], reason: 'single_candidate' } },
        ])
      },
    ))

  test('names and briefs an instance that stays', () =>
    bootstrapping(
      [writing({ name: 'Bob', message: 'Go.', arguments: { topic: 'Bridges' } })],
      async (desk, chat) => {
        expect(await said(desk, await desk.activate())).toEqual({
          agent: 'writer',
          name: 'Bob',
          message: 'Go.',
          attachments: [],
          arguments: { topic: 'Bridges' },
        })
        expect(chat.requests[0]?.tools[0]?.inputSchema).toMatchObject({
          required: ['name', 'message', 'arguments'],
        })
      },
      RESUMABLE,
    ))

  test('a subagent that needs arguments has it without hints', () =>
    bootstrapping(
      [writing({ topic: 'Bridges' })],
      async (desk, chat) => {
        expect(await said(desk, await desk.activate())).toEqual({ topic: 'Bridges' })
        expect(chat.requests[0]?.messages[0]?.text).toBe('The agent: The writer. A writer.')
      },
      { immediate: true },
    ))

  const failing = [
    ['a provider that refuses', [{ error: { status: 400, message: 'No.' } }]],
    [
      'a provider that is busy',
      [{ error: { status: 429, message: 'Later.', headers: { 'retry-after': '60' } } }],
    ],
    ['words instead of a call', [{ text: 'I will not.' }]],
    ['arguments that are not right', [writing({ tone: 3 })]],
  ] as const
  test.each(failing)('after %s the hints are used as they are', (_title, script) =>
    bootstrapping([...script], async (desk) => {
      expect(await said(desk, await desk.activate())).toEqual({ topic: 'Write about bridges.', by: 'Ann' })
    }),
  )

  test('the hints name and brief an instance that stays', () =>
    bootstrapping(
      [{ text: 'No.' }],
      async (desk) => {
        expect(await said(desk, await desk.activate())).toEqual({
          agent: 'writer',
          name: 'Ann',
          message: 'Write about bridges.',
          attachments: [],
          arguments: { topic: 'Write about bridges.', by: 'Ann' },
        })
      },
      RESUMABLE,
    ))

  test('a subagent without possible arguments is passed over with a warning', () =>
    bootstrapping(
      [{ text: 'No.' }],
      async (desk) => {
        expect(await desk.activate()).toMatchObject({ type: 'activates', calls: [] })
        const warnings = (await desk.events()).filter(({ type }) => type === 'runtime.warning')
        expect(warnings.map(({ payload }) => payload['code'])).toEqual(['immediate_skipped'])
      },
      { immediate: true },
    ))

  test('a stop ends it, and the hints are used', () =>
    bootstrapping(
      () => ({ text: 'Well.', delay: 60_000 }),
      async (desk, chat) => {
        const environment = attempt()
        const activating = desk.activate({}, environment)
        await until('the request', () => chat.requests.length > 0)
        environment.cancel()
        expect(await said(desk, await activating)).toEqual({ topic: 'Write about bridges.', by: 'Ann' })
      },
    ))
})

describe('values that are handed on', () => {
  const scoped = (entry: object) => ({ immediate: { ...HINTS.immediate, ...entry } })

  test('SA-A-07.6f are in no request and no row of a call', () =>
    bootstrapping(
      [writing({ topic: 'B' }), { text: 'Well.' }],
      async (desk, chat) => {
        await desk.activate()
        await desk.step({ trigger: null })
        expect(chat.requests).toHaveLength(2)
        expect(JSON.stringify(chat.requests)).not.toContain('sesame')
        // The variable itself is all there is of it.
        expect((await rows(desk)).split('sesame')).toHaveLength(2)
      },
      scoped({ scopedEnv: ['TOKEN'] }),
    ))

  test('SA-A-07.6f are shown if they are hints as well', () =>
    bootstrapping(
      [writing({ topic: 'B' })],
      async (desk, chat) => {
        await desk.activate()
        expect(JSON.stringify(chat.requests)).toContain('Write about bridges.')
      },
      scoped({ scopedEnv: ['WHAT'] }),
    ))
})
