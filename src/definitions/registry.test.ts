import { expect, test } from 'vitest'
import { z } from 'zod'
import {
  agentProblems,
  build,
  desk,
  done,
  model,
  problems,
  promptProblems,
  research,
  support,
  toolProblems,
} from '../../test/support/loose-registry.js'
import { ConfigError } from '../protocol/errors.js'
import { LIMITS } from '../protocol/limits.js'
import { defineHook } from './hook.js'
import { buildPlan } from './plan/build-plan.js'
import { defineTool } from './tool.js'

test('a registry finds each definition by its name', () => {
  const desk = build({ agents: [support, research] })
  expect(desk.names()).toEqual({
    agents: ['support', 'research'],
    prompts: ['desk'],
    models: ['chat'],
    tools: ['done'],
    hooks: [],
    effects: [],
  })
  expect(desk.agent('research')).toBe(research)
  expect(desk.tool('done')).toBe(done)
  expect([desk.agent('x'), desk.prompt('x'), desk.model('x'), desk.tool('constructor')]).toEqual([
    undefined,
    undefined,
    undefined,
    undefined,
  ])
})

test('three mistakes are reported as three problems', () => {
  const build3 = () =>
    build({
      agents: [{ name: 'support', sideA: { prompt: 'dsk' } }],
      prompts: [{ ...desk, model: 'chatt' }],
      tools: { done: { ...done, description: '' } },
    })
  expect(build3).toThrowError(
    new ConfigError([
      "tool 'done': description: must not be empty",
      "prompt 'desk' uses the model 'chatt', which is not registered: did you mean 'chat'?",
      "agent 'support': sideA uses the prompt 'dsk', which is not registered: did you mean 'desk'?",
    ]),
  )
  expect(build3).toThrowError(/^3 problems\n1\. .*\n2\. .*\n3\. /)
})

test('SA-A-01.1a an agent needs a name of its own', () => {
  expect(agentProblems({ sideA: { prompt: 'desk' } })).toEqual([
    'agents[0]: name: expected string, received undefined',
  ])
  expect(agentProblems({ ...support, name: ' ' })).toEqual(["agent ' ': name: must not be empty"])
  expect(problems({ agents: [support, support] })).toEqual(["agent 'support' is registered more than once"])
  expect(agentProblems({ ...support, name: 'x'.repeat(LIMITS.nameLength + 1) })).toHaveLength(1)
})

test('SA-A-01.1b an agent without side A is refused', () => {
  expect(agentProblems({ name: 'support' })).toEqual([
    "agent 'support': sideA: expected object, received undefined",
  ])
})

test('SA-A-01.2a a type that is not one of two is refused', () => {
  expect(agentProblems({ ...support, type: 'ai' })).toEqual([
    'agent \'support\': type: expected one of "ai_human"|"dual_ai"',
  ])
})

test('SA-A-01.2b only a dual_ai agent needs side B', () => {
  const { sideB: _, ...alone } = research
  expect(agentProblems(alone)).toEqual(["agent 'research' is of type 'dual_ai', which needs a sideB"])
  expect(agentProblems(support)).toEqual([])
})

test('SA-A-03.1 a side with an unknown prompt is refused', () => {
  expect(agentProblems({ name: 'a', sideA: {} })).toEqual([
    "agent 'a': sideA.prompt: expected string, received undefined",
  ])
  expect(agentProblems({ ...research, sideB: { prompt: 'x' } })).toEqual([
    "agent 'research': sideB uses the prompt 'x', which is not registered",
  ])
})

test('a wrong field hides no wrong name beside it', () => {
  expect(agentProblems({ name: 'a', sideA: { prompt: 'nope', maxSteps: -1 }, colour: 'red' })).toHaveLength(3)
})

test('a getter that throws names its definition, and hides no other problem', () => {
  const throwing = (definition: object, field: string): never => {
    const get = (): never => {
      throw new Error('Boom')
    }
    return Object.defineProperty({ ...definition }, field, { enumerable: true, get }) as never
  }
  const told = (owner: string): string =>
    `${owner}: expected fields that can be read, got one that throws: Boom`
  expect(problems({ agents: [throwing(support, 'sideA'), { ...research, type: 'other' }] })).toEqual([
    told("agent 'support'"),
    expect.stringContaining("agent 'research': type"),
  ])
  const nested = { ...support, sideA: throwing(support.sideA, 'prompt') }
  expect(agentProblems(nested)).toEqual([told("agent 'support'")])
  expect(problems({ prompts: [throwing(desk, 'prompt')] })).toEqual([told("prompt 'desk'")])
  expect(problems({ tools: { done: throwing(done, 'execute') } })).toEqual([told("tool 'done'")])
  expect(problems({ agents: [throwing(support, 'name')] })).toContain(told('agents[0]'))
})

test('prompts that include themselves are refused', () => {
  const a = { ...desk, name: 'a', prompt: [{ type: 'include', prompt: 'b' }] }
  const b = { ...desk, name: 'b', prompt: [{ type: 'include', prompt: 'a' }] }
  const c = {
    ...desk,
    name: 'c',
    prompt: [
      { type: 'include', prompt: 'a' },
      { type: 'include', prompt: 'x' },
    ],
  }
  expect(problems({ prompts: [desk, a, b, c] })).toEqual([
    "prompt 'a' includes itself: a > b > a",
    "prompt 'b' includes itself: b > a > b",
    "prompt 'c' includes the prompt 'x', which is not registered",
  ])
})

test('old names are refused with the name to use', () => {
  expect(agentProblems({ ...support, tenvs: {} })).toEqual([
    "agent 'support' uses the old name tenvs: write env for values, variables for declarations",
  ])
  const parts = [
    { type: 'string', value: 'Hi' },
    { type: 'variable', value: 'NAME' },
    { type: 'prompt', id: 'tone' },
    { type: 'words' },
  ]
  expect(promptProblems({ prompt: parts })).toEqual([
    "prompt 'desk': prompt[0].type: expected a part of Standard Agents 0.1.0: write { type: 'text', content }",
    "prompt 'desk': prompt[1].type: expected a part of Standard Agents 0.1.0: write { type: 'env', property }",
    "prompt 'desk': prompt[2].type: expected a part of Standard Agents 0.1.0: write { type: 'include', prompt }",
    "prompt 'desk': prompt[3].type: expected { type: 'text', content }, { type: 'include', prompt } or { type: 'env', property }",
  ])
})

test('P10 spellings of earlier drafts are refused with those of today', () => {
  const sideA = { ...support.sideA, maxTurns: 3, endConversationTool: 'done', defaultPrompt: 'x' }
  expect(agentProblems({ ...support, sideA, maxTurns: 9, tags: ['vip'] })).toEqual([
    "agent 'support' uses the old name sideA.maxTurns: write maxSteps",
    "agent 'support' uses the old name sideA.endConversationTool: write sessionStop",
    "agent 'support' uses the old name sideA.defaultPrompt: write prompt",
    "agent 'support' uses the old name maxTurns: write maxSessionTurns",
    "agent 'support' has tags: give them to a thread as it is created, with create({ tags })",
  ])
  expect(promptProblems({ handoffAgents: ['other'] })).toEqual([
    "prompt 'desk' has handoffAgents: list the agents in tools",
  ])
})

test('P10 a definition given by position is told the object to write', () => {
  // `defineTool` and `defineHook` return their first argument.
  const tools = { done, look_up: defineTool('Looks it up.' as never), find: defineTool((() => 1) as never) }
  const hooks = [defineHook('filter_messages' as never)]
  expect(problems({ tools, hooks: hooks as never })).toEqual([
    "tool 'look_up': expected one object, got a string: write defineTool({ description, args, execute })",
    "tool 'find': expected one object, got a function: write defineTool({ description, args, execute })",
    'hooks[0]: expected one object, got a string: write defineHook({ hook, id, execute })',
  ])
})

test('P10 a level of reasoning may have no word', () => {
  const capabilities = { reasoningLevels: { 0: null, 50: 'medium' } }
  const registered = build({ models: [{ ...model, capabilities }] })
  expect(buildPlan(registered, 'support')).toMatchObject({
    models: { chat: { reasoningLevels: { 50: 'medium' } } },
  })
  expect(buildPlan(registered, 'support')).not.toHaveProperty('models.chat.reasoningLevels.0')
})

test('fields that have another place here say where', () => {
  expect(problems({ models: [{ ...model, includedProviders: ['azure'] }] })).toEqual([
    "model 'chat' has includedProviders: write it into providerOptions, as the AI SDK provider of the gateway takes it",
  ])
  expect(promptProblems({ tools: [{ name: 'done', env: {} }] })).toEqual([
    "prompt 'desk' has tools[0].env: write values into env of the prompt or of the agent",
  ])
})

test('the old name of a capability stands for the new one', () => {
  const withCapabilities = (capabilities: object) => ({ models: [{ ...model, capabilities }] })
  const old = build(withCapabilities({ vision: false, maxContextTokens: 9 }))
  expect(old.model('chat')?.capabilities).toEqual({ supportsImages: false, maxContextTokens: 9 })
  expect(old.warnings).toEqual(["model 'chat' uses the old name capabilities.vision: write supportsImages"])
  expect(problems(withCapabilities({ vision: true, supportsImages: true }))).toEqual([
    "model 'chat' has both capabilities.supportsImages and its old name vision: leave vision out",
  ])
})

test('fallbacks of a model are other models, each once', () => {
  const fallbacks = ['small', 'smal', 'chat', 'small']
  const small = { ...model, name: 'small', fallbacks: ['chat'] }
  expect(problems({ models: [{ ...model, fallbacks }, small] })).toEqual([
    "model 'chat' falls back to the model 'smal', which is not registered: did you mean 'small'?",
    "model 'chat' falls back to itself",
    "model 'chat' falls back to the model 'small' twice",
  ])
})

test('rate limits and capabilities of a model are checked', () => {
  const capabilities = { reasoningLevels: { 101: 'most' }, maxOutputTokens: 0, supportsStreaming: 'no' }
  const rateLimit = { concurrency: 0, requestsPerMinute: 1.5, perDay: 3 }
  expect(problems({ models: [{ ...model, rateLimit, capabilities }] })).toEqual([
    "model 'chat': rateLimit.concurrency: Too small: expected a number to be >0, got 0",
    expect.stringMatching(/^model 'chat': rateLimit\.requestsPerMinute: expected a whole number, got 1\.5$/),
    "model 'chat' has the unknown field rateLimit.perDay: its fields are concurrency, requestsPerMinute",
    "model 'chat': capabilities.supportsStreaming: expected boolean, received string",
    "model 'chat': capabilities.maxOutputTokens: Too small: expected a number to be >0, got 0",
    "model 'chat': capabilities.reasoningLevels: expected levels from 0 to 100 as keys",
  ])
  const sound = {
    reasoningLevels: { 0: 'none', 100: 'high' },
    supportsJsonMode: true,
    supportsStreaming: true,
  }
  expect(problems({ models: [{ ...model, rateLimit: { concurrency: 2 }, capabilities: sound }] })).toEqual([])
})

test('shapes of Standard Agents 0.2.0 are refused with advice', () => {
  expect(agentProblems({ ...support, sideB: { human: true, prompt: 'desk' } })).toEqual([
    "agent 'support' uses sideB.human of Standard Agents 0.2.0, expected 0.1.0: leave sideB out, the person is side B of an agent of type 'ai_human'",
  ])
  expect(agentProblems({ name: 'a', sideA: { prompt: 'desk', subagents: [] } })).toEqual([
    "agent 'a' uses sideA.subagents of Standard Agents 0.2.0, expected 0.1.0: list the agent in the tools of the side's prompt",
  ])
})

test('a list of tools is refused, for names are keys', () => {
  expect(problems({ prompts: [{ ...desk, tools: [] }], tools: [done], effects: [] })).toEqual([
    'registry: tools: expected an object of tools, by name: { my_name: … }',
    'registry: effects: expected an object of effects, by name: { my_name: … }',
  ])
})

test('a provider of another version of the AI SDK is refused', () => {
  const provider = { specificationVersion: 'v3', languageModel: () => undefined }
  expect(problems({ models: [{ ...model, provider }] })).toEqual([
    "model 'chat': provider: expected models of the AI SDK's specification v4, got v3: install the release of its " +
      'package that depends on @ai-sdk/provider 4, such as @ai-sdk/openai@4',
  ])
  expect(problems({ models: [{ ...model, provider: { ...provider, specificationVersion: 'v4' } }] })).toEqual(
    [],
  )
})

test('fields of wrong kinds are refused one by one', () => {
  expect(toolProblems({ execute: 1, timeout: 0, idempotent: 'yes', args: {} })).toEqual([
    "tool 'done': args: expected a z.object of zod 4, another Standard Schema, or jsonSchema() of the AI SDK",
    "tool 'done': execute: expected a function",
    "tool 'done': timeout: Too small: expected a number of milliseconds to be >0, got 0",
    "tool 'done': idempotent: expected boolean, received string",
  ])
  expect(problems({ models: [{ ...model, provider: {}, inputPrice: -1 }] })).toEqual([
    "model 'chat': provider: expected a provider of the AI SDK: an object with languageModel(id)",
    "model 'chat': inputPrice: Too small: expected a number of US dollars per million tokens to be >=0, got -1",
  ])
  expect(toolProblems({ needsApproval: 'yes', retry: { maximumAttempts: 0 }, variables: [7] })).toEqual([
    "tool 'done': variables[0]: expected object, received number",
    "tool 'done': needsApproval: expected a boolean or a function",
    "tool 'done': retry.maximumAttempts: Too small: expected a number to be >0, got 0",
  ])
  expect(toolProblems({ needsApproval: () => true, retry: { maximumAttempts: 3 } })).toEqual([])
  expect(problems({ agents: 7 })).toEqual(['registry: agents: expected array, received number'])
  expect(problems({ agents: [undefined] })).toEqual(['agents[0]: expected object, received undefined'])
})

test('what a policy reads of a definition is checked', () => {
  expect(toolProblems({ capabilities: ['a b', 7], readOnly: 'yes', destructive: { impact: ' ' } })).toEqual([
    `tool 'done': capabilities[0]: expected a capability such as "orders.refund", of at most 200 characters, got "a b"`,
    `tool 'done': capabilities[1]: expected a capability such as "orders.refund", of at most 200 characters, got 7`,
    "tool 'done': readOnly: expected boolean, received string",
    "tool 'done': destructive: expected true, false or { impact, undo }, texts that are not blank",
  ])
  for (const destructive of [7, {}, { undo: 'x' }, { impact: 'x', other: 'y' }])
    expect(toolProblems({ destructive })).toHaveLength(1)
  for (const destructive of [true, false, { impact: 'x' }, { impact: 'x', undo: 'y' }])
    expect(toolProblems({ destructive, capabilities: [], readOnly: true })).toEqual([])
  expect(agentProblems({ ...support, permissions: { 'a*': 'deny' }, capabilities: 'a' })).toEqual([
    `agent 'support': permissions: expected a capability, "namespace.*" or "*" as the key of a rule, got "a*"`,
    "agent 'support': capabilities: expected array, received string",
  ])
  expect(promptProblems({ capabilities: ['texts.draft'] })).toEqual([])
})

test('zod types that no model can read are refused', () => {
  const args = z.object({ text: z.string(), files: z.array(z.object({ at: z.date() })) })
  expect(toolProblems({ args })).toEqual([
    expect.stringMatching(/^tool 'done': args\.files\.\[\]\.at is a zod type 'date'/),
  ])
  expect(promptProblems({ requiredSchema: z.object({ n: z.string().transform(Number) }) })).toEqual([
    expect.stringMatching(/^prompt 'desk': requiredSchema\.n is a zod type 'pipe'/),
  ])
})

test('a plan over 32 KB is refused', () => {
  const names = Array.from({ length: 500 }, (_, index) => `${'x'.repeat(60)}_${index}`)
  const tools = { done, ...Object.fromEntries(names.map((name) => [name, done])) }
  expect(problems({ tools, prompts: [{ ...desk, tools: ['done', ...names] }] })).toEqual([
    expect.stringMatching(/^agent 'support' has a plan of \d+ bytes, expected at most 32768/),
  ])
})

test('SA-A-02.2b dual_ai without maxSessionTurns gives a warning', () => {
  const { maxSessionTurns: _, ...unbounded } = research
  expect(build({ agents: [unbounded] }).warnings).toEqual([
    "agent 'research' is of type 'dual_ai' without maxSessionTurns: only the hard cap bounds its session",
  ])
  expect(build({ agents: [research] }).warnings).toEqual([])
})

test('SA-A-01.2h an exposed agent without any description gives a warning', () => {
  const { toolDescription: _, description: __, ...undescribed } = { description: '', ...research }
  expect(build({ agents: [undescribed] }).warnings).toEqual([
    "agent 'research' has exposeAsTool and no toolDescription or description: the calling model reads its name only",
  ])
  expect(build({ agents: [{ ...undescribed, description: 'Looks things up.' }] }).warnings).toEqual([])
})

test('names and unused sides give warnings', () => {
  const agent = { ...support, name: 'Support', sideB: { prompt: 'desk' }, maxSessionTurns: 3 }
  expect(build({ agents: [agent] }).warnings).toEqual([
    "the name of agent 'Support' is not in snake_case",
    "agent 'Support' is of type 'ai_human', which has no use for sideB",
    "agent 'Support' is of type 'ai_human', which has no use for maxSessionTurns: each of its runs is one turn",
  ])
})
