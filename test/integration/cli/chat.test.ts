import { createOpenAI } from '@ai-sdk/openai'
import { NativeConnection } from '@temporalio/worker'
import { afterAll, beforeAll, expect, inject, test } from 'vitest'

import type { Registry } from '../../../src/index.js'
import { scriptedRegistry } from '../../../src/testing/scripted-registry.js'
import { createWorker } from '../../../src/worker/index.js'
import { startProviderMock } from '../../support/provider-mock.js'
import type { MockAnswer, ProviderMock } from '../../support/provider-mock.js'
import { until } from '../../support/until.js'
import { openCliPlace, openScreen } from './cli-place.js'
import type { CliPlace } from './cli-place.js'

/** The examples with OpenAI's own library, against a mock of its wire format: as a user talks to them. */
let mock: ProviderMock
let place: CliPlace

beforeAll(async () => {
  mock = await startProviderMock()
  place = await openCliPlace()
})
afterAll(async () => {
  await place.close()
  await mock.close()
})

interface Talk {
  readonly registry: Registry
  readonly model: readonly MockAnswer[]
  readonly lines: readonly (readonly [question: string, answer: string])[]
}

/** Talks as a person at a terminal does: each answer is given when its question is on the screen. */
async function talk(
  agent: string,
  { registry: example, model, lines }: Talk,
): Promise<{ readonly shown: string; readonly code: number }> {
  for (const answer of model) mock.reply(answer)
  // The examples' own provider reads its address as it is loaded, which another file of this process may have done.
  const { responses } = createOpenAI({ apiKey: 'none', baseURL: mock.url })
  const models = Object.fromEntries(example.names().models.map((name) => [name, responses('gpt-5-mini')]))
  const registry = scriptedRegistry(example, { models })
  const connection = await NativeConnection.connect({ address: inject('devServerAddress') })
  const workflowBundle = { codePath: inject('workflowBundlePath') }
  const worker = await createWorker({ registry, connection, workflowBundle })
  const screen = openScreen()
  try {
    const code = await worker.runUntil(async () => {
      const ended = screen.run('chat', agent)
      let read = 0
      for (const [question, answer] of lines) {
        await until(`"${question}" on the screen`, async () => screen.shown.includes(question, read))
        read = screen.shown.length
        screen.type(answer)
      }
      await until('the last question on the screen', async () => screen.shown.includes('you: ', read))
      screen.end()
      return ended
    })
    return { shown: screen.shown, code }
  } finally {
    screen.close()
    await connection.close()
  }
}

test('a refund is approved in the terminal', async () => {
  const { desk } = await import('../../../examples/support-desk/registry.js')
  const { shown, code } = await talk('support', {
    registry: desk,
    model: [
      { toolCalls: [{ name: 'refund_order', input: '{"orderId":"A-17","euros":180}' }] },
      { text: 'The 180 euros are on their way.' },
    ],
    lines: [
      ['you: ', 'Refund A-17, please.'],
      ['Allow refund_order', 'y'],
    ],
  })
  expect(shown).toContain('→ refund_order')
  expect(shown).toContain('The 180 euros are on their way.')
  // The definition has no prices: those of the table.
  expect(shown).toMatch(/\n2 requests in .* output tokens, <?\$0\.\d{4}\.\n/)
  expect(code).toBe(0)
})

test('two models work in the terminal until one approves', async () => {
  const { studio } = await import('../../../examples/worker-and-reviewer/registry.js')
  const { shown } = await talk('asset_subagent', {
    registry: studio,
    model: [
      { toolCalls: [{ name: 'write_asset', input: '{"svg":"<svg/>"}' }] },
      { text: 'Here is the draft.' },
      {
        toolCalls: [
          {
            name: 'approve_asset',
            input: '{"summary":"A fine logo.","attachments":["/attachments/asset.svg"]}',
          },
        ],
      },
    ],
    lines: [['you: ', 'A logo, please.']],
  })
  expect(shown).toContain('Here is the draft.')
  expect(shown).toContain('approve_asset succeeded')
})

test('a guest is handed over in the terminal', async () => {
  const { hotel } = await import('../../../examples/handoff/registry.js')
  const { shown } = await talk('reception', {
    registry: hotel,
    model: [
      { toolCalls: [{ name: 'billing', input: '{"summary":"The bill of room 7"}' }] },
      { text: 'Billing here.' },
    ],
    lines: [['you: ', 'My bill is too high.']],
  })
  expect(shown).toContain('Billing here.')
})

test('variables are asked for in the terminal', async () => {
  const { office } = await import('../../../examples/effects-and-variables/registry.js')
  const { shown } = await talk('assistant', {
    registry: office,
    model: [{ text: 'What shall I remind you of?' }],
    lines: [
      ['you: ', 'Hello'],
      ['The agent needs OWNER', 'Ann'],
      ['The agent needs MAIL_KEY', 'key'],
    ],
  })
  expect(shown).toContain('What shall I remind you of?')
})

test('an agent of a folder answers in the terminal', async () => {
  const { library } = await import('../../../examples/standard-agents-folder/registry.js')
  const { shown } = await talk('librarian', {
    registry: library,
    model: [
      { toolCalls: [{ name: 'find_book', input: '{"word":"earthsea"}' }] },
      { text: 'There is A Wizard of Earthsea.' },
    ],
    lines: [['you: ', 'Earthsea?']],
  })
  expect(shown).toContain('There is A Wizard of Earthsea.')
})

test('an editor has work done by others in the terminal', async () => {
  const { newsroom } = await import('../../../examples/newsroom/registry.js')
  const delivered = (text: string) => ({
    toolCalls: [{ name: 'deliver', input: JSON.stringify({ text }) }],
  })
  const { shown } = await talk('editor', {
    registry: newsroom,
    // In the order in which they are asked: archivist, editor, two researchers, editor.
    model: [
      delivered('A storm.'),
      { toolCalls: [{ name: 'researcher', input: '{"items":[{"topic":"rain"},{"topic":"snow"}]}' }] },
      delivered('It is wet.'),
      delivered('It is wet.'),
      { text: 'Both are wet.' },
    ],
    lines: [['you: ', 'An article on the weather.']],
  })
  expect(shown).toContain('archivist succeeded')
  expect(shown).toContain('researcher succeeded')
  expect(shown).toContain('Both are wet.')
})

test('an agent that no worker runs is named', async () => {
  const screen = openScreen()
  expect(await screen.run('chat', 'nobody')).toBe(1)
  expect(screen.shown).toContain('got "nobody"')
  screen.close()
})
