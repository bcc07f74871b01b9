import { randomUUID } from 'node:crypto'
import type { Fact } from '../../protocol/facts.js'
import { digestOf } from '../../store/digest.js'
import { appendMessage } from '../../store/messages/delivery.js'
import type { NewMessage } from '../../store/messages/message-row.js'
import { stageMessage } from '../../store/messages/message-writes.js'
import { isMessageIdTaken } from '../../store/messages/transcript.js'
import type { Writer } from '../../store/store.js'
import type { Written } from './journal.js'
import { atNewPath } from './moved-attachment.js'
import { scopeOf } from './state-origin.js'
import type { StateOrigin } from './state-origin.js'

/** Gives an injected message its place at the end of the transcript. */
export async function commitInjected(tx: Writer, origin: StateOrigin, message: NewMessage): Promise<Written> {
  const id = await freeId(tx, message)
  await appendMessage(tx, { ...message, id })
  const scope = { ...scopeOf(origin), messageId: id }
  return { events: [{ type: 'message.created', scope, payload: { role: message.role } }] }
}

interface Queued {
  readonly origin: StateOrigin
  readonly message: NewMessage
  readonly moved: ReadonlyMap<string, string>
}

/** Stages a queued message: the workflow learns its id with the outcome (T2). */
export async function commitQueued(tx: Writer, { origin, message, moved }: Queued): Promise<Written> {
  const attachments = message.attachments?.map((file) => atNewPath(file, moved)) ?? []
  const draft = { ...message, id: await freeId(tx, message), attachments }
  const staged = await stageMessage(tx, { ...draft, digest: digestOf([draft.role, draft.content]) })
  const role = draft.role === 'assistant' ? 'assistant' : 'user'
  if (staged === 'staged') return { operations: [{ kind: 'queue_message', id: draft.id, role }] }
  // Others filled the queue since the tool asked; on a terminated thread nobody waits for it.
  return staged === 'queue_full' ? { events: [queueFull(origin, draft.id)] } : {}
}

/** Ids of calls can be guessed, and a message of that id would keep the call's outcome from being stored for ever. */
async function freeId(tx: Writer, { threadId, id }: NewMessage): Promise<string> {
  return (await isMessageIdTaken(tx, threadId, id)) ? randomUUID() : id
}

/** A message or a call was dropped. */
export function queueFull(origin: StateOrigin, messageId?: string): Fact {
  return {
    type: 'runtime.warning',
    scope: { ...scopeOf(origin), ...(messageId === undefined ? {} : { messageId }) },
    payload: {
      code: 'queue_full',
      message: 'Something that a tool queued was dropped: the queue of its thread is full.',
    },
  }
}
