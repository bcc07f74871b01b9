import { LIMITS } from '../../src/protocol/limits.js'
import { choosingBy, seededRandom } from '../../test/support/seeded-random.js'
import type { Broken } from '../world.js'
import { World } from '../world.js'
import { live } from './live.js'

/** A schedule is a list of choices in thousandths; beyond its end nothing unusual is chosen. */
export type Choices = readonly number[]

export interface Outcome {
  readonly broken: Broken | null
  readonly choices: Choices
  readonly story: readonly string[]
}

/** Bounds that a life of some dozen steps meets; the real ones hold for thousands. */
const SMALL_LIMITS = {
  signalsPerRun: 10,
  queuedItems: 8,
  queuedToolsPerStep: 3,
  effects: 4,
  frameDepth: 3,
  openChildren: 9,
  idleHistoryEvents: 60,
  closedChildren: 3,
}
Object.assign(LIMITS, SMALL_LIMITS)
// Errors are values here, and nobody reads where they were made.
Error.stackTraceLimit = 0

interface Options {
  /** Counts what happens. */
  readonly seen: Map<string, number>
  readonly tells?: boolean
}

/** The schedule of a seed. */
export function runSeed(seed: number, options: Options): Promise<Outcome> {
  const random = seededRandom(seed)
  return run(() => Math.floor(random.next() * 1000), options)
}

/** The same schedule, or a part of it. */
export function runChoices(choices: Choices, options: Options): Promise<Outcome> {
  let used = 0
  return run(() => choices[used++] ?? 999, options)
}

async function run(choose: () => number, { seen, tells = false }: Options): Promise<Outcome> {
  const choices: number[] = []
  const random = choosingBy(() => {
    const choice = choose()
    choices.push(choice)
    return choice / 1000
  })
  const story: string[] | null = tells ? [] : null
  const world = new World(random, { seen, story })
  try {
    await live(world)
  } catch (error) {
    world.breaks(
      'the simulation or the code throws',
      error instanceof Error ? (error.stack ?? error.message) : String(error),
    )
  }
  return { broken: world.broken[0] ?? null, choices, story: story ?? [] }
}
