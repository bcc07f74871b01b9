import { describe, expect, test } from 'vitest'

import { MOST_CARRIED, RandomThread } from '../../test/support/random-thread.js'
import { seededRandom } from '../../test/support/seeded-random.js'

/** Each seed is one life of a thread: a few hundred actions under whatever may happen. */
const THREADS = Array.from({ length: 600 }, (_, seed) => {
  const thread = new RandomThread(seededRandom(seed))
  return { seed, end: thread.run(60), thread }
})

const LAST_ACTIONS = ['startChild', 'deliverReport', 'announceReport', 'settle', 'cancelChild']

/** Seeds whose thread breaks a rule; none is expected. */
function broken(rule: (thread: RandomThread, end: 'waits' | 'closed') => boolean): readonly number[] {
  return THREADS.filter(({ thread, end }) => !rule(thread, end)).map(({ seed }) => seed)
}

describe('whatever happens, in whatever order', () => {
  test('the lives are many and different', () => {
    const kinds = new Set(THREADS.flatMap(({ thread }) => thread.log.actions.map(({ kind }) => kind)))
    expect(kinds.size).toBe(12)
    expect(THREADS.filter(({ end }) => end === 'closed').length).toBeGreaterThan(100)
    expect(THREADS.filter(({ end }) => end === 'waits').length).toBeGreaterThan(100)
    expect(THREADS.flatMap(({ thread }) => thread.log.carriedBytes).length).toBeGreaterThan(1000)
    expect(THREADS.flatMap(({ thread }) => [...thread.log.answers]).length).toBeGreaterThan(500)
  })

  test('T1 no call is begun twice and none out of order', () => {
    expect(broken(({ log }) => new Set(log.begun).size === log.begun.length)).toEqual([])
    expect(
      broken(({ log }) => log.begun.every((id, index) => index === 0 || isAfter(id, log.begun[index - 1]))),
    ).toEqual([])
  })

  test('T3 every item is drained once, in the order of acceptance', () => {
    expect(broken(({ log }) => log.drained.every((id, index) => id === log.accepted[index]))).toEqual([])
  })

  test('T3 what was not drained still waits, or the thread closed', () => {
    expect(
      broken(({ log, control }, end) => {
        const left = log.accepted.slice(log.drained.length)
        return end === 'closed' || left.join() === control.queue.map(({ id }) => id).join()
      }),
    ).toEqual([])
  })

  test('T7 every child whose rows exist is started', () => {
    expect(broken(({ log }) => log.prepared.every((reference) => log.answers.has(reference)))).toEqual([])
  })

  test('T7 every child is answered for once, or still owed', () => {
    expect(
      broken(({ log, control }, end) =>
        [...log.answers].every(([reference, answers]) => {
          const owed = control.children.some((child) => child.reference === reference)
          return owed ? answers === 0 && end === 'closed' : answers === 1
        }),
      ),
    ).toEqual([])
  })

  test('T7 every answer is the result of its call or an item, once', () => {
    const places = ({ log }: RandomThread, reference: string): number =>
      log.completed.filter((completed) => completed === reference).length +
      log.accepted.filter((id) => id.startsWith(`${reference}:`) || id === `everthread:closed:${reference}`)
        .length
    expect(
      broken(
        (thread, end) =>
          end === 'closed' ||
          [...thread.log.answers.keys()].every((reference) => places(thread, reference) === 1),
      ),
    ).toEqual([])
  })

  test('T8 a thread that ends only tells, marks and closes', () => {
    const allowed = ({ kind, terminating, closing }: RandomThread['log']['actions'][number]): boolean =>
      !(terminating || closing) || LAST_ACTIONS.includes(kind)
    expect(broken(({ log }) => log.actions.every(allowed))).toEqual([])
  })

  test('T8 no item slips in behind the last closing transaction', () => {
    expect(broken(({ log }, end) => end === 'waits' || log.rejected === log.accepted.length)).toEqual([])
  })

  test('T8 a closed thread has told every child it owes', () => {
    expect(broken(({ control }, end) => end === 'waits' || control.closing?.cascade.length === 0)).toEqual([])
  })

  test('a thread at rest has no run, and nothing waits unless it was stopped', () => {
    expect(
      broken(
        ({ control }, end) =>
          end === 'closed' || (control.run === null && (control.stopped || control.queue.length === 0)),
      ),
    ).toEqual([])
  })

  test('the carried state stays within its budget', () => {
    const largest = Math.max(...THREADS.flatMap(({ thread }) => thread.log.carriedBytes))
    expect(largest).toBeLessThan(MOST_CARRIED)
  })
})

/** Call ids are `call_<run>_<step>_<index>`. */
function isAfter(id: string, before: string | undefined): boolean {
  const [left, right] = [numbersOf(before ?? ''), numbersOf(id)]
  for (const [index, number] of right.entries())
    if (number !== left[index]) return number > (left[index] ?? -1)
  return false
}

function numbersOf(id: string): readonly number[] {
  return id.split('_').slice(1).map(Number)
}
