import { expect, test } from 'vitest'
import { z } from 'zod'

import { toInputSchema } from '../../src/definitions/plan/argument-schema.js'
import { judgeRunEnd } from '../../src/activities/run-output.js'

type Given = Parameters<typeof judgeRunEnd>

/** The verdict on a text of a run with this planned schema, by a worker whose agent has the other one. */
function judge(planned: z.ZodObject, own: z.ZodObject | undefined, text: string) {
  const dependencies = {
    store: { read: async () => null },
    registry: { agent: () => (own === undefined ? undefined : { output: own }) },
  }
  const plan = { agent: 'clerk', type: 'ai_human', sides: { a: { stopOnResponse: true } } }
  const step = {
    input: { threadId: 't', run: 1, step: 1, side: 'a', frame: null, agent: 'clerk' },
    content: { plan, output: toInputSchema(planned) },
    hooks: { decides: () => false },
    now: 0,
  }
  const result = { type: 'answered', text: true, calls: [], usage: {} }
  return judgeRunEnd(dependencies as never as Given[0], step as never as Given[1], result as never, text)
}

const order = z.object({ order: z.string().min(3) })
const euros = z.object({ euros: z.number() })

test('U3 a run keeps the schema of its plan, whatever its worker has by now', async () => {
  for (const own of [order, euros, undefined]) {
    expect(await judge(order, own, '{"order":"A-17"}')).toMatchObject({ refusal: null })
    const refused = await judge(order, own, '{"order":"A"}')
    expect(refused?.refusal).toMatch(/^Your answer does not fit: .* Answer again, .*"minLength":3/)
    expect(refused?.operations).toEqual([{ kind: 'force_turn', side: 'a' }])
  }
})

test('an answer in a fence counts, one in words does not', async () => {
  expect(await judge(order, order, '```json\n{"order":"A-17"}\n```')).toMatchObject({ refusal: null })
  expect((await judge(order, order, 'A-17'))?.refusal).toContain('Expected an answer that is JSON')
  expect((await judge(order, order, '["A-17"]'))?.refusal).toContain('does not fit')
})
