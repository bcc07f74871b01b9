/** The value that this part of all is not above: 0.99 for p99, 1 for the largest. */
export function percentile(values: readonly number[], part: number): number {
  const sorted = values.toSorted((one, other) => one - other)
  const value = sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * part))]
  if (value === undefined) throw new Error('Expected values to take a percentile of.')
  return value
}
