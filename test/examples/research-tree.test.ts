import { execFile } from 'node:child_process'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'

import { expect, test } from 'vitest'

const script = fileURLToPath(new URL('../../examples/research-tree/offline.ts', import.meta.url))

test('a tree of researchers spends one budget of money, asks its owner for more, and ends', async () => {
  // No key of a provider; the package is found by its own name, as a build.
  const { OPENAI_API_KEY: _key, ...env } = process.env
  const { stdout } = await promisify(execFile)(process.execPath, [script], { env, timeout: 120_000 })
  const of = (word: string): readonly string[] =>
    stdout
      .split('\n')
      .filter((line) => line.startsWith(word))
      .map((line) => line.slice(word.length))
  expect(of('asked: ')).toEqual([expect.stringMatching(/^tree maxCost 0\.01 used 0\.0\d+$/)])
  expect(of('somebody: ')[0]).toContain('owner')
  expect(of('reply: ')).toEqual(['Rain, snow and hail are water. stop_on_response'])
  expect(of('told: ')[0]).toContain('$0.0100 of $0.0100')
  const budgets = of('budget: ').map((line) => JSON.parse(line) as unknown)
  // Eight answers: two of the lead, two of each researcher.
  expect(budgets).toMatchObject([
    { scope: 'tree', limits: { maxCost: 0.05 }, used: { maxCost: 0.016 } },
    { scope: 'run', limits: { maxSteps: 20 }, used: { maxSteps: 2 } },
  ])
  expect(of('usage: ')[0]).toMatch(/^\$0\.0160 /)
})
