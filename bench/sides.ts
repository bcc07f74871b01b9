/** The loops that are measured in turn, each round all three. */
export const SIDES = ['thread', 'ahead', 'bare'] as const
export type Side = (typeof SIDES)[number]
export type BySide<T> = Readonly<Record<Side, T>>

/** Steps of one activity where a thread runs ahead: what `runAhead: true` means. */
export const STEPS_AHEAD = 10

/**
 * Measures each side once, one right after the other. Thread and bare loop are neighbours, and run ahead is before or behind both.
 * The order changes from round to round, for the second one meets a warmer machine: within four rounds each side is as
 * often before each other one as behind it.
 */
export async function measureRound<T>(
  round: number,
  measure: (side: Side) => Promise<T>,
): Promise<BySide<T>> {
  const taken = new Map<Side, T>()
  for (const side of orderOf(round)) taken.set(side, await measure(side))
  return Object.fromEntries(taken) as BySide<T>
}

function orderOf(round: number): readonly Side[] {
  const pair: readonly Side[] = round % 2 === 0 ? ['bare', 'thread'] : ['thread', 'bare']
  return [1, 2].includes((round + 4) % 4) ? ['ahead', ...pair] : [...pair, 'ahead']
}

/** Rounds that are counted: for a look, EVERTHREAD_BENCH_ROUNDS=1. */
export function countedRounds(usual: number): number {
  const rounds = Number(process.env['EVERTHREAD_BENCH_ROUNDS'] ?? usual)
  if (Number.isInteger(rounds) && rounds >= 1) return rounds
  throw new Error(
    `Expected EVERTHREAD_BENCH_ROUNDS to be a whole number from 1, got "${process.env['EVERTHREAD_BENCH_ROUNDS']}".`,
  )
}
