import { anthropic } from '@ai-sdk/anthropic'
import { openai } from '@ai-sdk/openai'
import { expectTypeOf, test } from 'vitest'
import { z } from 'zod'

import type { AgentName, ModelName, Registry, ToolInput, ToolName } from '../../src/index.js'

import { defineAgent, defineModel, definePrompt, defineTool, registry } from '../../src/index.js'

const chat = defineModel({
  name: 'chat',
  provider: openai,
  model: 'gpt-5-mini',
  inputPrice: 0.25,
  outputPrice: 2,
  capabilities: { supportsImages: true, maxContextTokens: 400_000 },
  providerOptions: { openai: { reasoningEffort: 'low' } },
})
const review = defineModel({ name: 'review', provider: anthropic, model: 'claude-sonnet-4-5' })

const lookup_order = defineTool({
  description: 'Look up an order by its number. Attaches its invoice when asked for.',
  args: z.object({ orderId: z.string(), withInvoice: z.boolean().default(false) }),
  idempotent: true,
  async execute(state, { orderId, withInvoice }, call) {
    expectTypeOf(withInvoice).toEqualTypeOf<boolean>()
    const signal = state.execution?.abortSignal ?? null
    const response = await fetch(`https://orders.example/v1/orders/${orderId}`, {
      headers: { 'idempotency-key': call.idempotencyKey },
      signal,
    })
    if (response.status === 404) return { status: 'error', error: `There is no order ${orderId}.` }
    const order = (await response.json()) as { total: number }
    if (!withInvoice) return { status: 'success', result: order }
    const invoice = { name: `${orderId}.pdf`, mimeType: 'application/pdf', data: new Uint8Array() }
    return { status: 'success', result: order, attachments: [invoice] }
  },
})
const deliver_report = defineTool({
  description: 'Deliver the approved report. Ends the research.',
  args: z.object({ summary: z.string(), attachments: z.array(z.string()).default([]) }),
  execute: async () => ({ status: 'success' }),
})
const give_up = defineTool({
  description: 'Say why the question cannot be answered. Ends the research.',
  args: z.object({ reason: z.string() }),
  execute: async () => ({ status: 'success' }),
})
const now = defineTool({
  description: 'The time.',
  execute: (state) => ({ status: 'success', result: state.createdAt }),
})

const tone = definePrompt({
  name: 'tone',
  toolDescription: 'Tone of voice',
  prompt: 'Be brief and friendly. Never invent facts.',
  model: 'chat',
})
const support_desk = definePrompt({
  name: 'support_desk',
  toolDescription: 'Answers customers',
  model: 'chat',
  includeChat: true,
  includePastTools: true,
  prompt: [
    { type: 'text', content: 'You are the support desk of Acme. ' },
    { type: 'include', prompt: 'tone' },
  ],
  tools: [
    'lookup_order',
    'now',
    { name: 'research', initUserMessageProperty: 'question', initAttachmentsProperty: 'files' },
  ],
})
const researcher = definePrompt({
  name: 'researcher',
  toolDescription: 'Researches a question',
  model: 'chat',
  includeChat: true,
  includePastTools: true,
  requiredSchema: z.object({ question: z.string(), files: z.array(z.string()).default([]) }),
  prompt: 'Research the question. Give sources. A reviewer reads every draft.',
  tools: ['lookup_order', 'give_up'],
})
const reviewer = definePrompt({
  name: 'reviewer',
  toolDescription: 'Reviews research',
  model: 'review',
  includeChat: true,
  prompt: 'Object to each claim without a source. When nothing is left, deliver the report.',
  tools: ['deliver_report'],
})

const support = defineAgent({ name: 'support', sideA: { prompt: 'support_desk', maxSteps: 30 } })
const research = defineAgent({
  name: 'research',
  type: 'dual_ai',
  maxSessionTurns: 12,
  exposeAsTool: true,
  toolDescription: 'Have a question researched and reviewed.',
  sideA: {
    label: 'Researcher',
    prompt: 'researcher',
    sessionFail: { name: 'give_up', messageProperty: 'reason' },
  },
  sideB: {
    label: 'Reviewer',
    prompt: 'reviewer',
    sessionStop: {
      name: 'deliver_report',
      messageProperty: 'summary',
      attachmentsProperty: 'attachments',
    },
  },
})

const desk = registry({
  agents: [support, research],
  prompts: [support_desk, tone, researcher, reviewer],
  models: [chat, review],
  tools: { lookup_order, deliver_report, give_up, now },
})

test('a registry knows the names of its parts', () => {
  expectTypeOf<AgentName<typeof desk>>().toEqualTypeOf<'support' | 'research'>()
  expectTypeOf<ModelName<typeof desk>>().toEqualTypeOf<'chat' | 'review'>()
  expectTypeOf<ToolName<typeof desk>>().toEqualTypeOf<'lookup_order' | 'deliver_report' | 'give_up' | 'now'>()
})

test('a registry knows what callers write for its tools', () => {
  type Input = ToolInput<typeof desk, 'lookup_order'>
  expectTypeOf<Input>().toEqualTypeOf<{ orderId: string; withInvoice?: boolean | undefined }>()
  expectTypeOf<ToolInput<typeof desk, 'now'>>().toEqualTypeOf<Record<string, never>>()
})

test('a registry of any names stands for every registry', () => {
  expectTypeOf(desk).toExtend<Registry>()
  expectTypeOf<AgentName<Registry>>().toEqualTypeOf<string>()
  expectTypeOf<ToolName<Registry>>().toEqualTypeOf<string>()
  expectTypeOf<ToolInput<Registry, string>>().toEqualTypeOf<Record<string, unknown>>()
})
