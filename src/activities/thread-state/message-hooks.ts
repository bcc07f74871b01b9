import type { MessageUpdates, ThreadState } from '../../definitions/thread-state.js'
import type { Message } from '../../protocol/message.js'
import type { NewMessage } from '../../store/messages/message-row.js'
import { messageOf } from './buffered-messages.js'
import { checkInjected } from './message-input.js'

/** What the hooks of a prompt make of the messages that a tool injects and changes; a throw refuses the message. */
export interface MessageHooks {
  readonly beforeCreate: (state: ThreadState, message: Message) => Promise<Message>
  readonly afterCreate: (state: ThreadState, message: Message) => Promise<void>
  readonly beforeUpdate: (
    state: ThreadState,
    messageId: string,
    updates: MessageUpdates,
  ) => Promise<MessageUpdates>
  readonly afterUpdate: (state: ThreadState, message: Message) => Promise<void>
}

/** The hooks with the state that they get; null without hooks, so that nothing has to be waited for. */
export type BoundMessageHooks = {
  readonly hooks: MessageHooks
  readonly state: () => ThreadState
} | null

/** An injected message with the words that the hooks gave it. @throws what a hook threw */
export async function hookedMessage(
  message: NewMessage,
  { hooks, state }: NonNullable<BoundMessageHooks>,
): Promise<NewMessage> {
  const hooked = await hooks.beforeCreate(state(), messageOf(message))
  return { ...message, ...checkInjected({ ...hooked, role: message.role } as never) }
}
