import type { WorkflowHandle } from '@temporalio/client'

import type { ThreadEvent } from '../protocol/events.js'
import type { Message } from '../protocol/message.js'
import { SIGNALS } from '../protocol/messages.js'
import { listMessages } from '../store/read-messages.js'
import type { ClientContext } from './client-context.js'
import { followEvents } from './follow-events.js'
import type { FollowEvents } from './follow-events.js'
import type { NewMessage } from './new-message.js'
import { knownThread, openThread } from './open-thread.js'
import { readSnapshot } from './read-snapshot.js'
import type { RunResult } from './run-result.js'
import { sendMessage } from './send-message.js'
import { signalThread } from './signal-thread.js'
import { terminateThread } from './terminate-thread.js'
import { threadFiles } from './thread-files.js'
import type { ThreadFiles } from './thread-files.js'
import type { ThreadSnapshot } from './thread-snapshot.js'
import { workflowOf } from './thread-workflow.js'
import type { ThreadSignal } from './thread-workflow.js'
import { waitUntilIdle } from './wait-until-idle.js'
import type { WaitUntilIdle } from './wait-until-idle.js'

export interface MessagesOptions {
  /** @default 100 */
  readonly limit?: number
  /** Positions below this one: the newest of them. */
  readonly before?: number
  /** Positions above this one, from there on. */
  readonly after?: number
  /** @default false */
  readonly includeSilent?: boolean
  /** @default 0 */
  readonly maxDepth?: number
}

/** One thread. Making a handle makes no call; a thread that is not there is found out by the first one that needs it. */
export interface ThreadHandle extends ThreadFiles {
  readonly threadId: string
  /** Temporal's own handle: describe(), fetchHistory() and whatever else it can. */
  readonly workflow: WorkflowHandle
  /**
   * Accepted when it returns: kept and delivered once, also with no worker running.
   * @throws MessageRejectedError, ThreadConflictError, ThreadTerminatedError, ThreadNotFoundError, TemporalUnavailableError
   */
  send(message: string | NewMessage): Promise<{ messageId: string }>
  /** Ends the run, or only the named one, and parks the thread until a user message or `continue`. */
  stop(options?: { readonly runId?: string }): Promise<void>
  continue(): Promise<void>
  /** Refuses everything from now on, ends what is in flight, closes; children too. Repeating it does no harm. */
  terminate(options?: { readonly reason?: string }): Promise<void>
  /** From the workflow, within 2 s; else what is recorded, marked `stale`. */
  snapshot(): Promise<ThreadSnapshot>
  /** The newest ones, queued ones last as `pending`. */
  messages(options?: MessagesOptions): Promise<{ messages: readonly Message[]; hasMore: boolean }>
  /** Gap-free from a sequence on, with the text that streams; ends after `thread.closed`. */
  events(options?: FollowEvents): AsyncIterable<ThreadEvent>
  /** @throws WaitTimeoutError */
  waitUntilIdle(options?: WaitUntilIdle): Promise<RunResult>
}

export function createThreadHandle(context: ClientContext, threadId: string): ThreadHandle {
  const signal = async (named: ThreadSignal): Promise<void> => {
    const store = await context.store()
    await store.read((db) => openThread(db, threadId))
    await signalThread(context, threadId, named)
  }
  return {
    threadId,
    get workflow() {
      return workflowOf(context, threadId)
    },
    send: (message) => sendMessage(context, { threadId, message }),
    stop: ({ runId } = {}) => signal({ name: SIGNALS.stop, input: runId === undefined ? {} : { runId } }),
    continue: () => signal({ name: SIGNALS.continue }),
    terminate: ({ reason } = {}) => terminateThread(context, { threadId, reason }),
    snapshot: async () => (await readSnapshot(context, threadId)).snapshot,
    async messages(options = {}) {
      const store = await context.store()
      const { messages, hasMore } = await store.read(async (db) => {
        await knownThread(db, threadId)
        return listMessages(db, { ...options, threadId })
      })
      return { messages, hasMore }
    },
    events: (options = {}) => followEvents(context, threadId, options),
    waitUntilIdle: (options = {}) => waitUntilIdle(context, threadId, options),
    ...threadFiles(context, threadId),
  }
}
