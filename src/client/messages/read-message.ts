/**
 * What became of an accepted message.
 * Owns: the one end of a message, from its own row and that of its thread.
 * Does not own: how a message ends (`store/messages`), and lists of messages (`listMessages`).
 */
import { runIdOf } from '../../protocol/ids.js'
import type { Message } from '../../protocol/message.js'
import type { ThreadStatus } from '../../protocol/status.js'
import type { MessageSender } from '../../store/messages/message-row.js'
import { findMessageWithEnd } from '../../store/messages/transcript.js'
import type { Reader } from '../../store/store.js'
import { requireThread } from '../client-context.js'
import type { ClientContext } from '../client-context.js'

/** The end of an accepted message. It has exactly one, which never changes. */
export type MessageEnd =
  /** It is in the transcript; `runId`: the run that took it. Null for a message that no run took, such as one that code added. */
  | { readonly kind: 'delivered'; readonly runId: string | null }
  /** The thread was closed before a run took it; `threadStatus`: how. */
  | { readonly kind: 'rejected'; readonly threadStatus: ThreadStatus }
  /** A `before_create_message` hook refused it: the hook of that id failed, and `errors()` has its error. */
  | { readonly kind: 'refused'; readonly hook: string | null }
  /** It was taken back from the queue. */
  | { readonly kind: 'removed' }

/** A message of any age and depth, also one that never entered the transcript. */
export interface MessageRead {
  readonly message: Message
  /** Who sent it. */
  readonly source: MessageSender
  /** Null: it waits in the queue. */
  readonly end: MessageEnd | null
}

/** Null: the thread has no message of that id, or one that was deleted from its transcript. @throws ThreadNotFoundError */
export async function readMessage(
  context: ClientContext,
  threadId: string,
  messageId: string,
): Promise<MessageRead | null> {
  const store = await context.store()
  return store.read((db) => findMessageRead(db, threadId, messageId))
}

/** As `readMessage`, within a transaction. */
export async function findMessageRead(
  db: Reader,
  threadId: string,
  messageId: string,
): Promise<MessageRead | null> {
  const { status } = await requireThread(db, threadId)
  const found = await findMessageWithEnd(db, threadId, messageId)
  if (found === null) return null
  const { message, sentBy: source, run, refusedBy } = found
  return { message, source, end: endOf(message, { threadStatus: status, run, refusedBy }) }
}

interface Ended {
  readonly threadStatus: ThreadStatus
  readonly run: number | null
  readonly refusedBy: string | null
}

function endOf({ status }: Message, { threadStatus, run, refusedBy }: Ended): MessageEnd | null {
  if (status === 'pending') return null
  if (status === 'rejected') return { kind: 'rejected', threadStatus }
  if (status === 'refused') return { kind: 'refused', hook: refusedBy }
  if (status === 'removed') return { kind: 'removed' }
  return { kind: 'delivered', runId: run === null ? null : runIdOf(run) }
}
