import { expect, test } from 'vitest'
import type { WorkerRow } from '../store/workers.js'
import { deadWorkers, nextBeat } from './worker-lease.js'

const row = (id: string, beats: number): WorkerRow => ({ id, identity: `${id}@host`, beats })

test('the count of workers goes on by one in the time of a beat, however many there are', () => {
  let rows: readonly WorkerRow[] = [row('a', 5), row('b', 5), row('c', 5)]
  for (let round = 1; round <= 9; round += 1) {
    rows = ['a', 'b', 'c'].reduce(beaten, rows)
    expect(Math.max(...rows.map(({ beats }) => beats))).toBe(5 + round)
  }
})

test('a new worker has the count of the others at once, and the first of all begins it', () => {
  expect(nextBeat([], 'a')).toBe(1)
  expect(nextBeat([row('b', 40), row('c', 33)], 'a')).toBe(40)
})

test('a worker that comes to its beats slowly keeps up', () => {
  expect(nextBeat([row('a', 5), row('b', 10)], 'a')).toBe(10)
})

test('a worker is dead when the count is seven ahead, whoever counted', () => {
  let rows: readonly WorkerRow[] = [row('dead', 5), row('a', 5)]
  for (let beat = 1; beat < 7; beat += 1) {
    // Each is in the place of the one before, and beats twice.
    const id = `worker ${beat}`
    rows = beaten(beaten(rows, id), id).filter((one) => one.id === id || one.id === 'dead')
    expect(deadWorkers(rows, rows.at(-1)?.beats ?? 0)).toEqual([])
  }
  rows = beaten(rows, 'worker 6')
  expect(deadWorkers(rows, 12)).toEqual([row('dead', 5)])
})

test('while nobody beats nobody is dead', () => {
  expect(deadWorkers([row('a', 5), row('b', 4)], nextBeat([row('a', 5), row('b', 4)], 'b'))).toEqual([])
})

function beaten(rows: readonly WorkerRow[], id: string): readonly WorkerRow[] {
  return [...rows.filter((one) => one.id !== id), row(id, nextBeat(rows, id))]
}
