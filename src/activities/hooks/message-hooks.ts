/**
 * The hooks of the points about a message: before and after it is created or updated.
 *
 * Owns: what each point gives to a hook and accepts from it, and that no hook runs within such a hook.
 * Does not own: how hooks are called and what they share (hook-batch.ts).
 */
import { AsyncLocalStorage } from 'node:async_hooks'
import { isDeepStrictEqual } from 'node:util'

import type { MessageUpdates } from '../../definitions/thread-state.js'
import type { Message } from '../../protocol/message.js'
import { messageOfDraft } from '../../store/messages/message-row.js'
import type { NewMessage } from '../../store/messages/message-row.js'
import type { MessageHooks } from '../thread-state/messages.js'
import { kindOf } from '../thread-state/strict-json.js'
import { asFields, changeOf } from './hook-answers.js'
import { InvalidAnswer } from './hook-call.js'
import type { HookBatch } from './hook-batch.js'

/**
 * Creates the hooks around messages that a tool or another hook injects or changes. No hook runs within a message hook,
 * because it would call itself. Undefined if the prompt has none, so that no promise is awaited for them.
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

/** Follows the async call. A flag of the batch would not do, because a tool may inject two messages at the same time. */
const withinMessageHook = new AsyncLocalStorage<true>()

function isWithinMessageHook(): boolean {
  return withinMessageHook.getStore() === true
}

function withinHook<Answer>(execute: () => Answer): Answer {
  return withinMessageHook.run(true, execute)
}

const CREATE_POINTS = ['before_create_message', 'after_create_message'] as const

export function hasCreateHooks(batch: HookBatch): boolean {
  return batch.has(...CREATE_POINTS)
}

/** Runs the hooks before a message is stored. `strict`: a failed hook ends the chain, and the caller refuses the message. */
export async function beforeCreate(
  batch: HookBatch,
  message: Message,
  strict: boolean,
): Promise<{
  readonly value: Message
  readonly failure: { readonly hook: string; readonly error: unknown } | null
}> {
  return batch.run('before_create_message', message, {
    call: (execute, state, value) => withinHook(() => execute(state, structuredClone(value))),
    accept: acceptMessage,
    messageId: message.id,
    endsWith: () => strict,
  })
}

/** Runs the hooks after a message is created; the transaction that follows stores it. */
export async function afterCreate(batch: HookBatch, message: Message): Promise<void> {
  await batch.run('after_create_message', message, {
    call: (execute, state, value) => withinHook(() => execute(state, structuredClone(value))),
    messageId: message.id,
  })
}

const CHANGEABLE: ReadonlySet<string> = new Set(['content', 'silent', 'metadata', 'attachments'])

/** Without an answer, or for a field that is left out, the message stays unchanged. @throws InvalidAnswer */
function acceptMessage(answer: unknown, message: Message): Message | undefined {
  if (answer === undefined || answer === null) return undefined
  const given = asFields(answer, 'a message')
  for (const [name, value] of Object.entries(given)) {
    if (CHANGEABLE.has(name) || value === undefined) continue
    if (!isDeepStrictEqual(value, Reflect.get(message, name)))
      throw new InvalidAnswer(`Expected ${name} of the message to be left as it is: a hook cannot change it.`)
  }
  return { ...message, ...changeOf(given, message) }
}

/**
 * Runs the create hooks on a row that the runtime makes; a failed hook leaves it unchanged. Reserves the row's position
 * among the writes of the hooks: `batch.commit` writes it there.
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

/** Runs the hooks before a stored message changes. A failed hook leaves the updates unchanged. */
async function beforeUpdate(
  batch: HookBatch,
  messageId: string,
  updates: MessageUpdates,
): Promise<MessageUpdates> {
  const { value } = await batch.run('before_update_message', updates, {
    call: (execute, state, current) => withinHook(() => execute(state, messageId, structuredClone(current))),
    accept: acceptUpdates,
    messageId,
  })
  return value
}

async function afterUpdate(batch: HookBatch, message: Message): Promise<void> {
  await batch.run('after_update_message', message, {
    call: (execute, state, current) => withinHook(() => execute(state, structuredClone(current))),
    messageId: message.id,
  })
}

/** Checks the shape of updates; `checkUpdates` of the state checks their content afterwards. */
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
