/**
 * Without a cache the SDK's core now and then drops a workflow task, which the time-skipping server gives out again after
 * ten seconds, and on a busy machine a start of processes takes half a minute: a test waits longer than that.
 */
const DEADLINE = 60_000

/** What is asked costs the worker and server that the test waits for: whoever waits for long asks less and less often. */
const LONGEST_PAUSE = 200
const GROWTH = 1.5

/**
 * Waits for a condition, asking after `pause` milliseconds first.
 * @returns the first answer that is not undefined or false
 */
export async function until<T>(
  fact: string,
  condition: () => T | undefined | false | Promise<T | undefined | false>,
  deadline = DEADLINE,
  pause = 10,
): Promise<T> {
  const end = Date.now() + deadline
  for (let wait = pause; ; wait = Math.min(wait * GROWTH, Math.max(pause, LONGEST_PAUSE))) {
    const answer = await condition()
    if (answer !== undefined && answer !== false) return answer
    if (Date.now() > end) throw new Error(`Expected ${fact} within ${deadline} ms.`)
    await new Promise((resolve) => setTimeout(resolve, wait))
  }
}
