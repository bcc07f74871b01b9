import type { JsonObject } from '../protocol/values.js'
import type { Budgets } from './budget.js'
import type { Permissions } from './permissions.js'

/**
 * What belongs to a run and not to its work: who it is, where it comes from, what binds it. It is JSON, and travels with the work: a
 * subagent has the session, trace, workspace and metadata of its parent. What is said, asked for or answered is in messages and
 * actions, and has no field here.
 */
export interface RunContext {
  /** Unique over all threads: the id of the thread, a colon, and the id of the run within it. */
  readonly runId: string
  /** Groups the runs of a tree of threads: the id of its root thread. */
  readonly sessionId: string
  /** The trace of the message that began the run; null: it is not traced. */
  readonly traceId: string | null
  /** Where the work takes place, as the session says. */
  readonly workspaceUri: string | null
  /** The run that started this thread as a subagent; null for a root thread. */
  readonly parentRunId: string | null
  /** The agents that the work has come through, the root's first, this one last. */
  readonly agentChain: readonly string[]
  /** The rules of the thread, which a subagent has from its parent, and of the messages that the run has taken. */
  readonly permissions: Permissions
  /** What the thread and the tree were created with; null: none. `thread.budget()` has those of all sources, and what is used. */
  readonly budget: Budgets | null
  /** It was stopped or terminated, or is about to be. */
  readonly canceled: boolean
  /** The metadata of the session. */
  readonly metadata: JsonObject | null
}
