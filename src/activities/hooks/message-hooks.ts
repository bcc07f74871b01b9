import type { MessageUpdates } from '../../definitions/thread-state.js'
import type { Message } from '../../protocol/message.js'
import { messageOfDraft } from '../../store/messages/message-row.js'
import type { NewMessage } from '../../store/messages/message-row.js'
import type { MessageHooks } from '../thread-state/messages.js'
import { kindOf } from '../thread-state/strict-json.js'
import { acceptMessage, asFields } from './hook-answers.js'
import { InvalidAnswer, isWithinMessageHook } from './hook-batch.js'
import type { Chained, HookBatch } from './hook-batch.js'

/**
 * The hooks around messages that a tool or another hook injects or changes. Within a hook about a message no hook runs: it
 * would call itself. Undefined where the prompt has none of them: then no promise is awaited for them.
 */
export function messageHooks(batch: HookBatch): MessageHooks | undefined {
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

const CREATE_POINTS = ['before_create_message', 'after_create_message'] as const

export function hasCreateHooks(batch: HookBatch): boolean {
  return batch.has(...CREATE_POINTS)
}

/** Runs the hooks before a message is stored. `strict`: a hook that fails refuses the message. */
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

/** Runs the hooks after a message is created; the transaction that follows stores it. */
export async function afterCreate(batch: HookBatch, message: Message): Promise<void> {
  await batch.run('after_create_message', message, {
    ask: (execute, state, value) => execute(state, structuredClone(value)),
    messageId: message.id,
  })
}

/**
 * A row of the runtime's own making, as the create hooks leave it: a hook that fails leaves it as it was. Its place among
 * what the hooks write is reserved: the transaction writes it there, by `batch.commit`.
 */
export async function draftRow(batch: HookBatch, draft: NewMessage): Promise<NewMessage> {
  if (!hasCreateHooks(batch)) {
    await batch.reserveRow()
    return draft
  }
  const { value } = await beforeCreate(batch, messageOfDraft(draft), false)
  await batch.reserveRow()
  await afterCreate(batch, value)
  return withChange(draft, value)
}

function withChange(draft: NewMessage, { content, silent, metadata, attachments }: Message): NewMessage {
  return { ...draft, content, silent, metadata, attachments }
}

const UPDATES: readonly string[] = ['content', 'silent', 'metadata']

/** Runs the hooks before a stored message changes. A hook that fails leaves the change as it was. */
async function beforeUpdate(
  batch: HookBatch,
  messageId: string,
  updates: MessageUpdates,
): Promise<MessageUpdates> {
  const { value } = await batch.run('before_update_message', updates, {
    ask: (execute, state, current) => execute(state, messageId, structuredClone(current)),
    accept: acceptUpdates,
    messageId,
  })
  return value
}

async function afterUpdate(batch: HookBatch, message: Message): Promise<void> {
  await batch.run('after_update_message', message, {
    ask: (execute, state, current) => execute(state, structuredClone(current)),
    messageId: message.id,
  })
}

/** The shape of updates; `checkUpdates` of the state checks their content afterwards. */
function acceptUpdates(answer: unknown): MessageUpdates | undefined {
  if (answer === undefined || answer === null) return undefined
  const given = asFields(answer, 'updates')
  const unknown = Object.keys(given).find((name) => !UPDATES.includes(name))
  if (unknown !== undefined)
    throw new InvalidAnswer(`Expected updates of ${UPDATES.join(', ')}, got one of "${unknown}".`)
  const { content, silent, metadata } = given
  if (content !== undefined && typeof content !== 'string')
    throw new InvalidAnswer(`Expected content of the updates to be a text, got ${kindOf(content)}.`)
  if (silent !== undefined && typeof silent !== 'boolean')
    throw new InvalidAnswer(`Expected silent of the updates to be true or false, got ${kindOf(silent)}.`)
  if (metadata !== undefined) asFields(metadata, 'metadata of the updates as an object')
  // Checked above.
  return given as MessageUpdates
}
