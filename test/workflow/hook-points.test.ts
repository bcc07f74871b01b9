import { expect, test } from 'vitest'
import { z } from 'zod'

import { defineAgent, defineModel, definePrompt, defineTool, registry } from '../../src/index.js'
import type { AnyHook, HookPoint } from '../../src/index.js'
import { createFamilyScripts } from '../support/family-scripts.js'
import { calls } from '../support/kinds-replies.js'
import { marked } from '../support/marker.js'
import { factsOf } from '../support/thread-facts.js'
import { threeModes } from '../support/three-modes.js'
import { unscripted } from '../support/unscripted.js'

/** The points of seed 001, by our names. */
const POINTS = {
  after_thread_created: 'session_start',
  before_create_message: 'user_prompt_submit',
  before_tool_call: 'pre_tool_use',
  before_permission_request: 'permission_request',
  after_tool_call_success: 'post_tool_use',
  after_tool_call_failure: 'post_tool_failure',
  after_create_message: 'post_sampling',
  before_run_end: 'stop',
} as const satisfies Partial<Record<HookPoint, string>>

const seen: string[] = []
/** Points whose recorder throws. */
const broken = new Set<string>()

/** What was recorded: rows by their role, calls by their name. */
function about(given: readonly unknown[]): string {
  const [first] = given
  if (typeof first !== 'object' || first === null) return ''
  const of = 'role' in first ? first.role : 'name' in first ? first.name : ''
  return typeof of === 'string' && of !== '' ? ` ${of}` : ''
}

const recorders = Object.keys(POINTS).map(
  (hook) =>
    ({
      hook,
      id: hook,
      execute: (_state: unknown, ...given: readonly unknown[]) => {
        seen.push(`${hook}${about(given)}`)
        if (broken.has(hook)) throw new Error('Broken by the test.')
        return hook === 'before_permission_request' ? { effect: 'allow' } : undefined
      },
    }) as AnyHook,
)

const execute = (): never => {
  throw new Error('Expected the tool to be faked by the test.')
}
const task = z.object({ task: z.string() })
const made = registry({
  models: [defineModel({ name: 'voice', provider: unscripted, model: 'scripted' })],
  prompts: [
    definePrompt({
      ...{ name: 'clerk', toolDescription: 'Works', prompt: 'You work.', model: 'voice' },
      ...{ includeChat: true, includePastTools: true, tools: ['pay', 'break'] },
    }),
  ],
  agents: [defineAgent({ name: 'clerk', sideA: { prompt: 'clerk' } })],
  tools: {
    pay: defineTool({ description: 'Pays', args: task, capabilities: ['money.pay'], execute }),
    break: defineTool({ description: 'Breaks', args: task, execute }),
  },
})
const ids = recorders.map(({ id }) => id)
/** Each prompt lists all recorders. */
const recorded: typeof made = {
  ...made,
  hook: (id) => recorders.find((hook) => hook.id === id),
  prompt(name) {
    const prompt = made.prompt(name)
    return prompt && { ...prompt, hooks: ids }
  },
}

const scripts = createFamilyScripts(recorded)
let number = 0

threeModes({ registry: recorded, models: scripts.models, tools: scripts.tools }, (mode) => {
  async function work() {
    const id = `points-${(number += 1)}-${mode.mode.replaceAll(' ', '-')}`
    const args = { task: marked('Do') }
    scripts.script(id, mode.env.store, {
      voices: { clerk: [calls({ name: 'pay', args }, { name: 'break', args }), { text: marked('Done') }] },
      tools: { break: () => ({ status: 'error', error: marked('Broken') }) },
    })
    seen.length = 0
    const permissions = { 'money.*': 'require_approval' } as const
    const thread = await mode.env.threads.create({
      agent: 'clerk',
      id,
      message: marked('Hello'),
      permissions,
    })
    await thread.waitUntilIdle()
    return thread
  }

  test('AR-HP.3 a recorder at each point runs in the order of the work', async () => {
    await work()
    expect(seen).toEqual([
      'after_thread_created',
      ...['before_create_message user', 'after_create_message user'],
      ...['before_create_message assistant', 'after_create_message assistant'],
      ...['before_tool_call pay', 'before_permission_request pay', 'after_tool_call_success pay'],
      ...['before_create_message tool', 'after_create_message tool'],
      ...['before_tool_call break', 'after_tool_call_failure break'],
      ...['before_create_message tool', 'after_create_message tool'],
      ...['before_create_message assistant', 'after_create_message assistant'],
      'before_run_end',
    ])
    expect(Object.keys(POINTS).filter((point) => !seen.some((one) => one.startsWith(point)))).toEqual([])
  })

  test('AR-S3.4 AR-HP.2 each run of a hook has its facts, at every point', async () => {
    const facts = await factsOf(await work())
    const ran = seen.map((one) => one.replace(/ .*/, ''))
    const began = facts.flatMap((one, at) =>
      one.type === 'hook.started' ? [{ ...one, end: facts[at + 1] }] : [],
    )
    expect(began.map(({ payload }) => payload.hook).toSorted()).toEqual(ran.toSorted())
    for (const { end, payload, ...scope } of began) {
      const { hook, point, timeout } = payload
      const decision = point === 'before_permission_request' ? 'allow' : 'none'
      expect([hook, timeout]).toEqual([point, 30_000])
      expect(end).toMatchObject({
        ...{ type: 'hook.completed', runId: scope.runId, stepId: scope.stepId },
        payload: { hook, point, status: 'completed', decision, duration: expect.any(Number) },
      })
      if (point.includes('message')) expect(scope.messageId).toEqual(expect.any(String))
      if (/call|result|permission/.test(point)) expect(scope.toolCallId).toMatch(/^call_1_1_[01]$/)
    }
  })

  test('AR-HP.2 a hook that fails has a failure in the place of its end', async () => {
    broken.add('after_create_message')
    const facts = await factsOf(await work().finally(() => broken.clear()))
    const about = facts.filter(({ payload }) => 'hook' in payload && payload.hook === 'after_create_message')
    expect(about.map(({ type }) => type)).toEqual(
      about.map((_, at) => `hook.${at % 2 === 0 ? 'started' : 'failed'}`),
    )
    expect(about.filter(({ type }) => type === 'hook.failed')[0]?.payload).toMatchObject({
      ...{ point: 'after_create_message', code: 'threw', retryable: true, fails: 'open' },
    })
  })
})
