import { NativeConnection } from '@temporalio/worker'
import { afterAll, beforeAll, beforeEach, expect, inject, test } from 'vitest'
import { z } from 'zod'

import { ThreadClient } from '../../../src/client/index.js'
import { defineAgent, defineModel, definePrompt, defineTool, registry } from '../../../src/index.js'
import { scriptedModel } from '../../../src/testing/index.js'
import type { ScriptedRequest } from '../../../src/testing/index.js'
import { createWorker } from '../../../src/worker/index.js'
import { createGate } from '../../support/gate.js'
import type { Gate } from '../../support/gate.js'
import { until } from '../../support/until.js'
import { openCliPlace, openScreen } from './cli-place.js'
import type { CliPlace, Screen } from './cli-place.js'

/** Holds the helper that nobody waits for. */
let gate: Gate

const chief = scriptedModel((request: ScriptedRequest) => {
  const { role, text = '' } = request.messages.at(-1) ?? {}
  const call = /^CALL (\w+)$/.exec(text)?.[1]
  if (role === 'user' && call !== undefined) return { toolCalls: [{ name: call, args: { task: 'Work' } }] }
  return { text: `Heard: ${text.split('\n').at(-1)}` }
})
const staff = scriptedModel(async ({ prompt, messages }: ScriptedRequest) => {
  if (prompt === 'slow') await gate.passed
  const paid = messages.some(({ role }) => role === 'tool')
  if (prompt === 'payer' && !paid) return { toolCalls: [{ name: 'pay', args: { euros: 5 } }] }
  return { toolCalls: [{ name: 'deliver', args: { text: `done by ${prompt}` } }] }
})

const works = { toolDescription: 'Works', model: 'staff', includeChat: true, includePastTools: true } as const
const subagent = {
  type: 'dual_ai',
  exposeAsTool: true,
  toolDescription: 'Works',
  maxSessionTurns: 5,
} as const
const side = <Name extends string>(prompt: Name) =>
  ({ prompt, sessionStop: { name: 'deliver', messageProperty: 'text' } }) as const
const requiredSchema = z.object({ task: z.string() })
const office = registry({
  models: [
    defineModel({ name: 'chief', provider: { languageModel: () => chief }, model: 'scripted' }),
    defineModel({ name: 'staff', provider: { languageModel: () => staff }, model: 'scripted' }),
  ],
  prompts: [
    definePrompt({
      ...works,
      name: 'desk',
      model: 'chief',
      prompt: 'You lead.',
      tools: [{ name: 'helper', blocking: false }, { name: 'cashier' }],
    }),
    definePrompt({ ...works, name: 'slow', prompt: 'You help.', requiredSchema, tools: ['deliver'] }),
    definePrompt({ ...works, name: 'payer', prompt: 'You pay.', requiredSchema, tools: ['deliver', 'pay'] }),
  ],
  agents: [
    defineAgent({ name: 'boss', sideA: { prompt: 'desk' } }),
    defineAgent({ ...subagent, name: 'helper', sideA: side('slow'), sideB: side('slow') }),
    defineAgent({ ...subagent, name: 'cashier', sideA: side('payer'), sideB: side('payer') }),
  ],
  tools: {
    deliver: defineTool({
      description: 'Ends',
      args: z.object({ text: z.string() }),
      execute: () => ({ status: 'success' }),
    }),
    pay: defineTool({
      description: 'Pays',
      args: z.object({ euros: z.number() }),
      needsApproval: true,
      execute: () => ({ status: 'success', result: 'Paid.' }),
    }),
  },
})

let place: CliPlace
beforeAll(async () => {
  place = await openCliPlace()
})
afterAll(() => place.close())
beforeEach(() => {
  gate = createGate()
})

test('a late result is shown at the prompt, and the next answer is of the next line', async () => {
  await withChat(async (screen) => {
    await says(screen, 'CALL helper', 'you: ')
    gate.open()
    // Nobody typed anything.
    const late = await until('the late answer', async () => {
      const at = screen.shown.indexOf('Heard: done by slow')
      return at > 0 && screen.shown.indexOf('you: ', at) > 0 && at
    })
    await says(screen, 'three', 'you: ')
    expect(screen.shown.slice(late)).toContain('Heard: three')
  })
})

test('an approval inside a subagent is asked for and answered', async () => {
  await withChat(async (screen) => {
    await says(screen, 'CALL cashier', 'Allow pay {"euros":5} of the subagent cashier')
    await says(screen, 'y', 'you: ')
    expect(screen.shown).toContain('Heard: done by payer')
  })
})

test('a question that comes at the prompt is told, and put when the person asks', async () => {
  await withChat(async (screen, thread) => {
    await says(screen, 'Hello', 'you: ')
    await thread.send('CALL cashier')
    await until('the notice', async () => screen.shown.includes('an empty line shows it'))
    expect(screen.shown).not.toContain('Allow pay')
    await says(screen, '', 'Allow pay')
    await says(screen, 'y', 'Heard: done by payer')
  })
})

interface Other {
  send(text: string): Promise<unknown>
}

/** A chat of a person, and the thread as somebody else has it. */
async function withChat(talk: (screen: Screen, thread: Other) => Promise<void>): Promise<void> {
  const connection = await NativeConnection.connect({ address: inject('devServerAddress') })
  const workflowBundle = { codePath: inject('workflowBundlePath') }
  const worker = await createWorker({ registry: office, connection, workflowBundle })
  const screen = openScreen()
  const threads = new ThreadClient()
  try {
    await worker.runUntil(async () => {
      const ended = screen.run('chat', 'boss')
      await until('the first question', async () => screen.shown.includes('you: '))
      const id = /^Thread (\S+)\. /.exec(screen.shown)?.[1] ?? ''
      await talk(screen, threads.get(id))
      screen.end()
      expect(await ended).toBe(0)
    })
  } finally {
    screen.close()
    await threads.close()
    await connection.close()
  }
}

/** Types a line and waits for what is to follow. */
async function says(screen: Screen, line: string, next: string): Promise<void> {
  const { length } = screen.shown
  screen.type(line)
  await until(`"${next}" on the screen`, async () => screen.shown.includes(next, length))
}
