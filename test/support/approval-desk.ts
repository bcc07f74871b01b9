import { z } from 'zod'

import type { ApprovalRequest, CreateThread, ThreadHandle } from '../../src/client/index.js'
import {
  defineAgent,
  defineModel,
  definePolicy,
  definePrompt,
  defineTool,
  registry,
} from '../../src/index.js'
import { createFamilyScripts } from './family-scripts.js'
import { marked } from './marker.js'
import type { ModeEnvironment } from './three-modes.js'
import type { Behaviour } from './thread-scripts.js'
import { unscripted } from './unscripted.js'

const execute = (): never => {
  throw new Error('Expected the tool to be faked by the test.')
}

const HOUR = 3_600_000
const order = z.object({
  task: z.string(),
  euros: z.number().max(1_000).default(10),
  apiKey: z.string().optional(),
})
const refunding = { args: order, needsApproval: true, capabilities: ['orders.refund'] } as const

/** A clerk with tools that ask a person, each by another rule. */
export const approvalDesk = registry({
  models: [defineModel({ name: 'voice', provider: unscripted, model: 'scripted' })],
  prompts: [
    definePrompt({
      ...{ name: 'clerk', toolDescription: 'Works', model: 'voice', prompt: 'You work.' },
      ...{ includeChat: true, includePastTools: true },
      tools: ['refund', 'repay', 'plain', 'large', 'tiered', 'urgent', 'broken', 'strict', 'shown'],
    }),
  ],
  agents: [defineAgent({ name: 'clerk', sideA: { prompt: 'clerk' } })],
  tools: {
    refund: defineTool({
      ...refunding,
      description: 'Pays money back',
      preview: (_state, { task, euros }) => [
        { type: 'text', text: `${task}: ${euros} euros`, title: 'What is paid' },
        { type: 'diff', before: 'paid', after: 'refunded' },
        { type: 'json', value: { euros, password: 'hidden' } },
      ],
      execute,
    }),
    repay: defineTool({ ...refunding, description: 'Pays money back, too', execute }),
    plain: defineTool({ description: 'Needs no capability', args: order, needsApproval: true, execute }),
    large: defineTool({
      ...{ ...refunding, description: 'Pays much', execute },
      approval: { roles: ['manager', 'owner'], fourEyes: true },
    }),
    tiered: defineTool({
      ...{ args: order, capabilities: ['orders.refund'], description: 'Asks by amount', execute },
    }),
    urgent: defineTool({
      ...refunding,
      description: 'Waits an hour',
      approval: { expiresIn: HOUR },
      execute,
    }),
    broken: defineTool({
      ...{ ...refunding, description: 'Shows nothing', execute },
      preview: () => {
        throw new Error('No preview.')
      },
    }),
    shown: defineTool({
      ...{ args: order, capabilities: ['orders.refund'], description: 'Shows what it pays', execute },
      preview: (_state, { euros }) => `Pays ${euros} euros`,
    }),
    strict: defineTool({
      ...{ ...refunding, description: 'Wants an even number', execute },
      args: z.object({
        task: z.string(),
        euros: z.number().refine((euros) => euros % 2 === 0, 'Expected an even number'),
      }),
    }),
  },
})

export type ApprovalDesk = typeof approvalDesk

/** Above 100 euros a manager has to approve what the tool `tiered` pays. */
export const tiers = definePolicy(({ name, arguments: args }) => {
  if (name !== 'tiered') return 'allow'
  const isLarge = Number(args['euros']) > 100
  return { effect: 'require_approval', ...(isLarge && { approval: { roles: ['manager'] } }) }
})

const scripts = createFamilyScripts(approvalDesk)
export const { models, tools } = scripts
let number = 0

type Call = { readonly name: string; readonly args?: object }

/** Starts threads of the approval desk in one mode; `ran` has the arguments of each call that ran. */
export function approvalDeskOf(mode: ModeEnvironment<ApprovalDesk>) {
  const ran: (readonly [name: string, args: Readonly<Record<string, unknown>>])[] = []
  const running =
    (name: string): Behaviour =>
    (_state, args) => {
      ran.push([name, args as Record<string, unknown>])
      return { status: 'success', result: marked('Paid') }
    }
  const names = approvalDesk.names().tools

  /** One thread whose model makes these calls, one in each step, and then says that it is done. */
  async function start(
    given: Partial<CreateThread<'clerk'>> & {
      readonly calls: readonly Call[]
      readonly behaviours?: Readonly<Record<string, Behaviour>>
    },
  ): Promise<ThreadHandle> {
    const { calls, behaviours, ...options } = given
    ran.length = 0
    const id = options.id ?? `approval-${(number += 1)}-${mode.mode.replaceAll(' ', '-')}`
    scripts.script(id, mode.env.store, {
      voices: {
        clerk: [
          ...calls.map(({ name, args }) => ({
            toolCalls: [{ name, args: { task: marked('Pay'), ...args } }],
          })),
          { text: marked('Done') },
        ],
      },
      tools: { ...Object.fromEntries(names.map((name) => [name, running(name)])), ...behaviours },
    })
    return mode.env.threads.create({ agent: 'clerk', message: marked('Hello'), ...options, id })
  }

  /** The one approval that the thread waits for. */
  async function requestOf(thread: ThreadHandle): Promise<ApprovalRequest> {
    const { pending } = await thread.snapshot()
    const [request] = pending
    if (pending.length !== 1 || request?.kind !== 'approval')
      throw new Error(`Expected one approval, got ${JSON.stringify(pending)}.`)
    return request
  }

  async function startAndAsk(given: Parameters<typeof start>[0]) {
    const thread = await start(given)
    await thread.waitUntilIdle()
    return { thread, request: await requestOf(thread) }
  }

  return { ran, start, requestOf, startAndAsk }
}
