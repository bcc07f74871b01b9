import type { MessageUpdates } from '../../definitions/thread-state.js'
import type { Message } from '../../protocol/message.js'
import { kindOf } from '../thread-state/strict-json.js'
import { asFields } from './accept-message.js'
import type { HookBatch } from './hook-batch.js'
import { InvalidAnswer } from './hook-failure.js'

const UPDATES: readonly string[] = ['content', 'silent', 'metadata']

/** What the hooks make of a change of a stored message; one that fails leaves it as it was. */
export async function beforeUpdate(
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

export async function afterUpdate(batch: HookBatch, message: Message): Promise<void> {
  await batch.run('after_update_message', message, {
    ask: (execute, state, current) => execute(state, structuredClone(current)),
    messageId: message.id,
  })
}

/** The store's own check of updates comes behind this one. */
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
  // Looked at above: the boundary to the hook.
  return given as MessageUpdates
}
