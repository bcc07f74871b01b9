import fc from 'fast-check'
import { describe, test } from 'vitest'

import { choices } from '../../test/support/choices.js'
import { RandomThread } from '../../test/support/random-thread.js'
import { THREAD_RULES } from '../../test/support/thread-rules.js'

/** What happens, as numbers: fast-check makes a failing life shorter, and prints the seed that repeats it. */
const CHOICES = fc.array(fc.integer({ min: 0, max: 999 }), { maxLength: 1200, size: 'max' })

describe('any interleaving, when it is cut short at any choice', () => {
  test('every life of a thread keeps every rule, and ends', () => {
    fc.assert(
      fc.property(CHOICES, fc.nat({ max: 120 }), (numbers, events) => {
        const thread = new RandomThread(choices(numbers))
        const end = thread.run(events)
        const broken = THREAD_RULES.filter(({ holds }) => !holds(thread, end)).map(({ fact }) => fact)
        if (broken.length > 0) throw new Error(`Broken: ${broken.join('; ')}`)
      }),
      { numRuns: 1000 },
    )
  }, 60_000)
})
