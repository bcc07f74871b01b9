import { hostileChoices } from './hostile-values.js'
import type { HostileChoices } from './hostile-values.js'

/** A failure names the number of its input, and the seed repeats it. */
const SEED = Number(process.env['EVERTHREAD_HOSTILE_SEED'] ?? 1)
/** Of all classes: every run of the tests makes a tenth of what the guarantee was shown with. */
const INPUTS = Number(process.env['EVERTHREAD_HOSTILE_INPUTS'] ?? 1_000)

const PER_CENT = {
  signals: 30,
  updates: 10,
  starts: 5,
  answers: 15,
  results: 15,
  files: 10,
  bodies: 15,
} as const
export type InputClass = keyof typeof PER_CENT

/** How many inputs a class gets. */
export function countOf(name: InputClass): number {
  return Math.ceil((INPUTS * PER_CENT[name]) / 100)
}

/** One input, by its number within all of its class. */
export interface Numbered<T> {
  readonly number: number
  readonly input: T
}

/** The inputs of a class, in groups: one for each thread. */
export function inputGroups<T>(
  name: InputClass,
  size: number,
  make: (random: HostileChoices) => T,
): readonly (readonly Numbered<T>[])[] {
  const offset = Object.keys(PER_CENT).indexOf(name) * 1_000_000
  const inputs = Array.from({ length: countOf(name) }, (_, index) => ({
    number: index,
    input: make(hostileChoices(SEED, offset + index)),
  }))
  const groups = Math.ceil(inputs.length / size)
  return Array.from({ length: groups }, (_, group) => inputs.slice(group * size, (group + 1) * size))
}

/** What became of the inputs of a class, by its name, counted. */
export interface Outcomes {
  count(outcome: string): void
  /** Prints them. @returns how many there were */
  tell(): number
}

export function countOutcomes(name: InputClass): Outcomes {
  const counts = new Map<string, number>()
  return {
    count: (outcome) => void counts.set(outcome, (counts.get(outcome) ?? 0) + 1),
    tell() {
      const sorted = [...counts].toSorted(([, one], [, other]) => other - one)
      const total = sorted.reduce((sum, [, count]) => sum + count, 0)
      const words = sorted.map(([outcome, count]) => `${outcome} ${count}`).join(', ')
      process.stdout.write(`hostile ${name}: ${total} inputs, seed ${SEED}: ${words}\n`)
      return total
    },
  }
}
