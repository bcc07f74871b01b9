import type { MessageUpdates } from '../../definitions/thread-state.js'
import type { Message } from '../../protocol/message.js'
import { changeMessage, deleteMessage, findLiveMessage } from '../../store/messages/message-writes.js'
import type { Store } from '../../store/store.js'
import { lastRun } from '../../store/threads/runs.js'
import { messageOf } from './buffered-messages.js'
import type { BufferedMessages } from './buffered-messages.js'
import type { Journal } from './journal.js'
import type { BoundMessageHooks } from './message-hooks.js'
import { checkUpdates } from './message-input.js'
import type { MessagesOverlay } from './messages-overlay.js'
import { scopeOf } from './state-origin.js'
import type { StateOrigin } from './state-origin.js'

interface MessageChangesOptions {
  readonly store: Store
  readonly threadId: string
  readonly journal: Journal
  readonly origin: StateOrigin
  readonly buffered: BufferedMessages
  readonly hooks: BoundMessageHooks
}

/** The edits and deletes of one call: of what it added itself, or of stored rows, with an event. */
export function createMessageChanges(
  options: MessageChangesOptions,
): Pick<MessagesOverlay, 'update' | 'remove'> {
  const { threadId, journal, origin, buffered, hooks } = options

  function change(message: Message, updates: MessageUpdates): Message {
    const { id } = message
    const current = merged(message, updates)
    journal.add(async (tx) => {
      if (!(await changeMessage(tx, { threadId, id, ...updates }))) return {}
      return { events: [{ type: 'message.updated', scope: { ...scopeOf(origin), messageId: id } }] }
    })
    buffered.change({ original: message, current })
    return current
  }

  async function applied(messageId: string, updates: MessageUpdates): Promise<Message> {
    const added = buffered.added(messageId)
    if (added !== undefined) {
      const current = merged(messageOf(added), updates)
      const { content, silent, metadata } = current
      buffered.replace({ ...added, content, silent, metadata })
      return current
    }
    const stored = await findChangeable(options, messageId)
    if (stored === null)
      throw new Error(`Expected a message of this thread, got "${messageId}", which is none.`)
    return change(stored, updates)
  }

  return {
    async update(messageId, given) {
      const checked = checkUpdates(given)
      if (hooks === null) return applied(messageId, checked)
      const updates = checkUpdates(await hooks.hooks.beforeUpdate(hooks.state(), messageId, checked))
      const message = await applied(messageId, updates)
      await hooks.hooks.afterUpdate(hooks.state(), message)
      return message
    },
    async remove(messageId) {
      if (buffered.added(messageId) !== undefined) {
        buffered.drop(messageId)
        return true
      }
      const stored = await findChangeable(options, messageId)
      if (stored === null) return false
      journal.add(async (tx) => {
        const what = await deleteMessage(tx, threadId, messageId)
        if (what === 'removed') return { operations: [{ kind: 'remove_queued', id: messageId }] }
        if (what === 'missing') return {}
        return { events: [{ type: 'message.deleted', scope: { ...scopeOf(origin), messageId } }] }
      })
      buffered.change({ original: stored, current: null })
      return true
    },
  }
}

/**
 * A stored message as the call has left it, or null. The step in flight is not over: its rows are what its outcome
 * belongs to. @throws a sentence for one of them
 */
async function findChangeable(
  { store, threadId, origin, buffered }: MessageChangesOptions,
  messageId: string,
): Promise<Message | null> {
  const found = await store.read((db) => findLiveMessage(db, threadId, messageId))
  if (found === null) return null
  if (found.run !== null && found.run === origin.run && found.step === origin.step)
    throw new Error(
      `Expected a message of an earlier step, got "${messageId}", which belongs to the step in flight.`,
    )
  const fromOutside = origin.kind === 'relative' || origin.kind === 'endpoint'
  if (fromOutside && found.run !== null && found.run === (await openRun(store, threadId)))
    throw new Error(
      `Expected a message of an earlier run, got "${messageId}", which belongs to the run in flight.`,
    )
  if (found.message.position === null && found.message.tool_calls !== null)
    throw new Error(`Expected a message, got "${messageId}", which holds a queued tool call.`)
  const changed = buffered.find(messageId)
  return changed === undefined ? found.message : changed
}

/** From outside of its run it is not known which step is in flight. */
async function openRun(store: Store, threadId: string): Promise<number | null> {
  const run = await store.read((db) => lastRun(db, threadId))
  return run === null || run.ended_at !== null ? null : run.number
}

function merged(message: Message, { content, silent, metadata }: MessageUpdates): Message {
  return {
    ...message,
    ...(content === undefined ? {} : { content }),
    ...(silent === undefined ? {} : { silent }),
    ...(metadata === undefined ? {} : { metadata: { ...message.metadata, ...metadata } }),
  }
}
