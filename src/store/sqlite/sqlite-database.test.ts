import { expect, onTestFinished, test } from 'vitest'
import { loadSqlite } from './sqlite-database.js'

test('a Node without SQLite is named, with the version needed', () => {
  const { getBuiltinModule } = process
  onTestFinished(() => {
    process.getBuiltinModule = getBuiltinModule
  })
  process.getBuiltinModule = () => undefined as never
  expect(loadSqlite).toThrow(
    `Expected Node 22.13 or later, which has SQLite built in, got ${process.version}`,
  )
})
