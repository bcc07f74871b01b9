import type { GetMessagesOptions, InjectedMessage, QueuedMessage } from '../../definitions/thread-state.js'
import { LIMITS } from '../../protocol/limits.js'
import type { Message } from '../../protocol/message.js'
import type { NewMessage } from '../../store/message-row.js'
import { findMessage } from '../../store/read-messages.js'
import { countUndelivered } from '../../store/stage-message.js'
import type { Store, Writer } from '../../store/store.js'
import { findThread } from '../../store/threads.js'
import type { CallGate } from './call-gate.js'
import { commitMessages } from './commit-messages.js'
import type { CallOrigin, MessageEffects } from './commit-messages.js'
import type { FilesOverlay } from './files-overlay.js'
import { checkInjected, checkQueued } from './message-input.js'
import { listWithAdded } from './message-pages.js'
import { resolveAttachments } from './resolve-attachments.js'
import { createTurns } from './turns.js'

/** A thread's messages as one call sees them. */
export interface MessagesOverlay {
  readonly list: (
    options?: GetMessagesOptions,
  ) => Promise<{ messages: Message[]; total: number; hasMore: boolean }>
  readonly find: (messageId: string) => Promise<Message | null>
  /** The message has its position from the commit on; until then it is null. */
  inject(message: InjectedMessage): Message
  readonly queue: (message: QueuedMessage) => Promise<void>
  /** `moved`: attachments that are at another path now. */
  commit(tx: Writer, moved: ReadonlyMap<string, string>): Promise<MessageEffects>
}

export interface MessagesOverlayOptions {
  readonly store: Store
  readonly files: FilesOverlay
  readonly gate: CallGate
  readonly origin: CallOrigin
}

export function createMessagesOverlay({
  store,
  files,
  gate,
  origin,
}: MessagesOverlayOptions): MessagesOverlay {
  const { threadId, now } = origin
  const injected: NewMessage[] = []
  const queued: NewMessage[] = []
  const inTurn = createTurns()
  let made = 0

  /** The same in each attempt, so that a tool may hand it on. */
  function nextId(): string {
    return `${threadId}:${origin.callId}:${made++}`
  }

  /** Refused here, where the tool can still say so; the commit looks again. */
  async function assertAccepting(): Promise<void> {
    const [thread, waiting] = await store.read((db) =>
      Promise.all([findThread(db, threadId), countUndelivered(db, threadId)]),
    )
    if (thread === null || thread.terminate_requested_at !== null || thread.closed_at !== null)
      throw new Error(`Expected a thread that takes messages, got ${threadId}, which was terminated.`)
    if (queued.length >= LIMITS.queuedByCall)
      throw new Error(`Expected at most ${LIMITS.queuedByCall} messages of one call, got another one.`)
    if (waiting + queued.length >= LIMITS.queuedItems)
      throw new Error(
        `Expected at most ${LIMITS.queuedItems} queued messages, got another one: wait for an answer.`,
      )
  }

  return {
    list: (options = {}) => {
      const added = { injected: injected.map(messageOf), queued: queued.map(messageOf) }
      return listWithAdded(store, { ...options, threadId }, added)
    },
    async find(messageId) {
      const added = [...injected, ...queued].find((message) => message.id === messageId)
      return added === undefined ? store.read((db) => findMessage(db, threadId, messageId)) : messageOf(added)
    },
    inject(given) {
      const checked = checkInjected(given)
      const { side, run, step, prompt } = origin
      const common = { id: nextId(), threadId, createdAt: now, sentBy: 'tool' } as const
      const message = { ...common, ...checked, side, run, step, prompt }
      injected.push(message)
      return messageOf(message)
    },
    queue: (given) =>
      inTurn(async () => {
        const checked = checkQueued(given)
        await assertAccepting()
        const attachments = await resolveAttachments({ files, blobs: store.blobs }, given.attachments ?? [])
        gate.assertOpen()
        const common = { id: nextId(), threadId, createdAt: now, sentBy: 'tool', status: 'pending' } as const
        queued.push({ ...common, ...checked, attachments })
      }),
    commit: (tx, moved) => commitMessages(tx, { origin, injected, queued, moved }),
  }
}

/** As it will be stored, but for its position. */
function messageOf(message: NewMessage): Message {
  const { id, role, content, createdAt, silent = false, metadata = null, prompt = null } = message
  return {
    id,
    role,
    content,
    name: null,
    tool_calls: null,
    tool_call_id: null,
    created_at: createdAt,
    parent_id: null,
    depth: 0,
    silent,
    metadata: metadata === null ? null : structuredClone(metadata),
    status: message.status ?? 'completed',
    tool_status: null,
    attachments: message.attachments ?? [],
    reasoning_content: null,
    prompt,
    subagent_id: null,
    position: null,
  }
}
