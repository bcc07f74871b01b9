import type { ThreadState } from '../../definitions/thread-state.js'
import type { AttachmentRef } from '../../protocol/message.js'
import type { ThreadOperation } from '../../protocol/operations.js'
import type { Side } from '../../protocol/plan.js'
import { appendEvents } from '../../store/events.js'
import type { Store, Writer } from '../../store/store.js'
import { findThread } from '../../store/threads.js'
import { createCallGate } from './call-gate.js'
import { createFileMembers } from './file-members.js'
import { createFilesOverlay } from './files-overlay.js'
import { createMessagesOverlay } from './messages-overlay.js'
import { resolveAttachments } from './resolve-attachments.js'
import type { GivenAttachment } from './resolve-attachments.js'
import { openRunContext } from './run-context.js'
import { createThreadState } from './thread-state-members.js'
import { createValuesOverlay } from './values-overlay.js'

export interface BufferedStateOptions {
  readonly store: Store
  readonly threadId: string
  /** Name of the active agent. */
  readonly agent: string
  /** The workflow's time in milliseconds. */
  readonly now: number
  readonly run: number
  readonly step: number
  readonly side: Side
  /** Ids of what the call writes are made from it: they are the same in each attempt. */
  readonly callId: string
  readonly execution: NonNullable<ThreadState['execution']>
}

/** What the workflow has to do about a call, besides its outcome. */
export interface StateEffects {
  readonly operations: readonly ThreadOperation[]
  /** Attachments whose path somebody else has since taken: the path that `attach` gave, and the one they have. */
  readonly moved: ReadonlyMap<string, string>
}

/**
 * The state that a tool gets, and what it wrote (T9). Until `commit` only the call itself sees that; bytes of files go
 * to the blob store at once, where nothing names them before.
 */
export interface BufferedState {
  readonly state: ThreadState
  /**
   * Files of the call's result: new ones are written as those of a queued message, others must be there. Before `close`.
   * @throws a sentence on what is wrong with one of them
   */
  readonly attach: (files: readonly GivenAttachment[]) => Promise<readonly AttachmentRef[]>
  /** From now on every member throws, and what the tool left running changes nothing. */
  readonly close: () => void
  /** What is not JSON in the context: the call has failed with it, and `commit` leaves the context as it was. Closes. */
  readonly contextProblem: () => string | undefined
  /**
   * Writes all of it, in the transaction of the outcome, with its events; may be tried again after a rollback. Closes.
   * @throws FileError if somebody has since put a file where the call made a folder, or the other way round
   */
  readonly commit: (tx: Writer) => Promise<StateEffects>
}

const TERMINATE: ThreadOperation = { kind: 'terminate' }

/** Reads the thread's row and the run's context; nothing is held open. */
export async function openBufferedState(options: BufferedStateOptions): Promise<BufferedState> {
  const { store, threadId, callId, run, step, side, execution } = options
  const thread = await store.read((db) => findThread(db, threadId))
  if (thread === null) throw new Error(`Expected a row of thread ${threadId}, got none`)
  const context = await openRunContext(store, { threadId, number: run })
  const gate = createCallGate(callId)
  const now = options.now * 1000
  const files = createFilesOverlay({ store, threadId, now, gate })
  const origin = { threadId, callId, run, step, side, now, prompt: execution.promptPath.at(-1) ?? null }
  const messages = createMessagesOverlay({ store, files, gate, origin })
  const values = createValuesOverlay(store, threadId)
  let terminate = false
  const state = createThreadState({
    gate,
    known: {
      threadId,
      agentId: options.agent,
      userId: thread.user_id,
      createdAt: thread.created_at,
      terminated: thread.terminated_at ?? thread.terminate_requested_at,
      execution,
      context: context.value,
    },
    values,
    messages,
    files: createFileMembers({ files, blobs: store.blobs, gate }),
    terminate: () => {
      terminate = true
    },
  })

  function close(): void {
    gate.close()
    context.freeze()
  }

  return {
    state,
    attach: (given) => resolveAttachments({ files, blobs: store.blobs }, given),
    close,
    contextProblem() {
      close()
      return context.problem()
    },
    async commit(tx) {
      close()
      const moved = await files.commit(tx)
      const { operations, events } = await messages.commit(tx, moved)
      await values.commit(tx)
      await context.commit(tx)
      if (events.length > 0) await appendEvents(tx, { threadId, events, now })
      return { operations: terminate ? [...operations, TERMINATE] : operations, moved }
    },
  }
}
