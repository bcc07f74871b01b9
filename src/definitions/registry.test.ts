import { expect, test } from 'vitest'
import { z } from 'zod'

import { ConfigError } from '../protocol/config-error.js'
import { LIMITS } from '../protocol/limits.js'
import { registry } from './registry.js'

const model = { name: 'chat', provider: { languageModel: () => undefined }, model: 'large' }
const done = {
  description: 'Ends.',
  args: z.object({ text: z.string(), files: z.array(z.string()) }),
  execute,
}
const desk = { name: 'desk', toolDescription: 'Desk', prompt: 'Help.', model: 'chat', tools: ['done'] }
const support = { name: 'support', sideA: { prompt: 'desk' } }
const research = {
  name: 'research',
  type: 'dual_ai',
  maxSessionTurns: 4,
  exposeAsTool: true,
  toolDescription: 'Researches.',
  sideA: { prompt: 'desk', sessionStop: 'done' },
  sideB: { prompt: 'desk' },
}

function execute() {
  return { status: 'success' }
}

/** What users of JavaScript can write: the compiler stands in nobody's way here. */
type Loose = Readonly<Record<string, unknown>>

function build(definitions: Loose) {
  const all: unknown = {
    agents: [support],
    prompts: [desk],
    models: [model],
    tools: { done },
    ...definitions,
  }
  return registry(all as Parameters<typeof registry>[0])
}

function problems(definitions: Loose): readonly string[] {
  try {
    build(definitions)
    return []
  } catch (error) {
    if (ConfigError.isInstance(error)) return error.problems
    throw error
  }
}

const agentProblems = (agent: Loose) => problems({ agents: [agent] })
const promptProblems = (prompt: Loose) =>
  problems({ prompts: [{ ...desk, ...prompt }], agents: [support, research] })
const toolProblems = (tool: Loose) => problems({ tools: { done: { ...done, ...tool } } })

test('a registry finds each definition by its name', () => {
  const desk = build({ agents: [support, research] })
  expect(desk.names()).toEqual({
    agents: ['support', 'research'],
    prompts: ['desk'],
    models: ['chat'],
    tools: ['done'],
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
      "prompt 'desk' uses the model 'chatt', which is not registered",
      "agent 'support': sideA uses the prompt 'dsk', which is not registered",
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

test('a type that is not one of two is refused', () => {
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

test('SA-A-04.1 a session tool is a name or an object', () => {
  const bound = (sessionStop: unknown) => agentProblems({ name: 'a', sideA: { prompt: 'desk', sessionStop } })
  expect(bound('done')).toEqual([])
  expect(bound({ name: 'done', messageProperty: 'text', attachmentsProperty: 'files' })).toEqual([])
  expect(bound(7)).toEqual([
    "agent 'a': sideA.sessionStop: expected the name of a tool, or { name, messageProperty, attachmentsProperty }",
  ])
  expect(bound({ messageProperty: 'text' })).toEqual([
    "agent 'a': sideA.sessionStop.name: expected string, received undefined",
  ])
  expect(bound({ name: 'done', property: 'text' })).toEqual([
    "agent 'a' has the unknown field sideA.sessionStop.property",
  ])
})

test('a lifecycle tool is registered and listed', () => {
  const side = { prompt: 'desk', stopTool: 'stop', sessionStop: 'done', sessionFail: 'end' }
  const tools = { done, end: done }
  expect(problems({ agents: [{ name: 'a', sideA: side }], tools })).toEqual([
    "agent 'a': sideA.stopTool names the tool 'stop', which is not registered",
    "agent 'a': sideA.sessionFail names the tool 'end': list it in the tools of prompt 'desk' to make it callable",
  ])
  expect(
    agentProblems({
      name: 'a',
      sideA: { prompt: 'desk', sessionStop: 'done', sessionFail: { name: 'done' } },
    }),
  ).toEqual(["agent 'a': sideA names one tool, 'done', for both sessionStop and sessionFail"])
})

test('properties of a session tool are arguments of it', () => {
  const sessionStop = { name: 'done', messageProperty: 'files', attachmentsProperty: 'paths' }
  expect(agentProblems({ name: 'a', sideA: { prompt: 'desk', sessionStop } })).toEqual([
    "agent 'a': sideA.sessionStop.messageProperty: of tool 'done', 'files' has to be a string, but is of type 'array'",
    "agent 'a': sideA.sessionStop.attachmentsProperty: of tool 'done', 'paths' is not one of the arguments: it has text, files",
  ])
})

test('SA-A-01.2g a prompt cannot list an unexposed agent', () => {
  const { exposeAsTool: _, ...hidden } = research
  const calling = { ...desk, name: 'calling', tools: [{ name: 'research' }] }
  expect(problems({ agents: [hidden], prompts: [desk, calling] })).toEqual([
    "prompt 'calling' lists the agent 'research': set exposeAsTool on it to make it callable",
  ])
  const { toolDescription: __, ...undescribed } = research
  expect(agentProblems(undescribed)).toEqual([
    "agent 'research' has exposeAsTool, which needs a toolDescription for the calling model",
  ])
})

test('SA-A-07.1a a subagent that is not dual_ai is refused', () => {
  const human = { ...support, exposeAsTool: true, toolDescription: 'Helps.' }
  const calling = { ...desk, tools: ['done', { name: 'support' }] }
  expect(problems({ agents: [human], prompts: [calling] })).toEqual([
    "prompt 'desk' lists the agent 'support' as a subagent: it has to be of type 'dual_ai'",
  ])
  expect(problems({ agents: [human], prompts: [{ ...desk, tools: ['done', 'support'] }] })).toEqual([
    "prompt 'desk' uses what is not supported yet: tools: handoff to 'support'",
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

test('a prompt lists registered tools, each once', () => {
  expect(promptProblems({ tools: ['done', 'done', 'dne', 7] })).toEqual([
    "prompt 'desk': tools[3]: expected a tool's name, or { name } of a subagent",
    "prompt 'desk' lists the tool 'done' twice",
    "prompt 'desk' lists the tool 'dne', which is not registered",
  ])
})

test('a wrong field hides no wrong name beside it', () => {
  expect(agentProblems({ name: 'a', sideA: { prompt: 'nope', maxSteps: -1 }, colour: 'red' })).toHaveLength(3)
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

test('what is not supported yet is refused by name', () => {
  const entry = { name: 'research', blocking: false, resumable: true, immediate: true, optional: 'X' }
  expect(promptProblems({ hooks: ['mask'], variables: [], tools: ['done', entry, 'desk'] })).toEqual(
    [
      'tools[1].blocking',
      'tools[1].resumable',
      'tools[1].immediate',
      'tools[1].optional',
      'hooks',
      'variables',
      "tools: the prompt 'desk' as a tool",
    ].map((field) => `prompt 'desk' uses what is not supported yet: ${field}`),
  )
  expect(promptProblems({ tools: ['done', 'desk', 'mcp:files'] })).toEqual([
    "prompt 'desk' uses what is not supported yet: tools: the prompt 'desk' as a tool",
    "prompt 'desk' uses what is not supported yet: tools: 'mcp:files'",
  ])
  expect(promptProblems({ prompt: [{ type: 'env', property: 'COMPANY' }] })).toEqual([
    "prompt 'desk' uses what is not supported yet: prompt[0].type",
  ])
  const side = { prompt: 'desk', sessionStatus: 'done', stopToolResponseProperty: 'text' }
  expect(agentProblems({ name: 'a', sideA: side, env: {} })).toEqual([
    "agent 'a' uses what is not supported yet: sideA.sessionStatus",
    "agent 'a' uses what is not supported yet: sideA.stopToolResponseProperty",
    "agent 'a' uses what is not supported yet: env",
  ])
  expect(toolProblems({ needsApproval: true, retry: {} })).toHaveLength(2)
  expect(problems({ models: [{ ...model, fallbacks: [] }], hooks: [] })).toEqual([
    'registry uses what is not supported yet: hooks',
    "model 'chat' uses what is not supported yet: fallbacks",
  ])
})

test('the defaults of a subagent may be spelled out', () => {
  const entry = { name: 'research', blocking: true, resumable: false, immediate: false }
  expect(promptProblems({ tools: ['done', entry] })).toEqual([])
})

test('old names are refused with the name to use', () => {
  expect(agentProblems({ name: 'a', sideA: { prompt: 'desk', endSessionTool: 'done' } })).toEqual([
    "agent 'a' uses the old name sideA.endSessionTool: write sessionStop",
  ])
  expect(promptProblems({ prompt: [{ type: 'string', value: 'Hi' }] })).toEqual([
    "prompt 'desk': prompt[0].type: expected a part of Standard Agents 0.1.0: write { type: 'text', content }",
  ])
  expect(problems({ models: [{ ...model, capabilities: { vision: true } }] })).toEqual([
    "model 'chat' uses the old name capabilities.vision: write supportsImages",
  ])
})

test('shapes of Standard Agents 0.2.0 are refused with advice', () => {
  expect(agentProblems({ ...support, sideB: { human: true, prompt: 'desk' } })).toEqual([
    "agent 'support' uses sideB.human of Standard Agents 0.2.0, expected 0.1.0: leave sideB out, the person is side B of an agent of type 'ai_human'",
  ])
  expect(agentProblems({ name: 'a', sideA: { prompt: 'desk', subagents: [] } })).toEqual([
    "agent 'a' uses sideA.subagents of Standard Agents 0.2.0, expected 0.1.0: list the agent in the tools of the side's prompt",
  ])
})

test('fields of wrong kinds are refused one by one', () => {
  expect(toolProblems({ execute: 1, timeout: 0, idempotent: 'yes', args: {} })).toEqual([
    "tool 'done': args: expected a z.object of zod 4",
    "tool 'done': execute: expected a function",
    "tool 'done': timeout: Too small: expected number to be >0",
    "tool 'done': idempotent: expected boolean, received string",
  ])
  expect(problems({ models: [{ ...model, provider: {}, inputPrice: -1 }] })).toEqual([
    "model 'chat': provider: expected a provider of the AI SDK: an object with languageModel(id)",
    "model 'chat': inputPrice: Too small: expected number to be >=0",
  ])
  expect(problems({ agents: 7 })).toEqual(['registry: agents: expected array, received number'])
  expect(problems({ agents: [undefined] })).toEqual(['agents[0]: expected object, received undefined'])
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

test('names and unused sides give warnings', () => {
  const agent = { ...support, name: 'Support', sideB: { prompt: 'desk' }, maxSessionTurns: 3 }
  expect(build({ agents: [agent] }).warnings).toEqual([
    "the name of agent 'Support' is not in snake_case",
    "agent 'Support' is of type 'ai_human', which has no use for sideB",
    "agent 'Support' is of type 'ai_human', which has no use for maxSessionTurns",
  ])
})
