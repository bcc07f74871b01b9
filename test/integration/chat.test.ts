import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { PassThrough } from 'node:stream'

import { NativeConnection } from '@temporalio/worker'
import { afterAll, beforeAll, expect, inject, test } from 'vitest'

import { runCommand } from '../../src/cli/run-command.js'
import { openTerminal } from '../../src/cli/terminal.js'
import type { Registry } from '../../src/index.js'
import { createWorker } from '../../src/worker/index.js'
import { startProviderMock } from '../support/provider-mock.js'
import type { MockAnswer, ProviderMock } from '../support/provider-mock.js'
import { until } from '../support/until.js'

/** The examples with OpenAI's own library, against a mock of its wire format: as a user talks to them. */
let mock: ProviderMock
let folder: string
let environment: NodeJS.ProcessEnv

beforeAll(async () => {
  mock = await startProviderMock()
  folder = await mkdtemp(join(tmpdir(), 'everthread-chat-'))
  environment = { ...process.env }
  Object.assign(process.env, {
    OPENAI_API_KEY: 'none',
    OPENAI_BASE_URL: mock.url,
    TEMPORAL_ADDRESS: inject('devServerAddress'),
    EVERTHREAD_DATABASE_URL: join(folder, 'threads.db'),
    EVERTHREAD_BLOBS_URL: join(folder, 'blobs'),
    EVERTHREAD_SECRET_KEY: Buffer.alloc(32, 7).toString('base64'),
    EVERTHREAD_TASK_QUEUE: 'chat',
  })
})
afterAll(async () => {
  process.env = environment
  await mock.close()
  await rm(folder, { recursive: true, force: true })
})

/** Talks as a person at a terminal does: each answer is given when its question is on the screen. */
async function talk(
  agent: string,
  talk: {
    readonly registry: Registry
    readonly model: readonly MockAnswer[]
    readonly lines: readonly (readonly [question: string, answer: string])[]
  },
): Promise<{ readonly shown: string; readonly code: number }> {
  for (const answer of talk.model) mock.reply(answer)
  const connection = await NativeConnection.connect({ address: inject('devServerAddress') })
  const workflowBundle = { codePath: inject('workflowBundlePath') }
  const worker = await createWorker({ registry: talk.registry, connection, workflowBundle })
  const [input, output] = [new PassThrough(), new PassThrough()]
  let shown = ''
  output.on('data', (chunk: Buffer) => (shown += chunk.toString()))
  const terminal = openTerminal({ input, output, problems: output })
  try {
    const code = await worker.runUntil(async () => {
      const ended = runCommand(['chat', agent], terminal)
      let read = 0
      for (const [question, answer] of talk.lines) {
        await until(`"${question}" in:\n${shown}`, async () => shown.includes(question, read))
        read = shown.length
        input.write(`${answer}\n`)
      }
      await until(`the last question in:\n${shown}`, async () => shown.includes('you: ', read))
      input.end()
      return ended
    })
    return { shown, code }
  } finally {
    terminal.close()
    await connection.close()
  }
}

test('a refund is approved in the terminal', async () => {
  const { desk } = await import('../../examples/support-desk/registry.js')
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
  expect(code).toBe(0)
})

test('two models work in the terminal until one approves', async () => {
  const { studio } = await import('../../examples/worker-and-reviewer/registry.js')
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
  const { hotel } = await import('../../examples/handoff/registry.js')
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
  const { office } = await import('../../examples/effects-and-variables/registry.js')
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
  const { library } = await import('../../examples/standard-agents-folder/registry.js')
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

test('an agent that no worker runs is named', async () => {
  const output = new PassThrough()
  let shown = ''
  output.on('data', (chunk: Buffer) => (shown += chunk.toString()))
  const terminal = openTerminal({ input: new PassThrough(), output, problems: output })
  expect(await runCommand(['chat', 'nobody'], terminal)).toBe(1)
  expect(shown).toContain('got "nobody"')
  terminal.close()
})

test('setup makes everything ready, and again', async () => {
  const output = new PassThrough()
  let shown = ''
  output.on('data', (chunk: Buffer) => (shown += chunk.toString()))
  const terminal = openTerminal({ input: new PassThrough(), output, problems: output })
  expect(await runCommand(['setup'], terminal)).toBe(0)
  expect(await runCommand(['setup'], terminal)).toBe(0)
  expect(shown.match(/search attributes: ready/g)).toHaveLength(2)
  terminal.close()
})
