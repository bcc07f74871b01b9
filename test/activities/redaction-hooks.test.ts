import { describe, expect, test } from 'vitest'
import { z } from 'zod'
import { runEffect } from '../../src/activities/run-effect.js'
import { prepareChild } from '../../src/activities/subagents/prepare-child.js'
import { defineHook } from '../../src/definitions/hook.js'
import type { AnyHook } from '../../src/definitions/hook.js'
import { defineEffect, registry } from '../../src/index.js'
import type { RunEffectInput } from '../../src/protocol/activities.js'
import { LEVEL } from '../../src/protocol/answer-problem.js'
import { findError } from '../../src/store/errors.js'
import { insertEffect } from '../../src/store/threads/effects.js'
import { scriptedModel } from '../../src/testing/index.js'
import { attempt, drainOf, modelInput, NOW, runModel, withDesk } from './activity-desk.js'
import type { ActivityDesk } from './activity-desk.js'
import type { DeskParts } from './desk-registry.js'
import { hookFailures } from './hook-batch.js'
import { rows } from './stored-rows.js'
import { lastResult } from './tool-outcomes.js'

const SHOWN = '[secret API_KEY]'
const env = { API_KEY: 'nightingale-1' }

/** One step of a model. */
async function step(desk: ActivityDesk) {
  const input = modelInput({ drain: drainOf(await desk.send('one')) })
  return runModel({ ...desk.dependencies, env }, input)
}

/** Nothing that is stored has the secret. */
function withHook(hook: AnyHook, parts: DeskParts, work: (desk: ActivityDesk) => Promise<void>) {
  return withDesk({ ...parts, hooks: [hook] }, async (desk) => {
    await work(desk)
    expect(await rows(desk)).not.toContain('nightingale')
  })
}

describe('what a hook makes of a request', () => {
  test.each<readonly [string, AnyHook]>([
    [
      'its system text',
      defineHook({
        hook: 'after_system_message',
        id: 'tells',
        execute: async (state, text) => `${text} Use ${await state.env('API_KEY')}.`,
      }),
    ],
    [
      'its rows',
      defineHook({
        hook: 'filter_messages',
        id: 'tells',
        execute: async (state, messages) => {
          const [first] = messages
          const content = `Use ${await state.env('API_KEY')}.`
          return first === undefined ? messages : [...messages, { ...first, id: 'made', content }]
        },
      }),
    ],
    [
      'its messages',
      defineHook({
        hook: 'prefilter_llm_history',
        id: 'tells',
        execute: async (state, messages) => [
          ...messages,
          { role: 'user', content: [{ type: 'text', text: `Use ${await state.env('API_KEY')}.` }] },
        ],
      }),
    ],
  ])('T5 has no secret: %s', (_what, hook) => {
    const chat = scriptedModel([{ text: 'x' }])
    return withHook(hook, { chat }, async (desk) => {
      await step(desk)
      const request = JSON.stringify(chat.requests)
      expect(request).toContain(`Use ${SHOWN}.`)
      expect(request).not.toContain('nightingale')
    })
  })
})

describe('what a hook makes of a row', () => {
  test('T5 has no secret in a message', () => {
    const hook = defineHook({
      hook: 'before_create_message',
      id: 'tells',
      execute: async (state, message) => ({ ...message, content: `as ${await state.env('API_KEY')}` }),
    })
    return withHook(hook, { chat: scriptedModel([{ text: 'x' }]) }, async (desk) => {
      await step(desk)
      expect((await desk.transcript()).map(({ content }) => content)).toEqual([`as ${SHOWN}`, `as ${SHOWN}`])
    })
  })

  test('T5 has none in a result that it only changes', () => {
    const hook = defineHook({
      hook: 'after_tool_call_success',
      id: 'tells',
      execute: async (state, _call, { result }) => {
        Object.assign(result as object, { key: await state.env('API_KEY') })
      },
    })
    const work = () => ({ status: 'success', result: {} }) as const
    return withHook(hook, { work }, async (desk) => {
      await desk.run(await desk.call('work'), { ...desk.dependencies, env })
      expect((await lastResult(desk))?.content).toBe(JSON.stringify({ key: SHOWN }))
    })
  })
})

describe('what code throws', () => {
  test('T5 is recorded without secrets: a hook', () => {
    const hook = defineHook({
      hook: 'after_create_message',
      id: 'fails',
      execute: async (state) => {
        throw new Error(`saw ${await state.env('API_KEY')}`)
      },
    })
    return withHook(hook, { chat: scriptedModel([{ text: 'x' }]) }, async (desk) => {
      await step(desk)
      expect((await hookFailures(desk))[0]?.at(-1)).toBe(`saw ${SHOWN}`)
    })
  })

  test('T5 is shown without secrets: a hook that blocks', () => {
    const hook = defineHook({
      hook: 'prefilter_llm_history',
      id: 'blocks',
      execute: async (state) => {
        throw Object.assign(new Error(`no, by ${await state.env('API_KEY')}`), { block: true })
      },
    })
    return withHook(hook, {}, async (desk) => {
      expect(await step(desk)).toMatchObject({ type: 'end' })
      expect((await desk.transcript()).at(-1)?.content).toContain(`no, by ${SHOWN}`)
    })
  })

  test("T5 is recorded without secrets: a hook with a subagent's state", () => {
    const hook = defineHook({
      hook: 'after_subagent_created',
      id: 'fails',
      execute: async (_state, child) => {
        throw new Error(`saw ${await child.env('API_KEY')}`)
      },
    })
    return withHook(hook, {}, async (desk) => {
      const input = await desk.call('pair', { task: 'Look.' })
      const dependencies = { ...desk.dependencies, env }
      await attempt().run(
        (given: typeof input) => prepareChild(dependencies, { ...given, children: 0, open: 0 }),
        input,
      )
      expect((await hookFailures(desk))[0]?.at(-1)).toBe(`saw ${SHOWN}`)
    })
  })

  test('T5 is recorded without secrets: a check for approval', () =>
    withDesk(
      {
        needsApproval: async (state) => {
          throw new TypeError(`cannot decide about ${await state.env('API_KEY')}`)
        },
      },
      async (desk) => {
        const input = await desk.call('pay', { amount: 1 })
        expect(await desk.run(input, { ...desk.dependencies, env })).toMatchObject({ type: 'pending' })
        const error = await desk.store.read((db) => findError(db, `t:${input.callId}:approval`))
        expect(error?.message).toBe(`cannot decide about ${SHOWN}`)
        expect(error?.stack).toContain(`TypeError: cannot decide about ${SHOWN}`)
        expect(await rows(desk)).not.toContain('nightingale')
      },
    ))

  test('T5 is recorded without secrets: an effect', () =>
    withDesk({}, async (desk) => {
      const effect = { thread_id: 't', id: 'effect_1', name: 'sing', args: {}, due_at: 1, created_at: 1 }
      await desk.store.write((tx) => insertEffect(tx, effect))
      const sing = defineEffect('Sings', z.object({}), async (state) => {
        throw new Error(`saw ${await state.env('API_KEY')}`)
      })
      const made = registry({ agents: [], prompts: [], models: [], effects: { sing } })
      const common = { level: LEVEL, threadId: 't', now: NOW, run: 3, facts: [], agent: 'clerk' } as const
      await attempt().run(
        (given: RunEffectInput) => runEffect({ ...desk.dependencies, registry: made, env }, given),
        { ...common, effectId: 'effect_1' },
      )
      const error = await desk.store.read((db) => findError(db, 't:effect_1'))
      expect(error?.message).toBe(`saw ${SHOWN}`)
      expect(await rows(desk)).not.toContain('nightingale')
    }))
})

test('AR-HP.5 no hook is given a secret that a tool has read', async () => {
  const given: unknown[] = []
  const points = ['filter_messages', 'prefilter_llm_history', 'before_create_message'] as const
  const results = ['after_tool_call_success', 'before_store_tool_result'] as const
  const hooks = [...points, ...results].map(
    (hook) =>
      ({
        hook,
        id: hook,
        execute: (_state: unknown, ...input: readonly unknown[]) => void given.push([hook, ...input]),
      }) as AnyHook,
  )
  const work: DeskParts['work'] = async (state) => ({
    status: 'success',
    result: `with ${await state.env('API_KEY')}`,
  })
  const chat = scriptedModel([{ toolCalls: [{ name: 'work' }] }, { text: 'x' }])
  await withDesk({ chat, work, hooks }, async (desk) => {
    const worker = { ...desk.dependencies, env }
    await desk.run(await desk.call('work'), worker)
    await runModel(worker, modelInput({ step: 2, drain: drainOf(await desk.send('two')) }))
    const recorded = JSON.stringify(given)
    for (const hook of [...points, ...results]) expect(recorded).toContain(hook)
    expect(recorded).toContain(`with ${SHOWN}`)
    expect(recorded).not.toContain('nightingale')
  })
})
