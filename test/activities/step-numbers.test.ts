/** What a usual step leaves: events, and bytes. Neither depends on the load of a machine. */
import { sql } from 'kysely'
import { expect, test } from 'vitest'
import { readEvents } from '../../src/store/events.js'
import { scriptedModel } from '../../src/testing/index.js'
import { drainOf, modelInput, PLAIN_CALL, runModel, runTool, withDesk } from './activity-desk.js'
import type { ActivityDesk } from './activity-desk.js'
import { success } from './tool-outcomes.js'

const STEPS = 100
/** All of them are a conversation of 0.42 MB. */
const RESULT = 'x'.repeat(4_200)

async function runSteps(desk: ActivityDesk, steps: number): Promise<void> {
  const drain = drainOf(await desk.send('Please.'))
  let plan: string | null = null
  for (let step = 1; step <= steps; step += 1) {
    const first = step === 1
    const asked = {
      step,
      plan,
      sideStarts: first,
      trigger: first ? 'message' : null,
      drain: first ? drain : [],
    }
    const answer = await runModel(desk.dependencies, modelInput(asked))
    if (answer.type !== 'answered') throw new Error(`Expected an answer, got ${answer.type}.`)
    plan ??= answer.plan?.digest ?? null
    const [call] = answer.calls
    const input = { ...modelInput({ step, plan }), ...PLAIN_CALL, sideSteps: { a: step, b: 0 } }
    const calling = {
      ...input,
      plan: plan ?? '',
      callId: call?.id ?? '',
      name: 'work',
      first: true,
      last: true,
    }
    expect(await runTool(desk.dependencies, calling)).toMatchObject({ outcome: 'succeeded' })
  }
}

const parts = () => ({
  chat: scriptedModel(() => ({ toolCalls: [{ name: 'work' }] })),
  work: () => success(RESULT),
})

test('a usual step of one call is thirteen events: marks, request, answer, and the call', () =>
  withDesk(parts(), async (desk) => {
    await runSteps(desk, 2)
    const all = await desk.store.read((db) => readEvents(db, { threadId: 't', after: 0, limit: 1000 }))
    const facts = all.filter(({ scope }) => scope.stepId === 'step_1_2')
    const counts = new Map<string, number>()
    for (const { type } of facts) counts.set(type, (counts.get(type) ?? 0) + 1)
    expect(Object.fromEntries(counts)).toEqual({
      ...{ 'step.started': 1, 'step.phase': 6, 'context.resolved': 1, 'model.requested': 1 },
      ...{ 'model.completed': 1, 'message.created': 1, 'tool.started': 1, 'tool.result': 1 },
    })
  }))

test('100 calls on 0.42 MB store less than 1.5 MB', () =>
  withDesk(parts(), async (desk) => {
    await runSteps(desk, STEPS)
    const { rows } = await desk.store.write((tx) =>
      sql<{ bytes: number }>`select (p.page_count - f.freelist_count) * s.page_size as bytes
        from pragma_page_count() p, pragma_freelist_count() f, pragma_page_size() s`.execute(tx),
    )
    expect(rows[0]?.bytes).toBeLessThan(1.5 * 1024 * 1024)
  }))
