import { execFile } from 'node:child_process'
import { fileURLToPath } from 'node:url'

import { expect, test } from 'vitest'

const PROJECT = fileURLToPath(new URL('../..', import.meta.url))
const HOOKS = ['./test/store/processes/resolve-typescript.ts', './test/chaos/resolve-source.ts']
const KILLS = 6
/** Seconds without an event of any thread: then what has not come to its end is stuck, and named. */
const PATIENCE = 45
/** Milliseconds of the whole, two minutes on a machine with other work: behind them the driver is told to end, and says what it was at. */
const LONGEST = 300_000

test('K-9 a short chaos of one seed breaks no promise', { timeout: LONGEST + 10_000 }, async () => {
  const line = `--kills ${KILLS} --seed 58 --lanes 4 --patience ${PATIENCE} --heartbeat 5s --no-wait --json`
  const { code, output, problems } = await runChaos(line.split(' '))
  expect(problems.split('\n').filter((said) => /^(lost|doubled|repeated|stuck|wrong) /.test(said))).toEqual(
    [],
  )
  expect(problems.trim().split('\n').at(-1)).toBe('chaos: came to its end, and found nothing')
  expect(code).toBe(0)
  const figures = figuresOf(output)
  for (const none of ['lost', 'doubled', 'repeated', 'stuck', 'wrong'])
    expect([none, figures.get(none)]).toEqual([none, 0])
  expect(figures.get('kills')).toBe(KILLS)
  expect(figures.get('messages')).toBeGreaterThan(10)
  expect(figures.get('by_http')).toBeGreaterThan(100)
  expect(figures.get('queue_full')).toBeGreaterThan(0)
})

function figuresOf(output: string): ReadonlyMap<string, number> {
  const lines = output.split('\n').filter((line) => line !== '')
  // As the driver prints them.
  const figures = lines.map((line) => JSON.parse(line) as { readonly figure: string; readonly value: number })
  return new Map(figures.map(({ figure, value }) => [figure, value]))
}

interface Ran {
  readonly code: number
  readonly output: string
  readonly problems: string
}

function runChaos(line: readonly string[]): Promise<Ran> {
  const run = [...HOOKS.flatMap((hook) => ['--import', hook]), 'chaos/chaos.ts', ...line]
  return new Promise((resolve) => {
    execFile(process.execPath, run, { cwd: PROJECT, timeout: LONGEST }, (error, output, problems) => {
      const code = error === null ? 0 : Number(error.code ?? -1)
      resolve({ code, output, problems })
    })
  })
}
