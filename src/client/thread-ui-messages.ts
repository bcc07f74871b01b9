/** The part of a thread's handle that speaks the AI SDK's UI messages. */
import type { UIMessageChunk } from '../views/ui-messages.js'
import type { ClientContext } from './client-context.js'
import { followUIMessage } from './ui-messages/follow.js'
import type { UIStreamReading } from './ui-messages/follow.js'
import { answerUIMessages } from './ui-messages/submit.js'
import type { SubmitUIMessages, UIMessagesRequest } from './ui-messages/submit.js'
import { readUIMessages } from './ui-messages/transcript.js'
import type { UIMessages, UIMessagesOptions } from './ui-messages/transcript.js'

export interface ThreadUIMessages {
  /** Its transcript as messages of the AI SDK, for `useChat`. @throws ThreadNotFoundError */
  uiMessages(options?: UIMessagesOptions): Promise<UIMessages>
  /**
   * Takes what is new in a request of `useChat`: the last message, if it is of the user, and answers in the last one of the assistant. The
   * chunks tell of the run that takes it, from its start, or of what follows the answer. `toUIMessageStreamResponse` makes a response of
   * them. @throws MessageRejectedError for a request with nothing new; what `send` and `respond` throw
   */
  submitUIMessages(
    request: UIMessagesRequest,
    options?: SubmitUIMessages & UIStreamReading,
  ): Promise<AsyncIterable<UIMessageChunk>>
  /**
   * The message of the assistant that is under way, from its start; null: none is. `after`, the cursor of `uiMessages()`: one that has
   * ended since is told, too. @throws ThreadNotFoundError; ConfigError for a cursor that is none, or ahead of the log
   */
  resumeUIMessages(
    options?: UIStreamReading & { readonly after?: string },
  ): Promise<AsyncIterable<UIMessageChunk> | null>
}

export function createThreadUIMessages(context: ClientContext, threadId: string): ThreadUIMessages {
  return {
    uiMessages: (options = {}) => readUIMessages(context, threadId, options),
    submitUIMessages: (request, options = {}) => answerUIMessages(context, threadId, { request, ...options }),
    resumeUIMessages: ({ after, ...options } = {}) => {
      const of = { current: true, ...(after !== undefined && { after }) } as const
      return followUIMessage(context, threadId, { of, ...options })
    },
  }
}
