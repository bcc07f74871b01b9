import { expect, test } from 'vitest'

import { budgetFindings, checkBudgets } from '../../chaos/checks/check-budgets.js'
import { kinds } from './records.js'

const tree = { threadId: 't', held: 0, charged: 4, requests: 4, input: 50, reported: 40 }

test('a tree that has given back what it held, and charged each request once, is no finding', () => {
  expect(budgetFindings([tree, { ...tree, charged: 6 }])).toEqual([])
})

test.each([{ held: 1 }, { charged: 3 }, { charged: 10 }, { reported: 51 }])('%j is a finding', (wrong) => {
  expect(kinds(budgetFindings([tree, { ...tree, ...wrong }]))).toEqual(['wrong'])
})

test('a database that cannot be asked fails the check', async () => {
  let swept = 0
  const threads = { sweep: async () => ((swept += 1), {} as never) }
  await expect(checkBudgets(threads, 'postgres://nobody@127.0.0.1:1/none')).rejects.toThrow()
  expect(swept).toBe(1)
})
