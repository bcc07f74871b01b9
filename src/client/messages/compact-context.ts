/** The command that asks for a compaction of a thread's context. The next step carries it out; the thread is not woken for it. */
import { randomUUID } from 'node:crypto'
import { ConfigError } from '../../protocol/errors.js'
import { LIMITS } from '../../protocol/limits.js'
import type { Side } from '../../protocol/plan.js'
import { nowMicros } from '../../protocol/time.js'
import { withoutUndefined } from '../../protocol/values.js'
import { requestCompaction } from '../../store/messages/context-boundaries.js'
import { requireOpenThread } from '../../store/threads/open-threads.js'
import type { ClientContext } from '../client-context.js'
import { carryOut } from '../once.js'

export interface CompactOptions {
  /** What the summary must keep: at most 2,000 characters. */
  readonly focus?: string
  /** The side whose context it is. @default 'a' */
  readonly side?: Side
}

/** `requested`: the next step of the side begins with it. `no_op`: one is requested already. */
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
  })
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
