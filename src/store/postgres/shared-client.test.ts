import { expect, test } from 'vitest'
import { createStatementNames, PREPARED_STATEMENTS } from './shared-client.js'

test('each text has a name of its own, and keeps it', () => {
  const nameOf = createStatementNames()
  const [first, second] = [nameOf('select $1'), nameOf('select $2')]
  expect(first).not.toBe(second)
  expect(nameOf('select $1')).toBe(first)
})

test('texts beyond the limit go without', () => {
  const nameOf = createStatementNames()
  const texts = Array.from({ length: PREPARED_STATEMENTS + 1 }, (_, length) => `select $${length + 1}`)
  const names = texts.map(nameOf)
  expect(new Set(names).size).toBe(texts.length)
  expect(names.at(-1)).toBeUndefined()
  expect(names.at(-2)).toBeDefined()
})
