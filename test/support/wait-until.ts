import { setTimeout as delay } from 'node:timers/promises'

/** Waits for a condition, asking each 20 ms; fails after the deadline with what it was waiting for. */
export async function waitUntil(
  what: string,
  condition: () => boolean | Promise<boolean>,
  deadline = 10_000,
): Promise<void> {
  const end = Date.now() + deadline
  while (!(await condition())) {
    if (Date.now() > end) throw new Error(`Expected ${what} within ${deadline} ms`)
    await delay(20)
  }
}
