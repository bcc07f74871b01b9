import type { SeededRandom } from './seeded-random.js'

/** Choices that a property test makes, in thousandths; when they are used up, nothing unusual happens any more. */
export function choices(thousandths: readonly number[]): SeededRandom {
  let used = 0
  const next = (): number => (thousandths[used++] ?? 999) / 1000
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
