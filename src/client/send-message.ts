import { randomUUID } from 'node:crypto'
import { MessageRejectedError, TemporalUnavailableError } from '../protocol/errors.js'
import type { Message } from '../protocol/message.js'
import { SIGNALS } from '../protocol/messages.js'
import type { JsonObject } from '../protocol/values.js'
import { digestOf } from '../store/digest.js'
import { stageMessage } from '../store/messages/message-writes.js'
import { findMessage } from '../store/messages/transcript.js'
import type { Writer } from '../store/store.js'
import { clientSpan, inSpan } from '../telemetry/spans.js'
import type { ClientContext } from './client-context.js'
import { microseconds } from './clock.js'
import { checkMessage } from './new-message.js'
import type { CheckedMessage, NewMessage } from './new-message.js'
import { openThread } from './open-thread.js'
import { attachmentDigest, placeAttachments, storeBytes } from './place-attachments.js'
import type { StoredAttachment } from './place-attachments.js'
import { refuseStaged } from './refuse-staged.js'
import { signalThread } from './signal-thread.js'
import { withdrawMessage } from './withdraw-message.js'

export interface Sending {
  readonly threadId: string
  readonly message: string | NewMessage
  /** @default a UUID */
  readonly defaultId?: string
}

/**
 * The one path of a message: its row first (T2), then a signal with nothing but its id (T5). Sent again with the same
 * id and content it is delivered once (T3), whatever failed before.
 */
export function sendMessage(context: ClientContext, sending: Sending): Promise<{ messageId: string }> {
  const { threadId } = sending
  return inSpan(clientSpan('everthread.send', { threadId }), () => send(context, sending))
}

async function send(
  context: ClientContext,
  { threadId, message: given, defaultId }: Sending,
): Promise<{ messageId: string }> {
  const message = checkMessage(threadId, given, () => defaultId ?? randomUUID())
  const digest = digestOf(contentOf(message))
  const isFirst = message.id === defaultId
  const store = await context.store()
  // Before its files are written: a thread that accepts nothing takes no bytes either.
  await store.read(async (db) => {
    if ((await findMessage(db, threadId, message.id)) === null) await openThread(db, threadId)
  })
  const attachments = await storeBytes(store, message.attachments)
  const accepted = await store.write((tx) => accept(tx, { threadId, message, attachments, digest, isFirst }))
  if (accepted !== 'delivered') await announce(context, threadId, { message, isNew: accepted === 'new' })
  return { messageId: message.id }
}

/**
 * Tells the workflow the id. A message that is refused for good was not accepted: nothing of it stays behind, unless it was
 * sent before, for that may have been answered with a yes (T3).
 */
async function announce(
  context: ClientContext,
  threadId: string,
  { message, isNew }: { readonly message: CheckedMessage; readonly isNew: boolean },
): Promise<void> {
  try {
    const input = { messageId: message.id, role: message.role }
    await signalThread(context, threadId, { name: SIGNALS.queueMessage, input })
  } catch (error) {
    const store = await context.store()
    if (isNew && MessageRejectedError.isInstance(error))
      await store.write((tx) => withdrawMessage(tx, threadId, message))
    if (!TemporalUnavailableError.isInstance(error)) throw error
    const { address, problem, cause } = error
    throw new TemporalUnavailableError(threadId, { address, problem, messageId: message.id }, cause)
  }
}

interface Accepting {
  readonly threadId: string
  readonly message: CheckedMessage
  readonly attachments: readonly StoredAttachment[]
  readonly digest: string
  /** The message of a `create` that gave it no id. */
  readonly isFirst: boolean
}

/** What became of it so far. Whatever is thrown here rolls back the files too. */
async function accept(
  tx: Writer,
  { threadId, message, attachments, digest, isFirst }: Accepting,
): Promise<'new' | 'waiting' | 'delivered'> {
  const known = await findMessage(tx, threadId, message.id)
  if (known === null) await openThread(tx, threadId)
  const result = await stageMessage(tx, {
    id: message.id,
    threadId,
    role: message.role,
    content: message.content,
    silent: message.silent,
    metadata: message.metadata,
    attachments: known === null ? await placeAttachments(tx, threadId, attachments) : [],
    createdAt: microseconds(),
    sentBy: 'client',
    digest,
  })
  refuseStaged(result, { threadId, messageId: message.id, isFirst })
  if (known === null) return 'new'
  return isWaiting(known) ? 'waiting' : 'delivered'
}

function isWaiting(message: Message): boolean {
  return message.position === null && message.status === 'pending'
}

function contentOf({ role, content, silent, metadata, attachments }: CheckedMessage): JsonObject {
  // Went through JSON when it was checked.
  return {
    role,
    content,
    silent,
    metadata: metadata as JsonObject | null,
    attachments: attachments.map(attachmentDigest),
  }
}
