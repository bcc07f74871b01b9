import { setTimeout as delay } from 'node:timers/promises'

import { now } from '../clock.js'
import { processorTime } from '../processor-time.js'

/** How often each of many loops has begun a step, and when. */
export interface Tally {
  /** So many loops, of so many steps each, are awaited. */
  begin(loops: number, steps: number): void
  /** A loop begins a step; whether that is one of its steps, not the beginning after its last. */
  mark(loop: string): boolean
  /** Resolves when each has begun the step after its last. @throws after three minutes */
  done(): Promise<void>
  rate(of: Window): Rate
  /** When the last mark was made, on the clock of the machine. */
  last(): number
}

/** While all loops were at it, or in the middle half of all their steps: some may end before others begin. */
export type Window = 'all_at_it' | 'middle'

export interface Rate {
  readonly stepsPerSecond: number
  /** Milliseconds of processor time of this process for a step. */
  readonly processor: number
}

interface Mark {
  readonly at: number
  readonly processor: number
}

const PATIENCE = 180_000

export function createTally(): Tally {
  let marks: number[] = []
  let counts = new Map<string, number>()
  let awaited = { loops: 0, steps: 0 }
  /** From the first step of the last that began to the end of the first that ended. */
  let window: { from?: Mark; to?: Mark } = {}
  let middle: { from?: Mark; to?: Mark } = {}
  let finished = 0
  let resolve = (): void => {}
  let all = Promise.resolve()

  return {
    begin(loops, steps) {
      marks = []
      counts = new Map()
      window = {}
      middle = {}
      finished = 0
      awaited = { loops, steps }
      all = new Promise((done) => (resolve = done))
    },
    mark(loop) {
      const at = now()
      const count = (counts.get(loop) ?? 0) + 1
      counts.set(loop, count)
      marks.push(at)
      const quarter = Math.ceil((awaited.loops * (awaited.steps + 1)) / 4)
      if (marks.length === quarter) middle.from = { at, processor: processorTime() }
      if (marks.length === 3 * quarter) middle.to = { at, processor: processorTime() }
      if (count === 1 && counts.size === awaited.loops) window.from = { at, processor: processorTime() }
      if (count <= awaited.steps) return true
      window.to ??= { at, processor: processorTime() }
      finished += 1
      if (finished === awaited.loops) resolve()
      return false
    },
    async done() {
      const late = delay(PATIENCE, 'late' as const, { ref: false })
      if ((await Promise.race([all, late])) === 'late')
        throw new Error(`Expected ${awaited.loops} loops to end, got the end of ${finished}.`)
    },
    rate(of) {
      const { from, to } = of === 'middle' ? middle : window
      if (from === undefined || to === undefined || from.at >= to.at)
        throw new Error('Expected a time at which all loops are at it: take more steps.')
      const steps = marks.filter((at) => at > from.at && at <= to.at).length
      return {
        stepsPerSecond: (steps * 1000) / (to.at - from.at),
        processor: (to.processor - from.processor) / steps,
      }
    },
    last: () => marks.at(-1) ?? Number.NaN,
  }
}
