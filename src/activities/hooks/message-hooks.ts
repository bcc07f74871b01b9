import type { MessageUpdates, ThreadState } from '../../definitions/thread-state.js'
import type { Message } from '../../protocol/message.js'
import { afterCreate, beforeCreate } from './create-hooks.js'
import { isWithinMessageHook } from './hook-batch.js'
import type { HookBatch } from './hook-batch.js'
import { afterUpdate, beforeUpdate } from './update-hooks.js'

/**
 * The hooks of messages that are put in and changed through a state: of a tool, or of another hook. Within a hook about a
 * message nothing is asked, for it would ask itself.
 */
export interface StateMessageHooks {
  /** @throws what the hook threw, and nothing is put in */
  readonly beforeCreate: (state: ThreadState, message: Message) => Promise<Message>
  readonly afterCreate: (state: ThreadState, message: Message) => Promise<void>
  readonly beforeUpdate: (
    state: ThreadState,
    messageId: string,
    updates: MessageUpdates,
  ) => Promise<MessageUpdates>
  readonly afterUpdate: (state: ThreadState, message: Message) => Promise<void>
}

/** Undefined where the prompt has none of them: then nothing has to be waited for. */
export function messageHooks(batch: HookBatch): StateMessageHooks | undefined {
  const points = ['before_create_message', 'after_create_message'] as const
  if (!batch.has(...points, 'before_update_message', 'after_update_message')) return undefined
  return {
    async beforeCreate(_state, message) {
      if (isWithinMessageHook()) return message
      const { value, failure } = await beforeCreate(batch, message, true)
      if (failure !== null) throw failure.error
      return value
    },
    async afterCreate(_state, message) {
      if (!isWithinMessageHook()) await afterCreate(batch, message)
    },
    beforeUpdate: async (_state, messageId, updates) =>
      isWithinMessageHook() ? updates : beforeUpdate(batch, messageId, updates),
    async afterUpdate(_state, message) {
      if (!isWithinMessageHook()) await afterUpdate(batch, message)
    },
  }
}
