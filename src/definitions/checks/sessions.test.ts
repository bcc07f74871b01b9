import { expect, test } from 'vitest'
import { z } from 'zod'

import {
  agentProblems,
  build,
  desk,
  problems,
  research,
  support,
} from '../../../test/support/loose-registry.js'

const helper = { name: 'helper', exposeAsTool: true, toolDescription: 'Helps.', sideA: { prompt: 'desk' } }
const caller = { ...desk, name: 'caller' }
const lists = (entry: unknown) => ({
  agents: [support, helper, research],
  prompts: [desk, { ...caller, tools: [entry] }],
})

test('an entry that does not say what a call of an agent for people is gives a warning', () => {
  const expected = expect.stringContaining("lists the agent 'helper', of type 'ai_human', so a call hands")
  expect(build(lists('helper')).warnings).toEqual([expected])
  expect(build(lists({ name: 'helper' })).warnings).toEqual([expected])
  expect(build(lists({ name: 'helper', session: true })).warnings).toEqual([])
  expect(build(lists({ name: 'helper', session: false })).warnings).toEqual([])
  expect(build(lists('research')).warnings).toEqual([])
})

test('an agent for people whose prompt says nothing of the conversation gives a warning', () => {
  const { includeChat: _, ...silent } = desk
  const expected = expect.stringMatching(
    /^agent 'support' forgets the conversation .* prompt 'desk' has no includeChat/,
  )
  expect(build({ agents: [support], prompts: [silent] }).warnings).toEqual([expected])
  expect(build({ agents: [support], prompts: [{ ...silent, includeChat: false }] }).warnings).toEqual([])
})

test('what a session of one side cannot have is refused', () => {
  expect(problems(lists({ name: 'research', session: true }))).toEqual([
    "prompt 'caller' lists the subagent 'research' with session, for which a subagent has no use",
  ])
  const resumable = { receives_messages: 'side_b' }
  expect(problems(lists({ name: 'helper', session: true, resumable }))).toEqual([
    "prompt 'caller' lists the subagent 'helper' with messages for side B, which a session of one side does not have: write side_a",
  ])
  const open = { receives_messages: 'side_a', maxInstances: 2 }
  expect(problems(lists({ name: 'helper', session: true, resumable: open }))).toEqual([])
})

test('an output is a schema of an object, of an agent whose answer ends a run', () => {
  const output = z.object({ order: z.string() })
  expect(agentProblems({ ...support, output })).toEqual([])
  expect(agentProblems({ ...support, output: { order: 'string' } })).toEqual([
    "agent 'support': output: expected a z.object of zod 4, another Standard Schema, or jsonSchema() of the AI SDK",
  ])
  expect(agentProblems({ ...support, output: z.object({ at: z.date() }) })).toEqual([
    expect.stringContaining("agent 'support': output.at is a zod type 'date'"),
  ])
  expect(agentProblems({ ...support, output, sideA: { prompt: 'desk', stopTool: 'done' } })).toEqual([
    "agent 'support' has an output, which is the answer that ends a run: leave stopTool and stopOnResponse out",
  ])
  expect(agentProblems({ ...research, output })).toEqual([
    "agent 'research' is of type 'dual_ai', whose session tools carry its result: leave output out",
  ])
})
