import type { InjectedMessage, MessageUpdates, QueuedMessage } from '../../definitions/thread-state.js'
import { jsonObjectCopy, kindOf } from './strict-json.js'

/** What a tool gave as a message, checked; its metadata is a copy. */
export interface CheckedMessage<Role extends string> {
  readonly role: Role
  readonly content: string
  readonly silent: boolean
  readonly metadata: Record<string, unknown> | null
}

/** @throws a sentence on what is wrong with it */
export function checkInjected(message: InjectedMessage): CheckedMessage<InjectedMessage['role']> {
  return check(message, { call: 'injectMessage', roles: ['system', 'user', 'assistant'], mayBeEmpty: false })
}

/** Its attachments are looked at elsewhere. @throws a sentence on what is wrong with it */
export function checkQueued(message: QueuedMessage): CheckedMessage<QueuedMessage['role']> {
  const { attachments } = asObject(message, 'queueMessage')
  if (attachments !== undefined && !Array.isArray(attachments))
    throw new Error(`Expected the attachments of queueMessage to be a list, got ${kindOf(attachments)}.`)
  const mayBeEmpty = attachments !== undefined && attachments.length > 0
  return check(message, { call: 'queueMessage', roles: ['user', 'assistant'], mayBeEmpty })
}

/** @throws a sentence on what is wrong with it */
export function checkUpdates(updates: MessageUpdates): MessageUpdates {
  const { content, silent, metadata } = asObject(updates, 'updateMessage')
  if (content !== undefined && (typeof content !== 'string' || content === ''))
    throw new Error(`Expected the content of updateMessage to have text, got ${kindOf(content)}.`)
  if (silent !== undefined && typeof silent !== 'boolean')
    throw new Error(`Expected silent of updateMessage to be true or false, got ${kindOf(silent)}.`)
  return {
    ...(content === undefined ? {} : { content }),
    ...(silent === undefined ? {} : { silent }),
    ...(metadata == null ? {} : { metadata: { ...jsonObjectCopy(metadata, 'metadata') } }),
  }
}

interface Rules<Role> {
  readonly call: string
  readonly roles: readonly Role[]
  /** Providers refuse a message without words and files. */
  readonly mayBeEmpty: boolean
}

function check<Role extends string>(
  message: unknown,
  { call, roles, mayBeEmpty }: Rules<Role>,
): CheckedMessage<Role> {
  const { role, content, silent = false, metadata } = asObject(message, call)
  const known = roles.find((one) => one === role)
  if (known === undefined) {
    const came = typeof role === 'string' ? `"${role}"` : kindOf(role)
    throw new Error(`Expected the role of ${call} to be one of ${roles.join(', ')}, got ${came}.`)
  }
  if (typeof content !== 'string')
    throw new Error(`Expected the content of ${call} to be a text, got ${kindOf(content)}.`)
  if (content === '' && !mayBeEmpty)
    throw new Error(`Expected the content of ${call} to have text, got none.`)
  if (typeof silent !== 'boolean')
    throw new Error(`Expected silent of ${call} to be true or false, got ${kindOf(silent)}.`)
  const copy = metadata == null ? null : { ...jsonObjectCopy(metadata, 'metadata') }
  return { role: known, content, silent, metadata: copy }
}

function asObject(message: unknown, call: string): { readonly [field: string]: unknown } {
  if (typeof message === 'object' && message !== null) return { ...message }
  throw new Error(`Expected ${call} to get a message, got ${kindOf(message)}.`)
}
