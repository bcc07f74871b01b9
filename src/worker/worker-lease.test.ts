import { expect, test } from 'vitest'
import { createObserver } from './worker-lease.js'

const rows = (beats: number) => [{ id: 'w', identity: '1@host', beats }]

test('a worker is dead after seven looks without a beat', () => {
  const findDead = createObserver()
  findDead(rows(5))
  for (let look = 1; look < 7; look += 1) expect(findDead(rows(5))).toEqual([])
  expect(findDead(rows(5))).toEqual(rows(5))
})

test('a beat begins the count anew, also one that was lost in between', () => {
  const findDead = createObserver()
  for (let look = 0; look < 7; look += 1) expect(findDead(rows(5))).toEqual([])
  expect(findDead(rows(9))).toEqual([])
  for (let look = 1; look < 7; look += 1) expect(findDead(rows(9))).toEqual([])
  expect(findDead(rows(9))).toEqual(rows(9))
})

test('a worker that was taken for dead and beats again is new', () => {
  const findDead = createObserver()
  for (let look = 0; look <= 7; look += 1) findDead(rows(5))
  expect(findDead([])).toEqual([])
  expect(findDead(rows(1))).toEqual([])
  expect(findDead(rows(1))).toEqual([])
})
