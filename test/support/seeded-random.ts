/** Numbers that are the same in each run of a test: a failure names its seed, and the seed repeats it. */
export interface SeededRandom {
  /** From 0 to below 1. */
  next(): number
  /** A whole number from 0 to below `limit`. */
  below(limit: number): number
  chance(probability: number): boolean
  pick<T>(items: readonly T[]): T
  bytes(length: number): Uint8Array
}

/** All kinds of choices, made by numbers from 0 to below 1. */
export function choosingBy(next: () => number): SeededRandom {
  const below = (limit: number): number => Math.floor(next() * limit)
  return {
    next,
    below,
    chance: (probability) => next() < probability,
    pick: (items) => {
      if (items.length === 0) throw new Error('Expected something to pick from, got nothing.')
      // In range: `below` is below the length.
      return items[below(items.length)] as (typeof items)[number]
    },
    bytes: (length) => Uint8Array.from({ length }, () => below(256)),
  }
}

/** Mulberry32: small, and even enough for tests. */
export function seededRandom(seed: number): SeededRandom {
  let state = seed >>> 0
  return choosingBy(() => {
    state = (state + 0x6d2b79f5) >>> 0
    let mixed = Math.imul(state ^ (state >>> 15), state | 1)
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61)
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32
  })
}
