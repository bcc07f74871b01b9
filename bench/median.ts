/** The middle value, which a burst of other work on the machine does not move. */
export function median(values: readonly number[]): number {
  const sorted = values.toSorted((left, right) => left - right)
  const middle = Math.floor(sorted.length / 2)
  const upper = sorted[middle]
  const lower = sorted[sorted.length % 2 === 0 ? middle - 1 : middle]
  if (upper === undefined || lower === undefined) throw new Error('Expected values to take the median of.')
  return (lower + upper) / 2
}
