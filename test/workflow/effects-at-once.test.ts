import { expect, test } from 'vitest'

import { marked } from '../support/marker.js'
import { factTypes } from '../support/thread-facts.js'
import { threeRuns } from '../support/three-runs.js'
import { until } from '../support/until.js'

const EFFECTS = 40
/**
 * A thread that is blocked stays blocked, so this may be long: without a cache the SDK's core drops some of these hundred
 * tasks, and each of them comes again after ten seconds.
 */
const LIMIT = 150_000

threeRuns((desk) => {
  // Many tasks begin just when a timer fires; one that cancels it then blocks the thread (temporalio/sdk-java#3088).
  test(
    'effects due while others run hold up nothing',
    async () => {
      const { thread } = await desk.start({
        chat: [
          { toolCalls: [{ name: 'work', args: { task: marked('schedule') } }] },
          { text: marked('Set') },
        ],
        tools: {
          work: async (state) => {
            for (let index = 0; index < EFFECTS; index += 1)
              await state.scheduleEffect('note', {}, 300 + index * 15)
            return { status: 'success' }
          },
        },
      })
      const completed = async () =>
        (await factTypes(thread)).filter((type) => type === 'effect.completed').length === EFFECTS
      expect(await until('all effects', completed, LIMIT, 100)).toBe(true)
    },
    LIMIT + 10_000,
  )
})
