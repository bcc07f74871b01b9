import { expect, test } from 'vitest'
import { z } from 'zod'
import type { PromptDefinition } from '../../src/index.js'
import type { CallModelAnswer, CallModelInput } from '../../src/protocol/activities.js'
import { findToolCall } from '../../src/store/calls/tool-calls.js'
import { scriptedModel } from '../../src/testing/index.js'
import { createGate } from '../support/gate.js'
import { until } from '../support/until.js'
import { attempt } from './activity-desk.js'
import { refusing, withModels } from './model-desk.js'
import type { DeskModel, ModelDesk } from './model-desk.js'

const HELPER: PromptDefinition = {
  name: 'helper',
  toolDescription: 'Helps',
  prompt: 'You help.',
  model: 'small',
  requiredSchema: z.object({ task: z.string() }),
  tools: [{ name: 'second', initUserMessageProperty: 'task' }],
}
const SECOND: PromptDefinition = { ...HELPER, name: 'second', tools: [] }

/** A step whose model called the prompt `helper`, and the input of the nested step. */
async function withFrame(
  models: Readonly<Record<string, DeskModel>>,
  work: (desk: ModelDesk, input: Partial<CallModelInput>) => Promise<void>,
): Promise<void> {
  const chat = scriptedModel([{ toolCalls: [{ name: 'helper', args: { task: 'Look it up.' } }] }])
  const parts = {
    models: { chat: { asked: chat }, ...models },
    prompt: { tools: [{ name: 'helper', initUserMessageProperty: 'task' }] },
    prompts: [HELPER, SECOND],
  }
  await withModels(parts, async (desk) => {
    const outer = await desk.step()
    const plan = outer.type === 'answered' ? (outer.plan?.digest ?? '') : ''
    const frame = { callId: 'call_1_1_0', prompt: 'helper', depth: 1 }
    await work(desk, { plan, knownPlan: plan, trigger: null, drain: [], sideStarts: false, frame })
  })
}

const nestedRows = (desk: ModelDesk) =>
  desk.store.read((db) => db.selectFrom('messages').selectAll().where('depth', '>', 0).execute())

test('AR-RM.10 a request for a call names the call beside its run and step', () => {
  const small = scriptedModel([{ text: 'Found.' }])
  return withFrame({ small: { asked: small, sendIds: true } }, async (desk, input) => {
    await desk.step(input)
    expect(small.requests[0]?.raw.headers).toMatchObject({
      'x-everthread-run-id': 't:run_1',
      'x-everthread-step-id': 'step_1_1',
      'x-everthread-tool-call-id': 'call_1_1_0',
    })
  })
})

test('a nested answer stands below the call that it answers', () => {
  const small = scriptedModel([
    { text: 'Found.', toolCalls: [{ name: 'second', args: { task: 'x' } }, { name: 'nonsense' }] },
  ])
  return withFrame({ small: { asked: small, inputPrice: 1, outputPrice: 2 } }, async (desk, input) => {
    const before = (await desk.events()).length
    expect(await desk.step(input)).toEqual({
      type: 'answered',
      text: true,
      calls: [
        { id: 'call_1_1_0_0', name: 'second' },
        { id: 'call_1_1_0_1', name: '(unknown)' },
      ],
      usage: { inputTokens: 10, outputTokens: 5, cachedInputTokens: 0, cost: 20 },
    })
    expect(small.requests[0]).toMatchObject({ prompt: 'helper', system: 'You help.' })
    expect(small.requests[0]?.messages.at(-1)).toMatchObject({ role: 'user', text: 'Look it up.' })
    const [row, ...others] = await nestedRows(desk)
    expect(others).toEqual([])
    expect(row).toMatchObject({ content: 'Found.', depth: 1, prompt: 'helper', status: 'completed' })
    const operation = await desk.store.read((db) =>
      db.selectFrom('operations').select('message_id').where('id', '=', 'call_1_1_0').executeTakeFirst(),
    )
    expect(row?.parent_id).toBe(operation?.message_id)
    const call = await desk.store.read((db) => findToolCall(db, 't', 'call_1_1_0_0'))
    expect(call).toMatchObject({ parent_call_id: 'call_1_1_0', message_id: row?.id, call_index: 0 })
    // Phases and steps are those of the outer step.
    expect((await desk.events()).slice(before).map(({ type }) => type)).toEqual([
      'tool.started',
      'context.resolved',
      'model.requested',
      'model.completed',
      'message.created',
    ])
    expect((await desk.told('model.requested')).at(-1)).toMatchObject({
      model: 'small',
      routing: { kind: 'nested', requested: 'small' },
    })
  })
})

test('T4 a nested step that is finished is answered from its row', () => {
  const small = scriptedModel([{ text: 'Found.' }])
  return withFrame({ small: { asked: small } }, async (desk, input) => {
    const first = await desk.step(input)
    expect(await desk.step(input)).toEqual(first)
    expect(small.requests).toHaveLength(1)
    expect(await nestedRows(desk)).toHaveLength(1)
  })
})

test('K-20 words of a fallback are there as those of the model', () => {
  const models = {
    small: { asked: refusing(500), fallbacks: ['backup'] },
    backup: { asked: scriptedModel([{ text: 'Found by another.' }]) },
  }
  return withFrame(models, async (desk, input) => {
    expect(await desk.step(input)).toMatchObject({ type: 'answered', text: true })
    expect(await nestedRows(desk)).toMatchObject([{ content: 'Found by another.', status: 'completed' }])
  })
})

test('a nested step without an answer leaves its reason, and the run goes on', () =>
  withFrame({ small: { asked: refusing(401) } }, async (desk, input) => {
    const answer: CallModelAnswer = await desk.step(input)
    expect(answer).toMatchObject({ type: 'answered', text: false, calls: [] })
    expect(await nestedRows(desk)).toMatchObject([
      { status: 'failed', content: expect.stringContaining('The model "small" gave no answer') as unknown },
    ])
  }))

test('a stop in a nested step leaves its step to the workflow', () => {
  const gate = createGate()
  const small = scriptedModel(async () => {
    await gate.passed
    return { text: 'Late.' }
  })
  return withFrame({ small: { asked: small } }, async (desk, input) => {
    const environment = attempt()
    const step = desk.step(input, environment)
    await until('the nested request', () => small.requests.length === 1)
    environment.cancel()
    expect(await step).toEqual({ type: 'interrupted' })
    expect(await desk.told('step.completed', 'side.completed')).toEqual([])
    expect(await desk.told('model.failed')).toMatchObject([{ model: 'small', error: 'interrupted' }])
  })
})
