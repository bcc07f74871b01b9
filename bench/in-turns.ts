/** Does `work` for 0 to `count` - 1, so many at a time; answers what it answered, in order. */
export async function inTurns<T>(
  { count, atOnce }: { readonly count: number; readonly atOnce: number },
  work: (n: number) => Promise<T>,
): Promise<readonly T[]> {
  const done: T[] = []
  let next = 0
  async function line(): Promise<void> {
    for (let n = next++; n < count; n = next++) done[n] = await work(n)
  }
  await Promise.all(Array.from({ length: Math.min(atOnce, count) }, line))
  return done
}
