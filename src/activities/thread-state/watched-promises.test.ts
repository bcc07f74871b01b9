import { expect, test } from 'vitest'
import { watchPromises } from './watched-promises.js'

test('a failure that nothing handled is thrown at the end', async () => {
  const { watch, waitForWork } = watchPromises()
  void watch(async () => 1)
  void watch(() => Promise.reject(new Error('lost')))
  await expect(waitForWork()).rejects.toThrow('lost')
})

test('a failure that was caught is over', async () => {
  const { watch, waitForWork } = watchPromises()
  await expect(watch(() => Promise.reject(new Error('caught')))).rejects.toThrow('caught')
  const kept = watch(() => Promise.reject(new Error('caught'))).catch(() => 'mended')
  expect(await kept).toBe('mended')
  await waitForWork()
})

test('the end waits for what was begun late', async () => {
  const { watch, waitForWork } = watchPromises()
  const done: string[] = []
  void watch(async () => {
    await Promise.resolve()
    void watch(async () => {
      await new Promise((resolve) => setImmediate(resolve))
      done.push('second')
    })
    done.push('first')
  })
  await waitForWork()
  expect(done).toEqual(['first', 'second'])
})

test('what then makes of a promise is watched like the promise', async () => {
  const { watch, waitForWork } = watchPromises()
  void watch(() => Promise.reject(new Error('lost'))).then(() => 'never')
  await expect(waitForWork()).rejects.toThrow('lost')
  const other = watchPromises()
  void other
    .watch(async () => 1)
    .finally(() => undefined)
    .then(() => Promise.reject(new Error('of its own')))
  await expect(other.waitForWork()).rejects.toThrow('of its own')
})

test('what is caught at the end of a chain is over', async () => {
  const { watch, waitForWork } = watchPromises()
  void watch(() => Promise.reject(new Error('caught')))
    .then(() => 'never')
    .finally(() => undefined)
    .catch(() => 'mended')
  await waitForWork()
})

test('what fails before it is awaited is handled then', async () => {
  const { watch, waitForWork } = watchPromises()
  const early = watch(() => Promise.reject(new Error('early')))
  await watch(() => new Promise((resolve) => setImmediate(resolve)))
  await expect(early).rejects.toThrow('early')
  await waitForWork()
})

test('the end waits for what runs behind promises of its own', async () => {
  const { watch, waitForWork } = watchPromises()
  const done: string[] = []
  void (async () => {
    await watch(async () => 1)
    for (let time = 0; time < 20; time += 1) await Promise.resolve()
    await watch(() => new Promise((resolve) => setImmediate(resolve)))
    done.push('behind')
  })()
  await waitForWork()
  expect(done).toEqual(['behind'])
})
