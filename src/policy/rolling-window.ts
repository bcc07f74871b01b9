/**
 * A rolling minute: what was used in it, and its time.
 * Owns: which uses count, when they no longer do, and how a jump of the clock is noticed.
 * Does not own: where the uses are stored (`store/limits`), and whose they are.
 *
 * Uses are counted by whole seconds, and each counts for 60 to 61 seconds. Invariants:
 * - No 60 seconds have more uses than the limit, however the uses are spread.
 * - A jump of the clock, in whatever direction, gives nothing back: a process that has lived through it counts by the time
 *   before the jump, too, for as long as that matters. What steps add up to in a minute is noticed from two seconds on. A process
 *   that begins after a jump forward cannot know of it.
 */

/** Seconds. */
const WINDOW = 60

/** Seconds for which a use counts at most. */
const LONGEST = WINDOW + 1

/** Seconds by which the clock and the time that has passed may differ: answers of a database on the way. */
const TOLERANCE = 2

/** Enough for a minute by two clocks. */
const KEPT_SECONDS = 128

/** The uses of seconds, in the order in which they were counted. */
export type SecondCounts = readonly (readonly [second: number, amount: number])[]

/** A moment; seconds since 1970, with fractions. */
export interface RollingTime {
  readonly at: number
  /** What the clock would say now if it had not jumped forward, for each jump of the last minute. */
  readonly unmoved: readonly number[]
  /** The clock has not jumped in the last minute: what was used later than now was used before a jump back long ago. */
  readonly isSteady: boolean
}

/** Makes moments of the readings of one clock, which may jump, and of the time that has passed, which does not. */
export interface RollingClock {
  /** Both in seconds; `passed` only ever grows, from any beginning. */
  read(at: number, passed: number): RollingTime
}

export function createRollingClock(): RollingClock {
  let base: { readonly at: number; readonly passed: number } | null = null
  let changedAt = 0
  let jumps: readonly { readonly offset: number; readonly until: number }[] = []
  return {
    read(at, passed) {
      if (base === null) changedAt = passed
      const expected = base === null ? at : base.at + passed - base.passed
      const hasJumped = Math.abs(at - expected) > TOLERANCE
      if (hasJumped) changedAt = passed
      if (hasJumped && at > expected)
        jumps = [...jumps, { offset: expected - passed, until: passed + LONGEST }]
      if (base === null || hasJumped || passed - base.passed > LONGEST) base = { at, passed }
      jumps = jumps.filter(({ until }) => until > passed)
      return {
        at,
        unmoved: jumps.map(({ offset }) => offset + passed),
        isSteady: passed - changedAt > LONGEST,
      }
    },
  }
}

/** What a limit allows. */
export type Allowance =
  | { readonly kind: 'allowed'; /** Uses that are left. */ readonly left: number }
  | {
      readonly kind: 'exhausted'
      /** Seconds until enough of the uses no longer count; above 0. */
      readonly wait: number
    }

/** Whether one more use is within the limit. */
export function allowanceOf(counts: SecondCounts, time: RollingTime, limit: number): Allowance {
  const active = counts
    .map(([second, amount]) => ({ amount, wait: secondsLeft(second, time) }))
    .filter(({ wait }) => wait > 0)
    .toSorted((one, other) => one.wait - other.wait)
  let used = active.reduce((sum, { amount }) => sum + amount, 0)
  if (used < limit) return { kind: 'allowed', left: limit - used }
  for (const { amount, wait } of active) {
    used -= amount
    if (used < limit) return { kind: 'exhausted', wait }
  }
  return { kind: 'exhausted', wait: LONGEST }
}

/** Seconds for which the uses of a second still count; 0: they do not. */
function secondsLeft(second: number, { at, unmoved, isSteady }: RollingTime): number {
  if (second > Math.floor(at)) return isSteady && second > at + TOLERANCE ? 0 : LONGEST
  return Math.max(0, ...[at, ...unmoved].map((time) => leftAt(second, time)))
}

function leftAt(second: number, time: number): number {
  const left = second + LONGEST - time
  return left > LONGEST ? 0 : left
}

/** The counts with these uses added; the oldest are dropped. */
export function countUses(counts: SecondCounts, { at }: RollingTime, amount: number): SecondCounts {
  const now = Math.floor(at)
  const [last, before] = [counts.at(-1), counts.slice(0, -1)]
  if (last !== undefined && last[0] === now) return [...before, [now, last[1] + amount]]
  return [...counts, [now, amount] as const].slice(-KEPT_SECONDS)
}
