/**
 * Without a cache the SDK's core now and then drops a workflow task, which the time-skipping server gives out again after
 * ten seconds: a test waits longer than that.
 */
const DEADLINE = 20_000

/**
 * Waits for a condition, asking every few milliseconds: a `pause` is for those whose asking costs a server something.
 * @returns the first answer that is not undefined or false
 */
export async function until<T>(
  fact: string,
  condition: () => T | undefined | false | Promise<T | undefined | false>,
  deadline = DEADLINE,
  pause = 10,
): Promise<T> {
  const end = Date.now() + deadline
  for (;;) {
    const answer = await condition()
    if (answer !== undefined && answer !== false) return answer
    if (Date.now() > end) throw new Error(`Expected ${fact} within ${deadline} ms.`)
    await new Promise((resolve) => setTimeout(resolve, pause))
  }
}
