import { execFile } from 'node:child_process'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'

import { expect, test } from 'vitest'

const script = fileURLToPath(new URL('../../examples/cancellation/offline.ts', import.meta.url))

test('PL-EX.2 the script of the cancellation runs: a tool that goes on is cancelled, what it wrote is not kept, and the final event says why', async () => {
  // No key of a provider; the package is found by its own name, as a build.
  const { OPENAI_API_KEY: _key, ...env } = process.env
  const { stdout } = await promisify(execFile)(process.execPath, [script], { env, timeout: 120_000 })
  const of = (word: string): readonly string[] =>
    stdout
      .split('\n')
      .filter((line) => line.startsWith(word))
      .map((line) => line.slice(word.length))
  expect(of('part: ').length).toBeGreaterThan(0)
  expect(of('part: ').length).toBeLessThan(500)
  expect(of('cancel: ').map((line) => JSON.parse(line) as unknown)).toEqual([
    { status: 'cancelled', runId: 'run_1' },
  ])
  expect(of('final: ').map((line) => JSON.parse(line) as unknown)).toMatchObject([
    { reason: 'stopped', cancelReason: 'It takes too long.' },
  ])
  expect(of('report: ')).toEqual(['null'])
  expect(of('again: ')[0]).toContain('one whose run ended as cancelled (stopped)')
  expect(of('reply: ')).toEqual(['A short answer, then. {"kind":"delivered","runId":"run_2"}'])
})
