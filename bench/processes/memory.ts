import { setTimeout as delay } from 'node:timers/promises'

/** Bytes of this process. */
export interface Memory {
  /** Of all threads of the process, as the operating system counts it. */
  readonly resident: number
  /** Of JavaScript's main thread, after a collection. */
  readonly heap: number
}

/** What is left when everything that can be collected is. */
export async function memoryNow(): Promise<Memory> {
  for (let n = 0; n < 3; n += 1) {
    globalThis.gc?.()
    await delay(300)
  }
  const { rss, heapUsed } = process.memoryUsage()
  return { resident: rss, heap: heapUsed }
}

/** The largest resident memory from its beginning to its end. */
export interface MemoryWatch {
  end(): number
}

export function watchMemory(): MemoryWatch {
  let largest = process.memoryUsage.rss()
  const look = (): void => void (largest = Math.max(largest, process.memoryUsage.rss()))
  const timer = setInterval(look, 100)
  return {
    end() {
      clearInterval(timer)
      look()
      return largest
    },
  }
}
