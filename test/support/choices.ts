import { choosingBy } from './seeded-random.js'
import type { SeededRandom } from './seeded-random.js'

/** Choices that a property test makes, in thousandths; when they are used up, nothing unusual happens any more. */
export function choices(thousandths: readonly number[]): SeededRandom {
  let used = 0
  return choosingBy(() => (thousandths[used++] ?? 999) / 1000)
}
