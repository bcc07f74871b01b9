import { execFile } from 'node:child_process'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'

import { expect, test } from 'vitest'

const script = fileURLToPath(new URL('../../examples/refund-desk/offline.ts', import.meta.url))

test('PL-EX.1 the script of the refund desk runs offline: preview, approval, grant, and a rule of one run that prevents the next effect', async () => {
  // No key of a provider; the package is found by its own name, as a build.
  const { OPENAI_API_KEY: _key, ...env } = process.env
  const { stdout } = await promisify(execFile)(process.execPath, [script], { env, timeout: 120_000 })
  const lines = stdout.split('\n')
  const of = (word: string): readonly string[] =>
    lines.filter((line) => line.startsWith(word)).map((line) => line.slice(word.length))
  expect(of('preview: ')).toHaveLength(2)
  expect(of('ann, for whom it works: ')[0]).toContain('somebody with one of the roles manager')
  expect(of('reply: ')[0]).toContain('"refunded":100')
  expect(of('by the grant: ')[0]).toContain('"refunded":130')
  expect(of('by a rule of the run: ')[0]).toBe('I may not. {"item":"a tent","total":180,"refunded":130}')
  expect(of('decision: ').map((line) => JSON.parse(line) as unknown)).toMatchObject([
    { toolName: 'refund_order', decision: 'allowed', source: 'person', by: 'mia', changed: true },
    { toolName: 'refund_order', decision: 'allowed', source: 'grant' },
    { toolName: 'refund_order', decision: 'denied', source: 'run' },
  ])
  expect(of('event: ')).toEqual([
    ...['permission.evaluated', 'permission.requested', 'action.required'],
    ...['action.resolved', 'permission.resolved', 'tool.started', 'tool.result'],
    ...['permission.evaluated', 'tool.started', 'tool.result'],
    ...['permission.evaluated', 'tool.result'],
  ])
})
