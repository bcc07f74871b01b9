import { expect, test } from 'vitest'
import { agentProblems, build, done, problems } from '../../../test/support/loose-registry.js'
import { buildPlan } from '../plan/build-plan.js'

test('SA-A-00.1 type, sides, session tools and exposure are checked', () => {
  const sound = {
    name: 'a',
    type: 'dual_ai',
    maxSessionTurns: 4,
    sideA: { prompt: 'desk', stopOnResponse: false, stopTool: 'done', sessionFail: 'done' },
    sideB: { prompt: 'desk', sessionStop: { name: 'done', messageProperty: 'text' } },
    exposeAsTool: true,
    toolDescription: 'Works.',
  }
  expect(agentProblems(sound)).toEqual([])
  const wrong = { type: 'ai', sideA: {}, sideB: { prompt: 'desk', sessionStop: {} }, exposeAsTool: 'yes' }
  expect(agentProblems({ ...sound, ...wrong })).toEqual([
    'agent \'a\': type: expected one of "ai_human"|"dual_ai"',
    "agent 'a': sideA.prompt: expected string, received undefined",
    "agent 'a': sideB.sessionStop.name: expected string, received undefined",
    "agent 'a': exposeAsTool: expected boolean, received string",
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
    "agent 'a' has the unknown field sideA.sessionStop.property: its fields are name, messageProperty, attachmentsProperty",
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

test('a status tool is checked as the other session tools', () => {
  const status = (sessionStatus: unknown) =>
    agentProblems({ name: 'a', sideA: { prompt: 'desk', sessionStatus } })
  expect(status({ name: 'done', messageProperty: 'text' })).toEqual([])
  expect(status({ name: 'done', messageProperty: 'status' })).toEqual([
    "agent 'a': sideA.sessionStatus.messageProperty: of tool 'done', 'status' is not one of the arguments: it has text, files",
  ])
})

test('the outcome of a stop tool is an argument or in its result', () => {
  const outcome = (side: object) => agentProblems({ name: 'a', sideA: { prompt: 'desk', ...side } })
  expect(outcome({ stopTool: 'done', stopToolResponseProperty: 'text' })).toEqual([])
  expect(outcome({ stopTool: 'done', stopToolResponseProperty: 'verdict' })).toEqual([])
  expect(outcome({ stopTool: 'done', stopToolResponseProperty: 'files' })).toEqual([
    "agent 'a': sideA.stopToolResponseProperty: of tool 'done', 'files' has to be a string, but is of type 'array'",
  ])
  expect(outcome({ stopToolResponseProperty: 'text' })).toEqual([
    "agent 'a': sideA.stopToolResponseProperty needs a stopTool, whose outcome it is in",
  ])
})

test('SA-R-06.5 old names of session tools mean the new ones', () => {
  const prompt = { name: 'desk', toolDescription: 'Desk', prompt: '', model: 'chat' }
  const built = (side: object) =>
    build({
      agents: [{ name: 'a', type: 'dual_ai', maxSessionTurns: 2, sideA: side, sideB: side }],
      prompts: [{ ...prompt, tools: ['done', 'fail', 'tell'] }],
      tools: { done, fail: done, tell: done },
    })
  const tell = { name: 'tell', messageProperty: 'text' }
  const old = built({ prompt: 'desk', endSessionTool: 'done', failSessionTool: 'fail', statusTool: tell })
  const side = { prompt: 'desk', sessionStop: 'done', sessionFail: 'fail', sessionStatus: tell }
  expect(old.agent('a')).toMatchObject({ sideA: side, sideB: side })
  expect(buildPlan(old, 'a')).toEqual(buildPlan(built(side), 'a'))
  expect(old.warnings).toContain("agent 'a' uses the old name sideA.endSessionTool: write sessionStop")
})

test('an old name is checked under that name', () => {
  const side = { prompt: 'desk', endSessionTool: 'end', sessionFail: 'done', failSessionTool: 'done' }
  expect(agentProblems({ name: 'a', sideA: side })).toEqual([
    "agent 'a': sideA.endSessionTool names the tool 'end', which is not registered",
    "agent 'a': sideA has both sessionFail and its old name failSessionTool: leave failSessionTool out",
  ])
  const both = { prompt: 'desk', endSessionTool: 'done', failSessionTool: { name: 'done' } }
  expect(agentProblems({ name: 'a', sideA: both })).toEqual([
    "agent 'a': sideA names one tool, 'done', for both sessionStop and sessionFail",
  ])
})
