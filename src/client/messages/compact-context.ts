/**
 * The command that asks for a compaction of a thread's context. An idle thread carries it out at once, as an effect of the runtime; else
 * the next step does.
 */
import { randomUUID } from 'node:crypto'
import { betweenRunsId } from '../../protocol/ids.js'
import { ConfigError } from '../../protocol/errors.js'
import { LIMITS } from '../../protocol/limits.js'
import type { Side } from '../../protocol/plan.js'
import { nowMicros } from '../../protocol/time.js'
import { withoutUndefined } from '../../protocol/values.js'
import { SIGNALS } from '../../protocol/messages.js'
import type { Operations } from '../../protocol/messages.js'
import { lastBoundary, requestCompaction } from '../../store/messages/context-boundaries.js'
import { requireOpenThread } from '../../store/threads/open-threads.js'
import { lastRun } from '../../store/threads/runs.js'
import type { ClientContext } from '../client-context.js'
import { carryOut } from '../once.js'
import { signalThread } from '../thread-workflow.js'

export interface CompactOptions {
  /** What the summary must keep: at most 2,000 characters. */
  readonly focus?: string
  /** The side whose context it is. @default 'a' */
  readonly side?: Side
}

/** `requested`: it is made now if the thread is idle, else the next step of the side begins with it. `no_op`: one is requested already. */
export interface CompactionRequested {
  readonly status: 'requested' | 'no_op'
}

/** @throws ConfigError, ThreadNotFoundError, ThreadTerminatedError, ThreadConflictError */
export async function compactContext(
  context: ClientContext,
  threadId: string,
  { focus, side = 'a' }: CompactOptions,
): Promise<CompactionRequested> {
  const problem = focusProblem(focus) ?? sideProblem(side)
  if (problem !== undefined) throw new ConfigError([problem])
  return carryOut(context, {
    ...{ threadId, name: 'compact', content: withoutUndefined({ focus, side }) },
    store: async (tx) => {
      await requireOpenThread(tx, threadId)
      const request = { threadId, side, id: randomUUID(), focus: focus ?? null, now: nowMicros() }
      return { status: (await requestCompaction(tx, request)) ? 'requested' : 'no_op' }
    },
    announce: () => wake(context, threadId, side),
  })
}

/** Schedules the effect for the request that waits. A thread that works does nothing in it, because its step has done it. */
async function wake(context: ClientContext, threadId: string, side: Side): Promise<void> {
  const store = await context.store()
  const [run, boundary] = await store.read((db) =>
    Promise.all([lastRun(db, threadId), lastBoundary(db, threadId, side)]),
  )
  // Done meanwhile, or there is no conversation yet.
  if (run === null || boundary?.kind !== 'request') return
  const id = betweenRunsId(run.number, run.steps, boundary.operation)
  const input: Operations = { operations: [{ kind: 'schedule_effect', id, dueAt: 0 }] }
  await signalThread(context, threadId, { name: SIGNALS.operations, input })
}

function focusProblem(focus: unknown): string | undefined {
  if (focus === undefined) return undefined
  if (typeof focus === 'string' && focus.trim() !== '' && focus.length <= LIMITS.compactionFocus)
    return undefined
  const got = typeof focus === 'string' ? `${focus.length} characters` : typeof focus
  return `Expected focus to be a text of 1 to ${LIMITS.compactionFocus} characters, got ${got}: leave it out, or say less.`
}

function sideProblem(side: unknown): string | undefined {
  return side === 'a' || side === 'b'
    ? undefined
    : `Expected side to be 'a' or 'b', got ${JSON.stringify(side)}.`
}
