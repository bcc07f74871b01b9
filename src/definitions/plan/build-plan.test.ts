import { expect, test } from 'vitest'
import { z } from 'zod'
import { ConfigError } from '../../protocol/errors.js'
import { LIMITS } from '../../protocol/limits.js'
import { defineAgent } from '../agent.js'
import type { AgentDefinition } from '../agent.js'
import { defineHook } from '../hook.js'
import { defineModel } from '../model.js'
import type { LanguageModelProvider } from '../model.js'
import { definePrompt } from '../prompt.js'
import { registry } from '../registry.js'
import { defineTool } from '../tool.js'
import { buildPlan, runCaps } from './build-plan.js'
import type { PlanContent } from './plan-content.js'

const provider: LanguageModelProvider = {
  languageModel() {
    throw new Error('no test of plans calls a model')
  },
}

const look = defineTool({
  description: 'Looks an order up.',
  args: z.object({ orderId: z.string() }),
  timeout: 1000,
  execute: () => ({ status: 'success' }),
})
const finish = defineTool({
  description: 'Delivers the report.',
  args: z.object({ summary: z.string() }),
  execute: () => ({ status: 'success' }),
})

function build(override: Partial<AgentDefinition> = {}) {
  return registry({
    agents: [
      {
        ...defineAgent({
          name: 'support',
          sideA: { prompt: 'desk', maxSteps: 3 },
          hooks: ['count'],
          env: { CITY: 'Rome' },
        }),
        ...override,
      },
      defineAgent({
        name: 'billing',
        exposeAsTool: true,
        toolDescription: 'Takes over what is about bills.',
        sideA: { prompt: 'rephrase' },
      }),
      defineAgent({
        name: 'research',
        type: 'dual_ai',
        maxSessionTurns: 6,
        exposeAsTool: true,
        toolDescription: 'Researches a question.',
        sideA: {
          prompt: 'researcher',
          label: 'Researcher',
          stopTool: 'look',
          stopToolResponseProperty: 'verdict',
          sessionStatus: 'look',
        },
        sideB: {
          prompt: 'reviewer',
          stopOnResponse: false,
          sessionStop: { name: 'finish', messageProperty: 'summary' },
        },
      }),
    ],
    hooks: [defineHook({ hook: 'after_create_message', id: 'count', execute: () => undefined })],
    prompts: [
      definePrompt({ name: 'tone', toolDescription: 'Tone', prompt: 'Be brief.', model: 'chat' }),
      definePrompt({
        name: 'desk',
        toolDescription: 'Desk',
        model: 'chat',
        includeChat: true,
        prompt: [
          { type: 'text', content: 'You help. ' },
          { type: 'include', prompt: 'tone' },
        ],
        providerOptions: { openai: { reasoningEffort: 'high' } },
        tools: [
          'look',
          { name: 'research', initUserMessageProperty: 'question' },
          { name: 'rephrase', includeErrors: false, initUserMessageProperty: 'text' },
          { name: 'billing', initUserMessageProperty: 'text' },
        ],
        variables: [{ name: 'CITY', type: 'text', required: true, description: 'Where' }],
        env: { CITY: 'Oslo' },
        reasoning: { effort: 'low', include: true },
        recentImageThreshold: 2,
        parallelToolCalls: true,
      }),
      definePrompt({
        name: 'rephrase',
        toolDescription: 'Says it better.',
        prompt: [{ type: 'env', property: 'CITY' }],
        model: 'chat',
        requiredSchema: z.object({ text: z.string() }),
        hooks: [],
      }),
      definePrompt({
        name: 'researcher',
        toolDescription: 'Researches',
        prompt: 'Research.',
        model: 'chat',
        requiredSchema: z.object({ question: z.string() }),
        tools: ['look'],
      }),
      definePrompt({
        name: 'reviewer',
        toolDescription: 'Reviews',
        prompt: 'Review.',
        model: 'review',
        tools: ['finish'],
      }),
    ],
    models: [
      defineModel({
        name: 'chat',
        provider,
        model: 'large',
        inputPrice: 2,
        capabilities: { maxContextTokens: 1000, maxOutputTokens: 99, reasoningLevels: { 33: 'low' } },
        fallbacks: ['review'],
        providerOptions: { openai: { reasoningEffort: 'low', store: false } },
      }),
      defineModel({ name: 'review', provider, model: 'small' }),
    ],
    tools: { look, finish },
  })
}

function planOf(agentName: string, override: Partial<AgentDefinition> = {}): PlanContent {
  const built = buildPlan(build(override), agentName)
  if ('missing' in built) throw new Error(`Expected a plan of ${agentName}`)
  return built
}

test('a plan holds the control facts of an agent', () => {
  const { plan } = planOf('support')
  expect(plan).toEqual({
    digest: expect.stringMatching(/^[0-9a-f]{32}$/),
    agent: 'support',
    type: 'ai_human',
    maxSessionTurns: null,
    caps: { stepsPerRun: 250, sessionTurns: 100, repeatedToolErrors: 8 },
    sides: {
      a: {
        label: null,
        prompt: 'desk',
        stopOnResponse: true,
        stopTool: null,
        maxSteps: 3,
        sessionStop: null,
        sessionFail: null,
      },
      b: null,
    },
    prompts: {
      desk: {
        model: 'chat',
        tools: {
          look: { kind: 'function', timeout: 1000 },
          research: { kind: 'subagent', agent: 'research' },
          rephrase: { kind: 'prompt', prompt: 'rephrase' },
          billing: { kind: 'hand_off', agent: 'billing' },
        },
      },
      rephrase: { model: 'chat', tools: {} },
    },
  })
})

test('a dual_ai plan holds both sides and their payloads', () => {
  const { plan, lifecycle, prompts, models } = planOf('research')
  expect(plan).toMatchObject({
    type: 'dual_ai',
    maxSessionTurns: 6,
    sides: {
      a: { label: 'Researcher', stopTool: 'look' },
      b: { stopOnResponse: false, sessionStop: 'finish' },
    },
    prompts: { reviewer: { tools: { finish: { kind: 'function', timeout: LIMITS.toolTimeout } } } },
  })
  const none = { stopTool: null, stopToolResponseProperty: null }
  expect(lifecycle).toEqual({
    a: {
      stopTool: 'look',
      stopToolResponseProperty: 'verdict',
      sessionStop: null,
      sessionFail: null,
      sessionStatus: { name: 'look' },
    },
    b: {
      ...none,
      sessionStop: { name: 'finish', messageProperty: 'summary' },
      sessionFail: null,
      sessionStatus: null,
    },
  })
  expect(Object.keys(prompts)).toEqual(['researcher', 'reviewer'])
  expect(Object.keys(models)).toEqual(['chat', 'review'])
})

test('a prompt is rendered with includes, tools and options', () => {
  const { prompts, models } = planOf('support')
  const inputSchema = (name: string) => ({
    type: 'object',
    properties: { [name]: { type: 'string' } },
    required: [name],
    additionalProperties: false,
  })
  expect(prompts['desk']).toEqual({
    system: [{ type: 'text', content: 'You help. Be brief.' }],
    model: 'chat',
    includeChat: true,
    includePastTools: false,
    toolChoice: 'auto',
    parallelToolCalls: true,
    reasoning: { effort: 'low', include: true },
    recentImageThreshold: 2,
    hooks: ['count'],
    variables: [{ name: 'CITY', type: 'text', required: true, description: 'Where' }],
    env: { CITY: 'Oslo' },
    providerOptions: { openai: { reasoningEffort: 'high' } },
    tools: [
      { name: 'look', description: 'Looks an order up.', inputSchema: inputSchema('orderId') },
      {
        name: 'research',
        description:
          'Researches a question. The call waits until the agent is done, and answers with its result.',
        inputSchema: inputSchema('question'),
      },
      { name: 'rephrase', description: 'Says it better.', inputSchema: inputSchema('text') },
      {
        name: 'billing',
        description: 'Takes over what is about bills.',
        inputSchema: inputSchema('text'),
      },
    ],
    subagents: {
      research: {
        agent: 'research',
        title: null,
        description: 'Researches a question.',
        blocking: true,
        timeout: null,
        optional: null,
        resumable: null,
        immediate: null,
        fanOut: false,
        inputSchema: inputSchema('question'),
        initUserMessageProperty: 'question',
      },
    },
    subprompts: {
      rephrase: {
        prompt: 'rephrase',
        includeTextResponse: true,
        includeToolCalls: true,
        includeErrors: false,
        initUserMessageProperty: 'text',
      },
    },
    handoffs: { billing: { agent: 'billing', initUserMessageProperty: 'text' } },
  })
  expect(prompts['rephrase']).toMatchObject({
    system: [{ type: 'env', property: 'CITY' }],
    parallelToolCalls: false,
    reasoning: null,
    recentImageThreshold: 10,
    hooks: ['count'],
    env: {},
  })
  expect(Object.keys(models)).toEqual(['chat', 'review'])
  expect(models['chat']).toEqual({
    model: 'large',
    inputPrice: 2,
    outputPrice: null,
    cachedPrice: null,
    supportsImages: true,
    supportsDocuments: false,
    supportsAudio: false,
    supportsToolCalls: true,
    maxContextTokens: 1000,
    maxOutputTokens: 99,
    reasoningLevels: { 33: 'low' },
    providerOptions: { openai: { reasoningEffort: 'low', store: false } },
    fallbacks: ['review'],
  })
})

test('SA-A-01.2h a tool description of an agent is what its callers read', () => {
  expect(planOf('support').prompts['desk']?.tools).toContainEqual(
    expect.objectContaining({ name: 'billing', description: 'Takes over what is about bills.' }),
  )
})

test('SA-A-00.2 one definition is a root thread and a subagent', () => {
  expect(planOf('research').plan).toMatchObject({ agent: 'research', type: 'dual_ai' })
  expect(planOf('support').plan.prompts['desk']?.tools['research']).toEqual({
    kind: 'subagent',
    agent: 'research',
  })
})

test('SA-A-01.2a an agent without a type is ai_human', () => {
  expect(planOf('support').plan.type).toBe('ai_human')
  expect(planOf('support', { type: 'ai_human' })).toEqual(planOf('support'))
})

test('a plan is the same after JSON and in every process', () => {
  const content = planOf('support')
  expect(JSON.parse(JSON.stringify(content))).toEqual(content)
  expect(planOf('support')).toEqual(content)
})

test('a digest changes with what a run sees', () => {
  const { digest } = planOf('support').plan
  expect(planOf('support', { sideA: { prompt: 'desk', maxSteps: 4 } }).plan.digest).not.toBe(digest)
  expect(planOf('support', { sideA: { prompt: 'tone', maxSteps: 3 } }).plan.digest).not.toBe(digest)
})

test('SA-A-01.2k packaging metadata changes nothing of a run', () => {
  const metadata = { packageName: '@acme/support', version: '1.0.0', author: 'Acme', license: 'MIT' }
  expect(planOf('support', metadata)).toEqual(planOf('support'))
})

test('caps of a worker are part of its plans', () => {
  const desk = build()
  const caps = { stepsPerRun: 5, sessionTurns: 6, repeatedToolErrors: 7 }
  expect(buildPlan(desk, 'support', { caps })).toMatchObject({ plan: { caps } })
  expect(buildPlan(desk, 'support', { caps: { ...caps } })).toBe(buildPlan(desk, 'support', { caps }))
  expect(buildPlan(desk, 'support')).not.toBe(buildPlan(desk, 'support', { caps }))
})

test('prices of a worker are part of its plans, so that a run keeps those that it began with', () => {
  const desk = build()
  const priced = (inputPrice: number) => () => ({ inputPrice, outputPrice: 2, cachedPrice: null })
  const [one, two] = [
    buildPlan(desk, 'support', { prices: priced(1) }),
    buildPlan(desk, 'support', { prices: priced(5) }),
  ]
  expect(one).toMatchObject({ models: { chat: { inputPrice: 1, outputPrice: 2, cachedPrice: null } } })
  expect(two).toMatchObject({ models: { chat: { inputPrice: 5 } } })
  const [first, second] = [one, two].map((plan) => ('missing' in plan ? null : plan.plan.digest))
  expect(first).not.toBe(second)
})

test('an agent that is not registered is missing', () => {
  expect(buildPlan(build(), 'nobody')).toEqual({ missing: 'nobody' })
})

test('a worker without limits gets the hard caps', () => {
  const { stepsPerRun, sessionTurns, repeatedToolErrors } = LIMITS
  expect(runCaps()).toEqual({ stepsPerRun, sessionTurns, repeatedToolErrors })
  expect(runCaps({ stepsPerRun: 5 })).toEqual({ stepsPerRun: 5, sessionTurns, repeatedToolErrors })
})

test('limits that are no counts are named all at once', () => {
  const limits = { stepsPerRun: 0, sessionTurns: 1.5, repeatedToolErrors: Number.NaN }
  try {
    expect.fail(JSON.stringify(runCaps(limits)))
  } catch (error) {
    if (!ConfigError.isInstance(error)) throw error
    expect(error.problems).toEqual([
      'Expected limits.stepsPerRun to be a whole number from 1, got 0.',
      'Expected limits.sessionTurns to be a whole number from 1, got 1.5.',
      'Expected limits.repeatedToolErrors to be a whole number from 1, got NaN.',
    ])
  }
})
