import { expect, test } from 'vitest'
import { buildPlan } from '../../src/definitions/plan/build-plan.js'
import type { PlanContent } from '../../src/definitions/plan/plan-content.js'
import { lastBoundary } from '../../src/store/messages/context-boundaries.js'
import { scriptedModel } from '../../src/testing/index.js'
import { freshBeginnings } from '../support/request-rules.js'
import { drainOf, modelInput, runModel, withDesk } from './activity-desk.js'
import type { ActivityDesk } from './activity-desk.js'
import { linesOf } from './context-desk.js'

/** 100,000 tokens, about: two of them are more than what a model takes that does not say how much. */
const HUGE = 'x'.repeat(400_000)

async function say(desk: ActivityDesk, run: number, text: string): Promise<void> {
  const drain = drainOf(await desk.send(text))
  await runModel(desk.dependencies, modelInput({ run, drain }))
}

test('K-22 T12 recorded requests share their beginnings up to a cut', () => {
  const chat = scriptedModel(() => ({ text: 'Well.' }))
  return withDesk({ chat }, async (desk) => {
    const texts = ['one', 'two', HUGE, 'four', 'five']
    for (const [index, text] of texts.entries()) await say(desk, index + 1, text)
    await say(desk, 6, HUGE)
    await say(desk, 7, 'seven')
    // The sixth, for which the window was cut.
    expect(freshBeginnings(chat.requests)).toEqual([5])
    expect(await desk.store.read((db) => lastBoundary(db, 't', 'a'))).toMatchObject({
      operation: 'model_6_1',
    })
    const resolved = (await desk.events()).filter(({ type }) => type === 'context.resolved')
    const facts = resolved.map(({ payload }) => payload)
    expect(facts[4]).toMatchObject({ messages: 9, dropped: 0 })
    expect(facts[6]).toMatchObject({ messages: 3, dropped: 10 })
    expect(facts[6]?.['estimatedTokens']).toBeGreaterThan(100_000)
  })
})

test('K-21 signed reasoning of a step is in the next one', () => {
  const chat = scriptedModel(() => ({ text: 'Well.', reasoning: 'Hm.' }))
  return withDesk({ chat }, async (desk) => {
    const content = buildPlan(desk.dependencies.registry, 'clerk', desk.dependencies) as PlanContent
    const clerk = content.prompts['clerk']
    // The plan of the registry, as if the prompt had asked for it.
    Object.assign(clerk ?? {}, { reasoning: { include: true } })
    await say(desk, 1, 'one')
    await say(desk, 2, 'two')
    expect(linesOf(chat.requests[1]?.raw.prompt ?? []).slice(1)).toEqual([
      'user: one',
      'assistant: Hm. | Well.',
      'user: two',
    ])
  })
})
