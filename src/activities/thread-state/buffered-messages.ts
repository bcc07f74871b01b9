import type { Message } from '../../protocol/message.js'
import type { NewMessage } from '../../store/messages/message-row.js'
import { boundedId } from './bounded-id.js'

/** A stored message that the call changed; null: it deleted it. */
interface ChangedMessage {
  readonly original: Message
  readonly current: Message | null
}

/** What a call has done to the messages of its thread, for whoever reads them in it. */
export interface BufferedMessages {
  /** The same in each attempt, so that a tool may hand it on. */
  nextId(): string
  add(kind: 'injected' | 'queued', message: NewMessage): void
  /** One that the call added and did not delete again. */
  added(id: string): NewMessage | undefined
  replace(message: NewMessage): void
  drop(id: string): void
  change(changed: ChangedMessage): void
  /** Null: deleted. Undefined: the call did nothing to it. */
  find(id: string): Message | null | undefined
  queuedCount(): number
  view(): BufferedView
}

/** What was added in its order: the injected ones end the transcript, the queued ones the queue. */
export interface BufferedView {
  readonly injected: readonly Message[]
  readonly queued: readonly Message[]
  readonly changed: readonly ChangedMessage[]
}

interface Added {
  readonly kind: 'injected' | 'queued'
  readonly message: NewMessage
}

export function createBufferedMessages({
  threadId,
  originId,
}: {
  readonly threadId: string
  readonly originId: string
}): BufferedMessages {
  const added = new Map<string, Added>()
  const changed = new Map<string, ChangedMessage>()
  let made = 0

  function ofKind(kind: Added['kind']): readonly Message[] {
    return [...added.values()].flatMap((one) => (one.kind === kind ? [messageOf(one.message)] : []))
  }

  return {
    nextId: () => boundedId(`${threadId}:${originId}:${made++}`),
    add: (kind, message) => void added.set(message.id, { kind, message }),
    added: (id) => added.get(id)?.message,
    replace(message) {
      const known = added.get(message.id)
      if (known !== undefined) added.set(message.id, { ...known, message })
    },
    drop: (id) => void added.delete(id),
    change(change) {
      const { id } = change.original
      changed.set(id, { original: changed.get(id)?.original ?? change.original, current: change.current })
    },
    find(id) {
      const message = added.get(id)?.message
      return message === undefined ? changed.get(id)?.current : messageOf(message)
    },
    queuedCount: () => ofKind('queued').length,
    view: () => ({
      injected: ofKind('injected'),
      queued: ofKind('queued'),
      changed: [...changed.values()],
    }),
  }
}

/** As it will be stored, but for its position. */
export function messageOf(message: NewMessage): Message {
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
    finish_reason: null,
    prompt,
    subagent_id: message.subagentId ?? null,
    position: null,
  }
}
