import { expect, test } from 'vitest'
import { diskError } from '../disk.js'
import { StoreError } from '../store-error.js'
import { asStoreError, isBusy, retryBusy } from './sqlite-error.js'

const sqliteError = (errcode: number) =>
  Object.assign(new Error('from SQLite'), { code: 'ERR_SQLITE_ERROR', errcode })

test.each([
  [5, 'busy', 'locked by another process'],
  [261, 'busy', 'locked by another process'],
  [8, 'unavailable', 'read-only'],
  [1032, 'unavailable', 'read-only'],
  [10, 'unavailable', 'check the disk'],
  [11, 'corrupt', 'damaged'],
  [13, 'unavailable', 'full disk'],
  [14, 'unavailable', 'could not be opened'],
  [26, 'incompatible', 'not a SQLite database'],
])('the result %i of SQLite is %s', (errcode, code, words) => {
  const error = asStoreError(sqliteError(errcode), '/data/threads.db')
  expect(StoreError.isInstance(error) && error.code).toBe(code)
  expect(String(error)).toContain('/data/threads.db')
  expect(String(error)).toContain(words)
})

test('a violated constraint is a bug and stays unchanged', () => {
  for (const bug of [sqliteError(1555), sqliteError(1), new Error('other'), 'text']) {
    expect(asStoreError(bug, '/data/threads.db')).toBe(bug)
    expect(isBusy(bug)).toBe(false)
  }
})

test.each([
  ['EROFS', 'the disk is read-only'],
  ['EACCES', 'no permission'],
  ['ENOSPC', 'the disk is full'],
  ['EIO', 'check the disk'],
])('the disk error %s says what to do', (code, words) => {
  const error = diskError(Object.assign(new Error('x'), { code, syscall: 'open' }), 'the blob folder /b')
  expect(StoreError.isInstance(error) && error.code).toBe('unavailable')
  expect(String(error)).toContain(`Expected to use the blob folder /b, got ${code}: `)
  expect(String(error)).toContain(words)
})

/** An operation that fails with these results of SQLite in turn, then succeeds. */
function failing(...results: number[]) {
  const operation = () => {
    const result = results.shift()
    if (result !== undefined) throw sqliteError(result)
    return 'done'
  }
  return { operation, left: results }
}

test('a locked database is tried again until the deadline', async () => {
  expect(await retryBusy(failing(5, 6, 261).operation, performance.now() + 10_000)).toBe('done')
  const { operation, left } = failing(5, 5)
  await expect(retryBusy(operation, performance.now() - 1)).rejects.toMatchObject({ errcode: 5 })
  expect(left).toEqual([5])
})

test('an error that is no lock is thrown at once', async () => {
  const { operation, left } = failing(5, 11, 5)
  await expect(retryBusy(operation, performance.now() + 10_000)).rejects.toMatchObject({ errcode: 11 })
  expect(left).toEqual([5])
})
