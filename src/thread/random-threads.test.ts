import { describe, expect, test } from 'vitest'

import { RandomThread } from '../../test/support/random-thread.js'
import { seededRandom } from '../../test/support/seeded-random.js'
import { THREAD_RULES } from '../../test/support/thread-rules.js'

/** Each seed is one life of a thread: a few hundred actions under whatever may happen. */
const THREADS = Array.from({ length: 600 }, (_, seed) => {
  const thread = new RandomThread(seededRandom(seed))
  return { seed, end: thread.run(80), thread }
})

describe('whatever happens, in whatever order', () => {
  test('the lives are many and different', () => {
    const kinds = new Set(THREADS.flatMap(({ thread }) => thread.log.actions.map(({ kind }) => kind)))
    expect(kinds.size).toBe(23)
    const count = (of: (thread: RandomThread) => number): number =>
      THREADS.reduce((sum, { thread }) => sum + of(thread), 0)
    expect(THREADS.filter(({ end }) => end === 'closed').length).toBeGreaterThan(100)
    expect(THREADS.filter(({ end }) => end === 'waits').length).toBeGreaterThan(60)
    expect(count(({ log }) => log.carriedBytes.length)).toBeGreaterThan(1000)
    expect(count(({ log }) => log.answers.size)).toBeGreaterThan(500)
    expect(count(({ log }) => log.completed.length)).toBeGreaterThan(300)
    for (const kind of ['closed', 'timed_out', 'notice', 'result'])
      expect(
        count(({ log }) => log.completed.filter(({ report }) => report.kind === kind).length),
      ).toBeGreaterThan(20)
    expect(count(({ log }) => log.accepted.filter((key) => key.startsWith('group ')).length)).toBeGreaterThan(
      50,
    )
    expect(count(({ log }) => log.expired.length)).toBeGreaterThan(20)
    expect(count(({ family }) => family.children.sent.length)).toBeGreaterThan(50)
    expect(count(({ family }) => family.children.cancelled.length)).toBeGreaterThan(20)
    expect(count(({ log }) => log.answeredRequests.length)).toBeGreaterThan(300)
    expect(count(({ log }) => log.remotes.length)).toBeGreaterThan(100)
    expect(count(({ log }) => log.effects.length)).toBeGreaterThan(100)
    expect(count(({ log }) => log.taken.filter((key) => key.startsWith('tool ')).length)).toBeGreaterThan(500)
    expect(Math.max(...THREADS.map(({ thread }) => thread.log.deepest))).toBeGreaterThan(3)
  })

  test.each(THREAD_RULES)('$fact', ({ holds }) => {
    // Seeds whose thread breaks the rule; none is expected.
    expect(THREADS.filter(({ thread, end }) => !holds(thread, end)).map(({ seed }) => seed)).toEqual([])
  })
})
