// npm run simulate -- [--schedules N] [--seed S] [--mutation NAME] [--json] | --replay WORD | --mutations
import { availableParallelism } from 'node:os'
import { parseArgs } from 'node:util'
import { MUTATIONS } from './mutations.js'
import { printFailure, printJson, printTable } from './print-simulation.js'
import { runShare, runShares } from './run-shares.js'
import { choicesOf } from './share.js'
import type { Share, ShareResult } from './share.js'

/** A line for whoever waits, after so many. */
const PROGRESS = 50_000

const { values } = parseArgs({
  options: {
    schedules: { type: 'string', default: '10000' },
    seed: { type: 'string', default: '1' },
    replay: { type: 'string' },
    mutation: { type: 'string' },
    mutations: { type: 'boolean', default: false },
    json: { type: 'boolean', default: false },
  },
})
const share: Share = {
  seed: whole(values.seed, '--seed'),
  schedules: whole(values.schedules, '--schedules'),
  step: 1,
  replay: null,
  stopsAtFirst: false,
  ...(values.mutation === undefined ? {} : { mutation: values.mutation }),
}

if (values.replay !== undefined) report([await runShare({ ...share, replay: choicesOf(values.replay) })], 0)
else if (values.mutations) await runMutations()
else await runAll()

async function runAll(): Promise<void> {
  const threads = availableParallelism()
  const began = performance.now()
  const stop = new Int32Array(new SharedArrayBuffer(4))
  const shares = Array.from({ length: threads }, (_, index) => ({
    ...share,
    stop,
    seed: share.seed + index,
    schedules: share.schedules - index,
    step: threads,
  }))
  let done = 0
  const results = await runShares(shares, (more) => {
    done += more
    if (done % PROGRESS === 0) console.error(`${done} schedules`)
  })
  report(results, (performance.now() - began) / 1000)
}

function report(results: readonly ShareResult[], seconds: number): void {
  const failure = results.map((result) => result.failure).find((found) => found !== null)
  const summary = { seed: share.seed, results, seconds, failed: failure !== undefined }
  if (values.json) printJson(summary)
  else printTable(summary)
  if (failure === undefined) return
  printFailure(failure)
  process.exitCode = 1
}

/** Each known fault has to be found, or the simulator proves nothing. */
async function runMutations(): Promise<void> {
  const results = await runShares(
    MUTATIONS.map(({ name }) => ({ ...share, mutation: name, stopsAtFirst: true })),
  )
  for (const [index, { name }] of MUTATIONS.entries()) {
    const { failure = null, done = 0 } = results[index] ?? {}
    if (failure === null) process.exitCode = 1
    const found = failure === null ? null : { schedules: done, rule: failure.broken.rule }
    if (values.json) console.log(JSON.stringify({ mutation: name, found }))
    else
      console.log(
        `${found === null ? `NOT FOUND in ${done}` : `found in ${found.schedules}`}: ${name}${found === null ? '' : ` (${found.rule})`}`,
      )
  }
}

function whole(text: string, option: string): number {
  const number = Number(text)
  if (Number.isSafeInteger(number) && number >= 1) return number
  throw new Error(`Expected a whole number from 1 for ${option}, got "${text}".`)
}
