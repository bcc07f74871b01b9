import type { Message } from '../../protocol/message.js'
import { messageOfDraft } from '../../store/messages/message-row.js'
import type { NewMessage } from '../../store/messages/message-row.js'
import type { Writer } from '../../store/store.js'
import type { StateEffects } from '../thread-state/buffered-thread-state.js'
import { acceptMessage } from './accept-message.js'
import type { Chained, HookBatch } from './hook-batch.js'

const CREATE_POINTS = ['before_create_message', 'after_create_message'] as const

export function hasCreateHooks(batch: HookBatch): boolean {
  return batch.has(...CREATE_POINTS)
}

/** What the hooks make of a message that is about to be stored. `strict`: a hook that fails keeps it from that. */
export async function beforeCreate(
  batch: HookBatch,
  message: Message,
  strict: boolean,
): Promise<Chained<Message>> {
  return batch.run('before_create_message', message, {
    ask: (execute, state, value) => execute(state, structuredClone(value)),
    accept: acceptMessage,
    messageId: message.id,
    endsWith: () => strict,
  })
}

/** Tells the hooks of a message that the transaction at hand stores. */
export async function afterCreate(batch: HookBatch, message: Message): Promise<void> {
  await batch.run('after_create_message', message, {
    ask: (execute, state, value) => execute(state, structuredClone(value)),
    messageId: message.id,
  })
}

/**
 * A row of the runtime's own making, as its hooks leave it; one that fails leaves it as it was. It is stored in its place
 * among what they write.
 */
export async function storeDraft(
  batch: HookBatch,
  draft: NewMessage,
  store: (tx: Writer, draft: NewMessage, moved: StateEffects['moved']) => Promise<void>,
): Promise<void> {
  if (!hasCreateHooks(batch)) return batch.write((tx, moved) => store(tx, draft, moved))
  const { value } = await beforeCreate(batch, messageOfDraft(draft), false)
  await batch.write((tx, moved) => store(tx, withChange(draft, value), moved))
  await afterCreate(batch, value)
}

function withChange(draft: NewMessage, { content, silent, metadata, attachments }: Message): NewMessage {
  return { ...draft, content, silent, metadata, attachments }
}
