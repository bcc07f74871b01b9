import { createMutex } from '../mutex.js'
import type { Mutex } from '../mutex.js'

/** Lines of those who want the same thing. */
export interface Lanes {
  /** Waits in line; answers how to leave it. @throws StoreError `busy` at the deadline */
  enter(name: string, deadline: number): Promise<() => void>
}

export function createLanes(): Lanes {
  const lanes = new Map<string, { readonly mutex: Mutex; users: number }>()

  return {
    async enter(name, deadline) {
      const lane = lanes.get(name) ?? { mutex: createMutex(), users: 0 }
      lanes.set(name, lane)
      lane.users += 1
      const forget = (): void => {
        lane.users -= 1
        if (lane.users === 0) lanes.delete(name)
      }
      try {
        await lane.mutex.acquire(deadline)
      } catch (error) {
        forget()
        throw error
      }
      return () => {
        lane.mutex.release()
        forget()
      }
    },
  }
}
