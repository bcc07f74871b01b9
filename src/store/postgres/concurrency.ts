import { createWaitingLine } from '../waiting-line.js'

/** Where it begins: a worker that has just started meets all that waited for it at once. */
const FIRST = 4
/** For each transaction that won, shared by those inside. */
const GROWTH = 0.05
const SHRINK = 0.8
/** Milliseconds: one that hangs keeps nobody out for longer. */
const LEASE = 1_000

interface Limits {
  /** Side by side. */
  readonly most: number
  /** Whether that is how a transaction fails which lost to another one. */
  readonly isLoss: (error: unknown) => boolean
}

/** @throws StoreError `busy` at the deadline (milliseconds of `performance.now`), and what `work` throws */
type InTurn = <T>(work: () => Promise<T>, deadline: number) => Promise<T>

/**
 * As many at a time as do not lose to each other: a fifth less when some lose, slowly more while all win. Those that
 * meet take longer side by side than one after the other; those that do not may wait for a database far away together.
 */
export function createConcurrency({ most, isLoss }: Limits): InTurn {
  const line = createWaitingLine(WAITED_TOO_LONG)
  let allowed = Math.min(FIRST, most)
  let inside = 0
  let shrunk = 0

  function letIn(): void {
    while (inside < Math.floor(allowed)) {
      const next = line.next()
      if (next === undefined) return
      inside += 1
      next()
    }
  }

  /** Answers how to leave. */
  function lease(): () => void {
    let isInside = true
    const leave = (): void => {
      if (!isInside) return
      isInside = false
      clearTimeout(timer)
      inside -= 1
      letIn()
    }
    const timer = setTimeout(leave, LEASE)
    return leave
  }

  return async (work, deadline) => {
    const turn = line.wait(deadline)
    letIn()
    await turn
    const leave = lease()
    const before = shrunk
    try {
      const result = await work()
      allowed = Math.min(most, allowed + GROWTH / allowed)
      return result
    } catch (error) {
      // Those that were inside with one that has lost lose with it: that is one sign, not many.
      if (isLoss(error) && shrunk === before) {
        shrunk += 1
        allowed = Math.max(1, allowed * SHRINK)
      }
      throw error
    } finally {
      leave()
    }
  }
}

const WAITED_TOO_LONG =
  'Expected a turn to write within 30 s, but earlier writes of this process did not end: the database is slow, or away'
