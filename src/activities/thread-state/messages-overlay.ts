import type {
  GetMessagesOptions,
  InjectedMessage,
  MessageUpdates,
  QueuedMessage,
} from '../../definitions/thread-state.js'
import type { Message } from '../../protocol/message.js'
import type { NewMessage } from '../../store/messages/message-row.js'
import { findMessage } from '../../store/messages/transcript.js'
import type { Store } from '../../store/store.js'
import { assertQueueTakes } from './accepting.js'
import { createBufferedMessages, messageOf } from './buffered-messages.js'
import { commitInjected, commitQueued } from './commit-messages.js'
import type { FilesOverlay } from './files-overlay.js'
import type { Journal } from './journal.js'
import { createMessageChanges } from './message-changes.js'
import { hookedMessage } from './message-hooks.js'
import type { BoundMessageHooks } from './message-hooks.js'
import { checkInjected, checkQueued } from './message-input.js'
import { listWithBuffered } from './message-pages.js'
import { resolveAttachments } from './resolve-attachments.js'
import { metadataOf, senderOf } from './state-origin.js'
import type { StateOrigin } from './state-origin.js'
import { createTurns } from './turns.js'

/** A thread's messages as one call sees them. */
export interface MessagesOverlay {
  readonly list: (
    options?: GetMessagesOptions,
  ) => Promise<{ messages: Message[]; total: number; hasMore: boolean }>
  readonly find: (messageId: string) => Promise<Message | null>
  /** The message has its position from the commit on; until then it is null. */
  readonly inject: (message: InjectedMessage) => Promise<Message>
  readonly queue: (message: QueuedMessage) => Promise<void>
  readonly update: (messageId: string, updates: MessageUpdates) => Promise<Message>
  readonly remove: (messageId: string) => Promise<boolean>
  /** A silent message from a child of this thread. */
  readonly notify: (notice: ChildNotice) => Promise<void>
}

export interface ChildNotice {
  readonly content: string
  /** The child's thread id. */
  readonly reference: string
}

export interface MessagesOverlayOptions {
  readonly store: Store
  readonly threadId: string
  readonly files: FilesOverlay
  readonly journal: Journal
  readonly origin: StateOrigin
  /** The active prompt. */
  readonly prompt: string | null
  /** Microseconds. */
  readonly now: number
  readonly hooks: BoundMessageHooks
}

export function createMessagesOverlay(options: MessagesOverlayOptions): MessagesOverlay {
  const { store, threadId, files, journal, origin, hooks } = options
  const buffered = createBufferedMessages({ threadId, originId: origin.id })
  const inTurn = createTurns()
  const common = { threadId, createdAt: options.now, sentBy: senderOf(origin) } as const

  async function queue(given: QueuedMessage, from: Partial<NewMessage>): Promise<void> {
    const checked = checkQueued(given)
    await assertQueueTakes(store, { threadId, added: buffered.queuedCount() })
    const attachments = await resolveAttachments({ files, blobs: store.blobs }, given.attachments ?? [])
    const id = buffered.nextId()
    journal.add(async (tx, moved) => {
      const message = buffered.added(id)
      return message === undefined ? {} : commitQueued(tx, { origin, message, moved })
    })
    const metadata = metadataOf(origin, checked.metadata)
    buffered.add('queued', { ...common, ...checked, ...from, id, attachments, metadata, status: 'pending' })
  }

  return {
    list: (page = {}) => listWithBuffered(store, { ...page, threadId }, buffered.view()),
    async find(messageId) {
      const known = buffered.find(messageId)
      return known === undefined ? store.read((db) => findMessage(db, threadId, messageId)) : known
    },
    async inject(given) {
      const checked = checkInjected(given)
      const { side, run, step } = origin
      const place = { side, run, step, prompt: options.prompt }
      const metadata = metadataOf(origin, checked.metadata)
      const made = { ...common, ...checked, ...place, metadata, id: buffered.nextId() }
      const message = hooks === null ? made : await hookedMessage(made, hooks)
      journal.add(async (tx) => {
        const kept = buffered.added(message.id)
        return kept === undefined ? {} : commitInjected(tx, origin, kept)
      })
      buffered.add('injected', message)
      if (hooks !== null) await hooks.hooks.afterCreate(hooks.state(), messageOf(message))
      return messageOf(message)
    },
    queue: (given) => inTurn(() => queue(given, {})),
    notify: ({ content, reference: subagentId }) =>
      inTurn(() => {
        const metadata = { subagent_id: subagentId }
        return queue({ role: 'user', content, silent: true, metadata }, { subagentId, sentBy: 'child' })
      }),
    ...createMessageChanges({ ...options, buffered }),
  }
}
