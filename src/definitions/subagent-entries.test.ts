import { expect, test } from 'vitest'
import { z } from 'zod'

import { build, desk, problems, promptProblems, research } from '../../test/support/loose-registry.js'

const listing = (...entries: readonly unknown[]) => promptProblems({ tools: ['done', ...entries] })
const resumable = { receives_messages: 'side_a' }

test('SA-A-07.4b all knobs of a subagent are taken', () => {
  const knobs = {
    name: 'research',
    blocking: false,
    immediate: { nameEnv: 'NAME', descriptionEnv: 'TASK', scopedEnv: ['TOKEN'] },
    optional: 'RESEARCH',
    resumable: { ...resumable, maxInstances: 2, parentCommunication: 'explicit' },
  }
  expect(listing(knobs)).toEqual([])
  expect(listing({ name: 'research', timeout: 1000, fanOut: true, immediate: true })).toEqual([])
})

test('SA-A-07.4b other knobs and wrong shapes are refused', () => {
  const wrong = {
    name: 'research',
    blocking: 'no',
    timeout: 0,
    resumable: { maxInstances: 0, parentCommunication: 'loud', keeps: true },
    immediate: { nameEnv: 7, scopedEnv: 'TOKEN', env: 'X' },
    optional: '',
    fanOut: 3,
    retries: 2,
  }
  const told = listing(wrong).map(
    (problem) => /^prompt 'desk'(?: has the unknown field| has)?:? (tools\S+?):? /.exec(`${problem} `)?.[1],
  )
  expect(new Set(told)).toEqual(
    new Set([
      'tools[1].blocking',
      'tools[1].fanOut',
      'tools[1].immediate.env',
      'tools[1].immediate.nameEnv',
      'tools[1].immediate.scopedEnv',
      'tools[1].optional',
      'tools[1].resumable.keeps',
      'tools[1].resumable.maxInstances',
      'tools[1].resumable.parentCommunication',
      'tools[1].resumable.receives_messages',
      'tools[1].retries',
      'tools[1].timeout',
    ]),
  )
})

test('a resumable one says who receives messages', () => {
  expect(listing({ name: 'research', resumable: true }, { name: 'desk', immediate: 'now' })).toEqual([
    "prompt 'desk': tools[1].resumable: expected false or { receives_messages: 'side_a' or 'side_b' }",
    "prompt 'desk': tools[2].immediate: expected true, false or { nameEnv, descriptionEnv, scopedEnv }",
  ])
})

test('SA-R-07.0 no knob makes a subagent of an ai_human agent', () => {
  const human = { name: 'human', sideA: { prompt: 'desk' }, exposeAsTool: true, toolDescription: 'Helps.' }
  const knobs = [
    { timeout: 1000 },
    { resumable },
    { immediate: true },
    { optional: 'HELP' },
    { fanOut: true },
    { initAgentNameProperty: 'text' },
  ]
  for (const knob of knobs)
    expect(
      problems({ agents: [human], prompts: [{ ...desk, tools: [{ name: 'human', ...knob }] }] }),
    ).toEqual([
      "prompt 'desk' lists the agent 'human' as a subagent: write session: true, or give it the type 'dual_ai'",
    ])
})

test('knobs that contradict each other are refused', () => {
  const contradictions = [
    { name: 'research', blocking: false, timeout: 1000 },
    { name: 'research', fanOut: true, resumable },
  ]
  expect(contradictions.map((entry) => listing(entry))).toEqual([
    [
      "prompt 'desk' lists the subagent 'research' with a timeout, for which a call that does not wait has no use: leave out blocking: false",
    ],
    [
      "prompt 'desk' lists the subagent 'research' with fanOut and resumable: instances that stay are created one by one, leave one of them out",
    ],
  ])
})

test('an agent is listed once, however it is started', () => {
  expect(listing('research', { name: 'research', resumable })).toEqual([
    "prompt 'desk' lists the tool 'research' twice",
  ])
})

test('the names of the lifecycle tools are taken', () => {
  const tool = { description: 'Ends.', execute: () => ({ status: 'success' }) }
  expect(
    problems({
      agents: [{ ...research, name: 'subagent_create' }],
      prompts: [desk, { ...desk, name: 'subagent_message' }],
      tools: { done: tool, subagent_message: tool },
    }),
  ).toEqual(
    ["agent 'subagent_create'", "prompt 'subagent_message'", "tool 'subagent_message'"].map(
      (owner) => `${owner} has the name of the tool that prompts with resumable subagents get: rename it`,
    ),
  )
})

test('variables that the runtime reads are no secrets', () => {
  const immediate = { nameEnv: 'NAME', descriptionEnv: 'TASK', scopedEnv: ['TASK', 'TOKEN'] }
  const tools = ['done', { name: 'research', optional: 'FLAG', immediate }]
  const declaring = (type: string, ...names: readonly string[]) => ({
    prompts: [
      {
        ...desk,
        tools,
        variables: names.map((name) => ({ name, type, required: false, description: 'Known.' })),
      },
    ],
    agents: [research],
  })
  expect(problems(declaring('secret', 'FLAG', 'NAME', 'TASK', 'TOKEN'))).toEqual(
    ["'FLAG' as optional", "'NAME' as immediate.nameEnv", "'TASK' as immediate.descriptionEnv"].map(
      (use) =>
        `prompt 'desk' has the secret ${use} of 'research': only tools may read secrets, declare it as text`,
    ),
  )
  const warnings = (...names: readonly string[]) =>
    build(declaring('text', ...names)).warnings.filter((warning) => warning.includes('nothing declares'))
  expect(warnings('FLAG', 'NAME', 'TASK', 'TOKEN')).toEqual([])
  expect(warnings('NAME', 'TASK')).toEqual([
    "prompt 'desk' has the variable 'FLAG' as optional of 'research', which nothing declares, so that a value from outside is a secret and the subagent is not there: add it to variables, as text",
    "prompt 'desk' has the variable 'TOKEN' in immediate.scopedEnv of 'research', which nothing declares: add it to the variables of what reads it in the subagent",
  ])
})

test('agents may start each other in a circle', () => {
  const prompt = { ...desk, tools: ['done', { name: 'research', blocking: false }] }
  expect(problems({ prompts: [prompt], agents: [research] })).toEqual([])
})

test('fields of newer entries are refused with advice', () => {
  expect(listing({ name: 'research', agent: 'research', as: 'r', scopedEnv: ['X'] })).toEqual([
    "prompt 'desk' uses tools[1].agent of Standard Agents 0.2.0, expected 0.1.0: write name",
    "prompt 'desk' uses tools[1].as of Standard Agents 0.2.0, expected 0.1.0: a subagent is called by the name of its agent",
    "prompt 'desk' uses tools[1].scopedEnv of Standard Agents 0.2.0, expected 0.1.0: write it into immediate: { scopedEnv }",
  ])
})

test('what was meant is said of a field and a value', () => {
  const entry = { name: 'research', resumeable: false, timeout: '5s', maxInstances: 3, colour: 'red' }
  expect(listing(entry, 'reserch')).toEqual([
    'prompt \'desk\': tools[1].timeout: expected a number of milliseconds, got "5s"',
    "prompt 'desk' has the unknown field tools[1].resumeable: did you mean 'resumable'?",
    "prompt 'desk' has tools[1].maxInstances: write it into resumable: { receives_messages, maxInstances }",
    expect.stringContaining('has the unknown field tools[1].colour: its fields are name, '),
    "prompt 'desk' lists the tool 'reserch', which is not registered: did you mean 'research'?",
  ])
})

test('a subagent that starts by itself is told what it needs, and no more', () => {
  const hints = { nameEnv: 'NAME' }
  const variables = [{ name: 'NAME', type: 'text', required: false, description: 'Known.' }]
  const warnings = (immediate: unknown, more: object, side: object) =>
    build({
      agents: [research],
      prompts: [
        { ...desk, ...side },
        { ...desk, name: 'other', variables, tools: [{ name: 'research', immediate, ...more }] },
      ],
    }).warnings
  const needs = { requiredSchema: z.object({ task: z.string() }) }
  const takes = { requiredSchema: z.object({ task: z.string().default('All') }) }
  expect(warnings(true, {}, needs)).toEqual([
    expect.stringContaining(
      "starts the subagent 'research' by itself with arguments of which nothing is known",
    ),
  ])
  expect(warnings(hints, {}, {})).toEqual([
    expect.stringContaining("starts the subagent 'research' by itself with hints that nothing reads"),
  ])
  const right = [
    [true, {}, {}],
    [true, {}, takes],
    [hints, {}, takes],
    [hints, {}, needs],
    [hints, { resumable }, {}],
  ] as const
  for (const [immediate, more, side] of right) expect(warnings(immediate, more, side)).toEqual([])
})
