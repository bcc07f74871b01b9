/** One thread of a simulation: runs its share of the schedules, with the logic as it is or broken on purpose. */
import { parentPort, workerData } from 'node:worker_threads'
import { runChoices, runSeed } from './lives/schedule.js'
import { shrink } from './lives/shrink.js'
import type { Failure, Share, ShareResult } from './share.js'

/** Told to the main thread after so many. */
const BATCH = 2000

const { seed, schedules, step, replay, stopsAtFirst, stop = new Int32Array(1) } = workerData as Share
const seen = new Map<string, number>()
let failure: Failure | null = null
let done = 0

if (replay !== null) {
  const { broken, story } = await runChoices(replay, { seen, tells: true })
  done = 1
  if (broken !== null) failure = { seed: null, broken, choices: replay, story }
}

for (let at = seed; replay === null && at < seed + schedules && Atomics.load(stop, 0) === 0; at += step) {
  const outcome = await runSeed(at, { seen })
  done += 1
  if (outcome.broken !== null) {
    Atomics.store(stop, 0, 1)
    failure = await shortest(at, { broken: outcome.broken, choices: outcome.choices })
    break
  }
  if (done % BATCH === 0) parentPort?.postMessage({ kind: 'progress', done: BATCH })
}

async function shortest(at: number, found: Pick<Failure, 'broken' | 'choices'>): Promise<Failure> {
  if (stopsAtFirst) return { ...found, seed: at, story: [] }
  const choices = await shrink(found)
  const { broken, story } = await runChoices(choices, { seen: new Map(), tells: true })
  return { seed: at, choices, story, broken: broken ?? found.broken }
}

const result: ShareResult = { kind: 'result', done, failure, seen: [...seen] }
parentPort?.postMessage(result)
