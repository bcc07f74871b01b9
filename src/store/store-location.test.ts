import { resolve } from 'node:path'
import { expect, test } from 'vitest'
import { ConfigError } from '../protocol/errors.js'
import { storeLocation } from './store-location.js'

test('without options the store is in .everthread', () => {
  expect(storeLocation({}, {})).toEqual({
    database: resolve('.everthread/threads.db'),
    blobs: resolve('.everthread/blobs'),
  })
})

test('options win over the environment', () => {
  const environment = { EVERTHREAD_DATABASE_URL: 'file:from-env.db', EVERTHREAD_BLOBS_URL: '/env/blobs' }
  expect(storeLocation({ database: 'own.db' }, environment)).toEqual({
    database: resolve('own.db'),
    blobs: '/env/blobs',
  })
})

test.each([
  ['file:///var/lib/threads.db', '/var/lib/threads.db'],
  ['file:/var/lib/threads.db', '/var/lib/threads.db'],
  ['file:data/with%20space.db', resolve('data/with space.db')],
  ['data/plain path.db', resolve('data/plain path.db')],
  ['../up.db', resolve('../up.db')],
])('the place %s is %s', (database, path) => {
  expect(storeLocation({ database }, {}).database).toBe(path)
})

test.each(['', ' ', ':memory:', 'file://other-machine/threads.db', 'file:a.db?mode=ro', 'file:a%00.db'])(
  'the place "%s" is refused',
  (database) => {
    expect(() => storeLocation({ database }, {})).toThrow('Expected store.database to be a file: URL')
  },
)

test('every problem is named at once, without passwords', () => {
  const environment = { EVERTHREAD_DATABASE_URL: 'mysql://u:hunter2@db/x', EVERTHREAD_BLOBS_URL: 'gs://b' }
  let thrown: unknown
  try {
    storeLocation({}, environment)
  } catch (error) {
    thrown = error
  }
  expect(ConfigError.isInstance(thrown) && thrown.problems).toEqual([
    expect.stringMatching(/^Expected EVERTHREAD_DATABASE_URL .* got the scheme "mysql:"$/),
    expect.stringMatching(/^Expected EVERTHREAD_BLOBS_URL .* got the scheme "gs:"$/),
  ])
  expect(String(thrown)).not.toContain('hunter2')
})

test.each([
  'postgres://user:hunter2@db.example:5433/threads?sslmode=require',
  'postgresql://db/threads?connections=3',
  'postgres:///threads?host=/var/run/postgresql',
])('the database %s stays as it is', (database) => {
  expect(storeLocation({ database }, {}).database).toBe(database)
})

test.each([
  ['postgres://user:hunter2@db', 'without the name of a database'],
  ['postgres://user:hunter2/x@db/threads', 'no URL'],
  [
    'postgres://user:hunter2@db/threads?connections=2',
    'connections=2, which is no whole number of at least 3',
  ],
])('the database %s is refused, without its password', (database, words) => {
  expect(() => storeLocation({ database }, {})).toThrow(words)
  expect(() => storeLocation({ database }, {})).not.toThrow('hunter2')
})

test('a bucket has its own problems, all at once', () => {
  const bad = 's3://key:hunter2@Bucket/a//b?region=eu-west-1&endpoint=x&secret=hunter2'
  let thrown: unknown
  try {
    storeLocation({ database: ' ', blobs: bad }, {})
  } catch (error) {
    thrown = error
  }
  expect(ConfigError.isInstance(thrown) && thrown.problems).toHaveLength(6)
  expect(String(thrown)).not.toContain('hunter2')
})
