/** What can be under way at a time without waiting for each other. */
const AT_A_TIME = 8

/** In the order of the items; a few at a time. */
export async function several<T, R>(
  items: readonly T[],
  work: (item: T) => Promise<R>,
): Promise<readonly R[]> {
  const answers: R[] = []
  for (let from = 0; from < items.length; from += AT_A_TIME)
    answers.push(...(await Promise.all(items.slice(from, from + AT_A_TIME).map(work))))
  return answers
}
