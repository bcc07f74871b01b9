import { expect, test } from 'vitest'
import { isStoreId } from '../protocol/ids.js'
import { makeStoreId, taskQueueOf } from './store-location.js'

test('each store gets an id of its own', () => {
  const ids = Array.from({ length: 1000 }, makeStoreId)
  expect(ids.every(isStoreId)).toBe(true)
  expect(new Set(ids).size).toBe(ids.length)
})

test('two projects have different task queues by default', () => {
  const [one, other] = [makeStoreId(), makeStoreId()]
  expect(taskQueueOf(one, undefined, {})).toBe(`everthread-${one}`)
  expect(taskQueueOf(other, undefined, {})).toBe(`everthread-${other}`)
})

test('a task queue that is given stays as it is', () => {
  const environment = { EVERTHREAD_TASK_QUEUE: 'desk' }
  expect(taskQueueOf(makeStoreId(), undefined, environment)).toBe('desk')
  expect(taskQueueOf(makeStoreId(), 'orders', environment)).toBe('orders')
})
