import { execFile } from 'node:child_process'
import { fileURLToPath } from 'node:url'

import { expect, test } from 'vitest'

const PROJECT = fileURLToPath(new URL('../..', import.meta.url))
const HOOKS = ['./test/store/processes/resolve-typescript.ts', './test/chaos/resolve-source.ts']
/** What a run of so many kills takes on a busy machine, and no more than that. */
const PATIENCE = 180_000

test('K-9 a short chaos of one seed breaks no promise', { timeout: PATIENCE }, async () => {
  const { code, output, problems } = await runChaos(
    '--kills',
    '15',
    '--seed',
    '7',
    '--lanes',
    '6',
    '--no-wait',
  )
  const figures = new Map(
    output
      .split('\n')
      .filter((line) => line !== '')
      .map((line) => JSON.parse(line) as { readonly figure: string; readonly value: number })
      .map(({ figure, value }) => [figure, value]),
  )
  expect(problems.split('\n').filter((line) => /^(lost|doubled|repeated|stuck|wrong) /.test(line))).toEqual(
    [],
  )
  expect(code).toBe(0)
  for (const none of ['lost', 'doubled', 'repeated', 'stuck', 'wrong'])
    expect([none, figures.get(none)]).toEqual([none, 0])
  expect(figures.get('kills')).toBe(15)
  expect(figures.get('messages')).toBeGreaterThan(10)
})

interface Ran {
  readonly code: number
  readonly output: string
  readonly problems: string
}

function runChaos(...line: readonly string[]): Promise<Ran> {
  const hooks = HOOKS.flatMap((hook) => ['--import', hook])
  return new Promise((resolve) => {
    const run = [...hooks, 'chaos/chaos.ts', ...line, '--heartbeat', '5s', '--json']
    execFile(process.execPath, run, { cwd: PROJECT }, (error, output, problems) => {
      const code = error === null ? 0 : Number(error.code ?? -1)
      resolve({ code, output, problems })
    })
  })
}
