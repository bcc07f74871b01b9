import { z } from 'zod'

import type { BudgetRequest, CreateThread, ThreadHandle } from '../../src/client/index.js'
import { defineAgent, defineModel, definePrompt, defineTool, registry } from '../../src/index.js'
import type { ModelScript, ScriptedModel } from '../../src/testing/index.js'
import { createFamilyScripts } from './family-scripts.js'
import { marked } from './marker.js'
import { factsOf } from './thread-facts.js'
import type { ModeEnvironment } from './three-modes.js'
import type { Behaviour } from './thread-scripts.js'
import { unscripted } from './unscripted.js'

const execute = (): never => {
  throw new Error('Expected the tool to be faked by the test.')
}

const task = z.object({ task: z.string() })
const talks = {
  includeChat: true,
  includePastTools: true,
  model: 'voice',
  toolDescription: 'Speaks',
} as const

/** A lead with a tool, a prompt as a tool, and helpers that work beside each other. */
export const budgetDesk = registry({
  models: [
    // An answer with 10 tokens of input and 5 of output costs 20 millionths of a dollar.
    defineModel({ name: 'voice', provider: unscripted, model: 'scripted', inputPrice: 1, outputPrice: 2 }),
    defineModel({ name: 'unpriced', provider: unscripted, model: 'scripted' }),
  ],
  prompts: [
    definePrompt({
      ...{ ...talks, name: 'lead', prompt: 'You lead.' },
      tools: [
        'look',
        'draft',
        { name: 'helper', initUserMessageProperty: 'task', blocking: true, fanOut: true },
      ],
    }),
    definePrompt({
      ...talks,
      name: 'draft',
      toolDescription: 'Drafts',
      prompt: 'You draft.',
      requiredSchema: task,
    }),
    definePrompt({
      ...talks,
      name: 'help',
      prompt: 'You help.',
      requiredSchema: task,
      tools: ['look', 'finish'],
    }),
    definePrompt({ ...talks, model: 'unpriced', name: 'free', prompt: 'You talk.', tools: ['look'] }),
  ],
  agents: [
    defineAgent({ name: 'lead', sideA: { prompt: 'lead' } }),
    defineAgent({ name: 'bounded', sideA: { prompt: 'lead' }, budget: { maxModelCalls: 4 } }),
    defineAgent({
      ...{ name: 'helper', type: 'dual_ai', exposeAsTool: true, toolDescription: 'Helps' },
      sideA: {
        prompt: 'help',
        sessionStop: { name: 'finish', messageProperty: 'task' },
        stopOnResponse: false,
      },
      sideB: { prompt: 'draft' },
    }),
    defineAgent({ name: 'free', sideA: { prompt: 'free' } }),
  ],
  tools: {
    look: defineTool({ description: 'Looks', args: z.object({}), execute }),
    finish: defineTool({ description: 'Ends', args: task, execute }),
  },
})

export type BudgetDesk = typeof budgetDesk

const scripts = createFamilyScripts(budgetDesk)
const { models: made } = scripts
export const models = { ...made, unpriced: made.voice }
export const { tools } = scripts
let number = 0

interface Given extends Partial<CreateThread<'lead' | 'free' | 'bounded'>> {
  readonly voices: Readonly<Record<string, ModelScript>>
  readonly look?: Behaviour
}

export interface Desk {
  readonly thread: ThreadHandle
  readonly voices: Readonly<Record<string, ScriptedModel>>
}

/** Starts threads of the desk in one mode. */
export function budgetDeskOf(mode: ModeEnvironment<BudgetDesk>) {
  async function start({ voices, look, ...options }: Given): Promise<Desk> {
    const id = options.id ?? `budget-${(number += 1)}-${mode.mode.replaceAll(' ', '-')}`
    const scripted = scripts.script(id, mode.env.store, {
      voices,
      tools: look === undefined ? {} : { look },
    })
    const given = { agent: 'lead' as const, message: marked('Hello'), ...options, id }
    return { thread: await mode.env.threads.create(given), voices: scripted }
  }

  return { start }
}

/** A call of the tool, so that another step follows. */
export const look = { toolCalls: [{ name: 'look', args: {} }] }
export const done = { text: marked('Done') }

/** The events about budgets, in order, with what they say. */
export async function budgetEvents(
  thread: ThreadHandle,
): Promise<readonly Readonly<Record<string, unknown>>[]> {
  const facts = await factsOf(thread)
  return facts
    .filter(({ type }) => type.startsWith('budget.'))
    .map(({ type, payload }) => ({ type, ...payload }))
}

/** The one request about a budget that the thread waits for. */
export async function budgetRequestOf(thread: ThreadHandle): Promise<BudgetRequest> {
  const { pending } = await thread.snapshot()
  const [request] = pending
  if (pending.length !== 1 || request?.kind !== 'budget')
    throw new Error(`Expected one request about a budget, got ${JSON.stringify(pending)}.`)
  return request
}
