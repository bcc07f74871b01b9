import { expect, test } from 'vitest'

import { postgresName, postgresPlace } from './postgres-place.js'

test('the name of a place has no password and no parameters', () => {
  expect(postgresName('postgresql://me:hunter2@db:5433/threads?password=hunter2')).toBe(
    'postgres://me@db:5433/threads',
  )
  expect(postgresName('postgres://me:hunter2/x@db/threads')).toBe('the PostgreSQL database')
})

test('our own parameters never reach the server', () => {
  const { connections, connectionString, options } = postgresPlace(
    'postgres://me@db/threads?connections=7&options=-csearch_path%3Dours&sslmode=require',
  )
  expect(connections).toBe(7)
  expect(connectionString).toBe('postgres://me@db/threads?sslmode=require')
  expect(options).toEqual(['-csearch_path=ours'])
})
