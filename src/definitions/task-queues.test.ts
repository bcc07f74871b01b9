import { describe, expect, test } from 'vitest'
import { z } from 'zod'
import { unscripted } from '../../test/support/unscripted.js'
import { defineAgent } from './agent.js'
import { defineModel } from './model.js'
import { buildPlan } from './plan/build-plan.js'
import type { PlanContent } from './plan/plan-content.js'
import { definePrompt } from './prompt.js'
import { registry } from './registry.js'
import { defineRemoteTool, defineTool } from './tool.js'
import type { ToolDefinition } from './tool.js'

const execute = () => ({ status: 'success' }) as const

function planOf(tools: Readonly<Record<string, ToolDefinition>>, taskQueue?: string): PlanContent['plan'] {
  const place = taskQueue === undefined ? {} : { taskQueue }
  const made = registry({
    models: [
      defineModel({ name: 'chat', provider: unscripted, model: 'x', fallbacks: ['spare'], ...place }),
      defineModel({ name: 'spare', provider: unscripted, model: 'y', taskQueue: 'spares' }),
    ],
    prompts: [
      definePrompt({
        name: 'clerk',
        toolDescription: 'Answers',
        prompt: 'Hi',
        model: 'chat',
        tools: Object.keys(tools) as never,
      }),
    ],
    agents: [defineAgent({ name: 'clerk', sideA: { prompt: 'clerk' } })],
    tools,
  })
  const content = buildPlan(made, 'clerk')
  if ('missing' in content) throw new Error('Expected a plan.')
  return content.plan
}

describe('the plan', () => {
  test('names the task queues of tools and models, and only theirs', () => {
    const near = defineTool({ description: 'Near', execute })
    const far = defineTool({ description: 'Far', taskQueue: 'gpu', execute })
    expect(planOf({ near, far }, 'models').prompts['clerk']).toEqual({
      model: 'chat',
      taskQueue: 'models',
      tools: {
        near: { kind: 'function', timeout: 300_000 },
        far: { kind: 'function', timeout: 300_000, taskQueue: 'gpu' },
      },
    })
    // The queue of a fallback is not used: it is called on the primary's queue.
    expect(planOf({ near }).prompts['clerk']).not.toHaveProperty('taskQueue')
  })

  test('has a tool in another language as a function of the thread', () => {
    const draw = defineRemoteTool({ description: 'Draws', taskQueue: 'python', activity: 'draw', timeout: 5 })
    expect(planOf({ draw }).prompts['clerk']?.tools['draw']).toEqual({ kind: 'function', timeout: 5 })
  })
})

describe('a registry', () => {
  test.each([
    ['an empty task queue', { taskQueue: '' }],
    ["a queue of the server's own", { taskQueue: '/_sys/gpu' }],
    ['a line break in it', { taskQueue: 'a\nb' }],
  ])('refuses %s', (_what, place) => {
    expect(() => planOf({ near: defineTool({ description: 'Near', execute, ...place }) })).toThrow(
      /taskQueue/,
    )
    expect(() => planOf({}, place.taskQueue)).toThrow(/taskQueue/)
  })

  test('refuses an activity that would be one of ours', () => {
    const draw = defineRemoteTool({ description: 'Draws', taskQueue: 'python', activity: 'thread.settle' })
    expect(() => planOf({ draw })).toThrow(/does not begin with "thread\."/)
  })
})

test('a tool in another language is not invoked in place', () => {
  const args = z.object({ what: z.string() })
  const draw = defineRemoteTool({ description: 'Draws', args, taskQueue: 'python', activity: 'draw' })
  expect(draw.execute(undefined as never, { what: 'a hat' }, undefined as never)).toMatchObject({
    status: 'error',
    error_code: 'not_in_place',
  })
})
