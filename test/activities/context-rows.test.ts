import { describe, expect, test } from 'vitest'
import type { ContextHooks } from '../../src/activities/turn/model-request.js'
import { answerParts } from '../support/transcript-row.js'
import { linesOf, step, withContext } from './context-desk.js'
import type { ContextDesk, RequestChanges } from './context-desk.js'

const sent = async (desk: ContextDesk, changes?: RequestChanges): Promise<readonly string[]> =>
  linesOf((await desk.request(changes)).options.prompt).slice(1)

describe('hooks', () => {
  const hooked = (hooks: ContextHooks): RequestChanges => ({ parts: { hooks } })

  test('K-17 a filter that drops one side of a pair breaks no request', () =>
    withContext(async (desk) => {
      await desk.add({ content: 'Find it' }, ...step('c1', 'one'), ...step('c2', 'two'))
      const withoutResult = hooked({
        filterMessages: async (rows) => rows.filter(({ content }) => content !== 'one'),
      })
      const withoutCall = hooked({
        filterMessages: async (rows) => rows.filter(({ position }) => position !== 4),
      })
      expect(await sent(desk, withoutResult)).toEqual([
        'user: Find it',
        'assistant: call c1',
        'tool: error-text of c1: No result was recorded.',
        'assistant: call c2',
        'tool: text of c2: two',
      ])
      expect(await sent(desk, withoutCall)).toEqual([
        'user: Find it',
        'assistant: call c1',
        'tool: text of c1: one',
      ])
    }))

  test('K-17 a prompt filter that drops results breaks no request', () =>
    withContext(async (desk) => {
      await desk.add({ content: 'Find it' }, ...step('c1', 'one'))
      const changes = hooked({ prefilter: async (prompt) => prompt.filter(({ role }) => role !== 'tool') })
      expect((await sent(desk, changes)).at(-1)).toBe('tool: error-text of c1: No result was recorded.')
    }))

  test('rows that a hook adds are sent, and the store keeps its own', () =>
    withContext(async (desk) => {
      await desk.add({ content: 'Hello' })
      const filterMessages: ContextHooks['filterMessages'] = async (rows) =>
        rows.flatMap((row) => [
          { ...row, id: 'added', content: 'Before' },
          { ...row, content: 'Changed' },
        ])
      expect(await sent(desk, hooked({ filterMessages }))).toEqual(['user: Before', 'user: Changed'])
      expect(await sent(desk)).toEqual(['user: Hello'])
    }))
})

describe('the nested step of a prompt tool', () => {
  const frame = { callId: 'call_2_1_1', prompt: 'clerk', depth: 1 }
  const asked = (see: boolean): RequestChanges => ({
    input: { run: 2, frame },
    prompt: { includeChat: see, includePastTools: see },
    parts: { frameMessage: { text: 'Sum it up', attachments: [] } },
  })
  const open = [
    { id: 'call_2_1_0', type: 'function', function: { name: 'look', arguments: '{}' } },
    { id: 'call_2_1_1', type: 'function', function: { name: 'expert', arguments: '{}' } },
  ] as const
  const rows = [
    { content: 'Hello' },
    { content: 'Find it', run: 2 },
    { role: 'assistant', side: 'a', content: 'I ask.', toolCalls: open, run: 2 },
    { role: 'tool', side: 'a', toolCallId: 'call_2_1_0', content: 'looked', toolStatus: 'success', run: 2 },
    { role: 'assistant', side: 'a', content: 'of another frame', depth: 1, run: 2 },
  ] as const

  test('sees its own message alone without includeChat', () =>
    withContext(async (desk) => {
      await desk.add(...rows)
      expect(await sent(desk, asked(false))).toEqual(['user: Sum it up'])
      expect(await sent(desk, { ...asked(false), parts: {} })).toEqual(['user: The conversation begins.'])
    }))

  test('sees the conversation without the call that it answers', () =>
    withContext(async (desk) => {
      await desk.add(...rows)
      expect(await sent(desk, asked(true))).toEqual([
        'user: Hello',
        'user: Find it',
        'assistant: I ask. | call call_2_1_0',
        'tool: text of call_2_1_0: looked',
        'user: Sum it up',
      ])
      const withoutTools = { ...asked(true), prompt: { includeChat: true, includePastTools: false } }
      expect(await sent(desk, withoutTools)).toEqual([
        'user: Hello',
        'user: Find it',
        'assistant: I ask.',
        'user: Sum it up',
      ])
    }))
})

test('without includeChat a prompt sees its run only', () =>
  withContext(async (desk) => {
    await desk.add({ content: 'Hello' }, { content: 'Find it', run: 2 }, ...step('c1', 'one', { run: 2 }))
    const changes = { input: { run: 2 }, prompt: { includeChat: false } }
    expect(await sent(desk, changes)).toEqual([
      'user: Find it',
      'assistant: call c1',
      'tool: text of c1: one',
    ])
  }))

test('K-21 stored reasoning goes to its author only', () =>
  withContext(async (desk) => {
    const [text, reasoning] = ['Yes.', 'Hm.']
    const parts = [{ kind: 'reasoning', from: 0, to: 3 }] as const
    const details = { answerParts: answerParts({ text, reasoning, parts }) }
    const made = { role: 'assistant', side: 'a', content: 'Yes.', reasoningContent: 'Hm.' } as const
    await desk.add({ content: 'Well?' }, { ...made, prompt: 'clerk', ...details })
    await desk.add({ content: 'And?' }, { ...made, prompt: 'other', ...details }, { content: 'So?' })
    expect(await sent(desk, { prompt: { reasoning: { include: true } } })).toEqual([
      'user: Well?',
      'assistant: Hm. | Yes.',
      'user: And?',
      'assistant: Yes.',
      'user: So?',
    ])
    expect((await sent(desk)).join()).not.toContain('Hm.')
  }))

test('a passing last message is not where the cache is cut', () =>
  withContext(async (desk) => {
    const hinted = async (changes?: RequestChanges) => {
      const { prompt } = (await desk.request(changes)).options
      return linesOf(prompt.filter(({ providerOptions }) => providerOptions?.['anthropic'] !== undefined))
    }
    const system = 'system: You are the clerk.'
    await desk.add({ content: 'Hello' })
    expect(await hinted()).toEqual([system, 'user: Hello'])
    const frame = { callId: 'call_1_1_0', prompt: 'clerk', depth: 1 }
    const frameMessage = { text: 'Sum it up', attachments: [] }
    expect(await hinted({ input: { frame }, parts: { frameMessage } })).toEqual([system, 'user: Hello'])
    await desk.add({ role: 'assistant', side: 'a', content: 'Hi' })
    expect(await hinted()).toEqual([system, 'assistant: Hi'])
  }))
