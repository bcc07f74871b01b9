/** So many at once, for each is waiting most of its time. */
export async function eachOf<T>(
  items: readonly T[],
  work: (item: T, index: number) => Promise<void>,
  atOnce = 10,
): Promise<void> {
  const waiting = items.entries()
  const problems: unknown[] = []
  const lane = async (): Promise<void> => {
    for (const [index, item] of waiting)
      await work(item, index).catch((error: unknown) => void problems.push(error))
  }
  await Promise.all(Array.from({ length: atOnce }, lane))
  if (problems.length === 0) return
  const told = problems
    .slice(0, 5)
    .map((problem) => (problem instanceof Error ? problem.message : String(problem)))
  throw new AggregateError(problems, `${problems.length} of ${items.length} failed:\n${told.join('\n')}`)
}
