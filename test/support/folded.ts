import { isDeepStrictEqual } from 'node:util'
import type { ThreadHandle } from '../../src/client/index.js'
import { fold } from '../../src/fold/index.js'
import type { FoldedThread } from '../../src/fold/index.js'
import { factsOf } from './thread-facts.js'

/** How long a thread may still move while it is compared: milliseconds. */
const PATIENCE = 5_000

/**
 * How the fold of all events of a thread differs from its snapshot; null: they are equal. What a run has done since the last event is
 * in no event, so the steps of a run under way are not compared.
 */
export async function foldProblem(thread: ThreadHandle): Promise<string | null> {
  const until = Date.now() + PATIENCE
  for (;;) {
    const problem = await compare(thread)
    if (problem === null || Date.now() > until) return problem
    await new Promise((resolve) => setTimeout(resolve, 50))
  }
}

async function compare(thread: ThreadHandle): Promise<string | null> {
  const snapshot = await thread.snapshot()
  const folded = comparable(fold(await factsOf(thread)))
  const expected = comparable(fold(snapshot, []))
  if (isDeepStrictEqual(folded, expected)) return null
  const differing = Object.keys(expected).filter(
    (key) => !isDeepStrictEqual(folded[key as keyof typeof folded], expected[key as keyof typeof expected]),
  )
  const shown = (from: object) =>
    JSON.stringify(Object.fromEntries(Object.entries(from).filter(([key]) => differing.includes(key))))
  return `${thread.threadId}${snapshot.stale ? ' (recorded)' : ''}: folded ${shown(folded)}, snapshot ${shown(expected)}`
}

/** What is compared: the part of a state that a snapshot has, too. */
export function comparable({ run, pending, queue: _queue, ...state }: FoldedThread) {
  return {
    ...state,
    run: run === null ? null : { runId: run.runId, side: run.side },
    pending: pending.toSorted((one, other) => (one.id < other.id ? -1 : 1)),
  }
}
