import { expect, test } from 'vitest'

import { assertReplays } from '../../src/testing/index.js'
import { keptHistories } from './kept-folders.js'
import { mutations } from './mutations.js'

const kept = await keptHistories()

test.each(Object.entries(mutations))('T11 a history with %s does not replay', async (name, mutation) => {
  const mutated = kept.flatMap((run) => {
    const events = mutation(structuredClone(run.history.events))
    return events === null ? [] : [{ ...run, history: { events } }]
  })
  expect(mutated.length).toBeGreaterThan(0)
  const error = await assertReplays(mutated).then(
    () => new Error('all replayed'),
    (problem: Error) => problem,
  )
  const all = mutated.length
  expect(error.message.split('\n')[0]).toBe(`Expected ${all} histories to replay, got ${all} that do not:`)
  process.stdout.write(`${name}: ${all} mutated histories refused\n`)
})
