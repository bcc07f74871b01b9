// npm run simulate -- [--schedules N] [--seed S]
import { availableParallelism } from 'node:os'
import { MUTATIONS } from './mutations.js'
import { readOptions, USAGE } from './options.js'
import type { SimulateOptions } from './options.js'
import { printFailure, printJson, printTable } from './print-simulation.js'
import { runShare, runShares } from './run-shares.js'
import type { Share, ShareResult } from './share.js'

const MISUSED = 2
/** A line for whoever waits, after so many. */
const PROGRESS = 50_000

const options = understood(process.argv.slice(2))
const share: Share = {
  seed: options.seed,
  schedules: options.schedules,
  step: 1,
  replay: options.replay,
  stopsAtFirst: false,
  ...(options.mutation !== null && { mutation: options.mutation }),
}

if (options.replay !== null) report([await runShare(share)], 0)
else if (options.mutations) await runMutations()
else await runAll()

function understood(line: readonly string[]): SimulateOptions {
  try {
    return readOptions(line)
  } catch (error) {
    console.error(`${error instanceof Error ? error.message : String(error)}\nUsage: ${USAGE}`)
    process.exit(MISUSED)
  }
}

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
  if (options.json) printJson(summary)
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
    if (options.json) console.log(JSON.stringify({ mutation: name, found }))
    else
      console.log(
        `${found === null ? `NOT FOUND in ${done}` : `found in ${found.schedules}`}: ${name}${found === null ? '' : ` (${found.rule})`}`,
      )
  }
}
