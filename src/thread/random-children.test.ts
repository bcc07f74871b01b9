import { expect, test } from 'vitest'

import { RandomChild } from '../../test/support/random-child.js'
import { seededRandom } from '../../test/support/seeded-random.js'

const LIVES = Array.from({ length: 1500 }, (_, seed) => {
  const child = new RandomChild(seededRandom(seed))
  return { seed, child, log: child.log, end: child.run(25) }
})

/** Seeds of the lives in which this does not hold; none is expected. */
function listBroken(holds: (life: (typeof LIVES)[number]) => boolean): readonly number[] {
  return LIVES.filter((life) => !holds(life)).map(({ seed }) => seed)
}

test('the lives of children are many and different', () => {
  const count = (of: (life: (typeof LIVES)[number]) => boolean): number => LIVES.filter(of).length
  expect(count(({ end }) => end === 'waits')).toBeGreaterThan(200)
  expect(count(({ log }) => log.parentGone)).toBeGreaterThan(50)
  expect(count(({ log }) => log.late.length > 0)).toBeGreaterThan(5)
  expect(count(({ log }) => log.numbers.length > 3)).toBeGreaterThan(100)
})

test('T7 no call of the parent is answered twice', () => {
  expect(listBroken(({ log }) => new Set(log.answered).size === log.answered.length)).toEqual([])
})

test('T7 every call of the parent is answered, however the child went on', () => {
  const answered = listBroken(({ log }) => {
    return log.parentGone || log.asked.every((invocation) => log.answered.includes(invocation))
  })
  expect(answered).toEqual([])
})

test('T7 reports are numbered in order, and made one after the other', () => {
  const numbered = listBroken(({ log }) => log.numbers.every((number, index) => number === index + 1))
  expect(numbered).toEqual([])
  expect(listBroken(({ log }) => log.broken.length === 0)).toEqual([])
})

test('T7 a child whose parent is gone closes by itself', () => {
  expect(listBroken(({ log, end }) => !log.parentGone || end === 'closed')).toEqual([])
})

test('T7 a child at rest has nothing left to answer or to announce', () => {
  const rests = listBroken(({ child: { control }, end }) => {
    return end === 'closed' || (control.report === null && control.invocations.length === 0)
  })
  expect(rests).toEqual([])
})
