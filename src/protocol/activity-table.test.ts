import { expect, test } from 'vitest'
import { ACTIVITIES, leanInput, wholeInput } from './answer-problem.js'

const BASE = { level: 1, threadId: 't', now: 5, run: 2, facts: [], step: 3, side: 'a', agent: 'worker' }
const MODEL = {
  ...BASE,
  ...{
    plan: 'p',
    knownPlan: 'p',
    trigger: null,
    toolFirst: false,
    frame: null,
    asked: false,
    activated: true,
  },
  ...{ sideStarts: false, wordless: false, drain: [], start: null, createdAt: 4 },
}
const TOOL = {
  ...BASE,
  ...{ plan: 'p', callId: 'c', name: 'look_up', promptPath: ['worker'], depth: 0, queued: false },
  ...{ handedOff: false, sideSteps: { a: 3, b: 0 }, first: true, last: false, response: null },
}

test('an input of a usual step is sent without what is usual', () => {
  const { facts: _facts, ...base } = BASE
  expect(leanInput(ACTIVITIES.callModel, MODEL)).toEqual({ ...base, plan: 'p', createdAt: 4 })
  const { plan, callId, name, promptPath, sideSteps, first, last } = TOOL
  const sent = { ...base, plan, callId, name, promptPath, sideSteps, first, last }
  expect(leanInput(ACTIVITIES.executeTool, TOOL)).toEqual(sent)
})

test.each([
  ['a usual step', ACTIVITIES.callModel, MODEL],
  ['a first step', ACTIVITIES.callModel, { ...MODEL, plan: null, trigger: 'message', drain: [{ id: 'm' }] }],
  ['a plan that nobody knows', ACTIVITIES.callModel, { ...MODEL, plan: null, knownPlan: null }],
  ['a plan known before', ACTIVITIES.callModel, { ...MODEL, knownPlan: 'q' }],
  ['no plan known', ACTIVITIES.callModel, { ...MODEL, knownPlan: null }],
  ['all unusual', ACTIVITIES.callModel, { ...MODEL, asked: true, activated: false, frame: {}, facts: [{}] }],
  ['a usual call', ACTIVITIES.executeTool, TOOL],
  ['an answered call', ACTIVITIES.executeTool, { ...TOOL, depth: 1, queued: true, response: {} }],
  ['another activity', ACTIVITIES.settle, { ...BASE, wordless: false }],
])('the input of %s arrives as it was', (_what, activity, input) => {
  expect(wholeInput(activity, leanInput(activity, input))).toEqual(input)
})
