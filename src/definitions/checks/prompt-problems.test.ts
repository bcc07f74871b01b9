import { expect, test } from 'vitest'
import { z } from 'zod'
import {
  build,
  desk,
  model,
  problems,
  promptProblems,
  research,
  support,
} from '../../../test/support/loose-registry.js'
import { buildPlan } from '../plan/build-plan.js'

test('a prompt lists registered tools, each once', () => {
  expect(promptProblems({ tools: ['done', 'done', 'dne', 7] })).toEqual([
    "prompt 'desk': tools[3]: expected the name of a tool, a prompt or an agent, or { name }",
    "prompt 'desk' lists the tool 'done' twice",
    "prompt 'desk' lists the tool 'dne', which is not registered: did you mean 'done'?",
  ])
})

test('SA-A-01.2g a prompt cannot list an unexposed agent', () => {
  const { exposeAsTool: _, ...hidden } = research
  const calling = { ...desk, name: 'calling', tools: [{ name: 'research' }] }
  expect(problems({ agents: [hidden], prompts: [desk, calling] })).toEqual([
    "prompt 'calling' lists the agent 'research': set exposeAsTool on it to make it callable",
  ])
})

test('SA-A-07.1a a subagent that is not dual_ai is refused', () => {
  const human = { ...support, exposeAsTool: true, toolDescription: 'Helps.' }
  const listing = (entry: unknown) =>
    problems({ agents: [human], prompts: [{ ...desk, tools: ['done', entry] }] })
  expect(listing({ name: 'support', blocking: true })).toEqual([
    "prompt 'desk' lists the agent 'support' as a subagent: write session: true, or give it the type 'dual_ai'",
  ])
  expect(listing('support')).toEqual([])
  expect(listing({ name: 'support' })).toEqual([])
})

test('an entry has the fields of what it calls', () => {
  const human = { ...support, name: 'human', exposeAsTool: true, toolDescription: 'Helps.' }
  const tools = [
    { name: 'done', includeErrors: true, blocking: undefined },
    { name: 'desk', immediate: false, includeErrors: false },
    { name: 'human', includeTextResponse: true },
    { name: 'research', includeToolCalls: true, blocking: true },
  ]
  expect(problems({ agents: [human, research], prompts: [{ ...desk, tools }] })).toEqual([
    "prompt 'desk' lists the function 'done' with includeErrors, for which a function has no use",
    "prompt 'desk' lists the prompt 'desk' with immediate, for which a prompt has no use",
    "prompt 'desk' lists the handoff 'human' with includeTextResponse, for which a handoff has no use",
    "prompt 'desk' lists the subagent 'research' with includeToolCalls, for which a subagent has no use",
  ])
})

test('prompts may call each other in a circle', () => {
  const ask = { ...desk, name: 'ask', tools: [{ name: 'desk', includeToolCalls: false }] }
  const registry = build({ prompts: [{ ...desk, tools: ['ask', { name: 'done' }] }, ask] })
  expect(buildPlan(registry, 'support')).toMatchObject({
    plan: {
      prompts: {
        desk: { tools: { ask: { kind: 'prompt', prompt: 'ask' }, done: { kind: 'function' } } },
        ask: { tools: { desk: { kind: 'prompt', prompt: 'desk' } } },
      },
    },
  })
})

test('properties of prompt tools and handoffs are in their schemas', () => {
  const human = { ...support, exposeAsTool: true, toolDescription: 'Helps.' }
  const entry = { initUserMessageProperty: 'text', initAttachmentsProperty: 'files' }
  const requiredSchema = z.object({ text: z.number(), files: z.string().optional() })
  const asked = { ...desk, name: 'asked', requiredSchema }
  const tools = ['done', { name: 'asked', ...entry }, { name: 'support', ...entry }]
  expect(problems({ agents: [human], prompts: [{ ...desk, tools }, asked] })).toEqual([
    "prompt 'desk': initUserMessageProperty of 'asked': of requiredSchema of prompt 'asked', 'text' has to be a string, but is of type 'number'",
    "prompt 'desk': initUserMessageProperty of 'support': of requiredSchema of prompt 'desk', 'text' is not one of the arguments: it has none",
    "prompt 'desk': initAttachmentsProperty of 'support': of requiredSchema of prompt 'desk', 'files' is not one of the arguments: it has none",
  ])
})

test('a name that stands for two gives a warning', () => {
  const agent = { ...research, name: 'desk' }
  const calling = { ...desk, name: 'calling', tools: ['desk'] }
  expect(build({ agents: [agent], prompts: [desk, calling] }).warnings).toEqual([
    "prompt 'calling' lists 'desk', which calls the prompt and not the agent 'desk'",
  ])
})

test('properties of a subagent call are in its schema', () => {
  const requiredSchema = z.object({ question: z.string().optional(), files: z.array(z.number()) })
  const entry = { name: 'research', initUserMessageProperty: 'q', initAttachmentsProperty: 'files' }
  const listing = { tools: ['done', { ...entry, initAgentNameProperty: 'question' }] }
  expect(promptProblems({ requiredSchema, ...listing })).toEqual([
    "prompt 'desk': initUserMessageProperty of 'research': of requiredSchema of prompt 'desk', 'q' is not one of the arguments: it has question, files",
    "prompt 'desk': initAttachmentsProperty of 'research': of requiredSchema of prompt 'desk', 'files' has to be a string or an array of strings, but is of type 'array'",
  ])
  expect(promptProblems({ tools: ['done', { name: 'research', initUserMessageProperty: 'q' }] })).toEqual([
    "prompt 'desk': initUserMessageProperty of 'research': of requiredSchema of prompt 'desk', 'q' is not one of the arguments: it has none",
  ])
})

test('the defaults of a subagent may be spelled out', () => {
  const entry = { name: 'research', blocking: true, resumable: false, immediate: false }
  expect(promptProblems({ tools: ['done', entry] })).toEqual([])
})

test('what is not supported yet is refused by name', () => {
  expect(promptProblems({ tools: ['done', 'mcp:files', 'provider:search'] })).toEqual(
    ["tools: 'mcp:files'", "tools: 'provider:search'"].map(
      (field) => `prompt 'desk' uses what is not supported yet: ${field}`,
    ),
  )
  expect(problems({ models: [{ ...model, providerTools: ['search'] }] })).toEqual([
    "model 'chat' uses what is not supported yet: providerTools",
  ])
})

test('every field of a prompt is checked', () => {
  const fields = {
    parallelToolCalls: 1,
    reasoning: { effort: 'huge', maxTokens: 0, include: 'yes', level: 3 },
    recentImageThreshold: -1,
    env: { COMPANY: 7 },
    hooks: 'mask',
    variables: [{ name: '', type: 'number', required: 'yes' }],
  }
  expect(
    promptProblems(fields).map(
      (problem) => /^prompt 'desk'( has the unknown field)?:? ([\w.[\]]+)/.exec(problem)?.[2],
    ),
  ).toEqual([
    'variables[0].name',
    'variables[0].type',
    'variables[0].required',
    'variables[0].description',
    'env.COMPANY',
    'hooks',
    'parallelToolCalls',
    'reasoning.effort',
    'reasoning.maxTokens',
    'reasoning.include',
    'reasoning.level',
    'recentImageThreshold',
  ])
})
