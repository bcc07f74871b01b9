/**
 * The boundary between stored messages and hooks (K-16): attachments and metadata are values on this side, never JSON
 * text, and what comes back is looked at before anything of it is stored.
 */
import { isDeepStrictEqual } from 'node:util'
import type { AttachmentRef, Message } from '../../protocol/message.js'
import { jsonObjectCopy, kindOf } from '../thread-state/strict-json.js'
import { InvalidAnswer } from './hook-failure.js'

/** What a create hook may change of a message. */
export interface MessageChange {
  readonly content: string | null
  readonly silent: boolean
  readonly metadata: Record<string, unknown> | null
  readonly attachments: readonly AttachmentRef[]
}

const CHANGEABLE: ReadonlySet<string> = new Set(['content', 'silent', 'metadata', 'attachments'])

/** Nothing keeps it. Fields that are left out are as they were. @throws InvalidAnswer */
export function acceptMessage(answer: unknown, message: Message): Message | undefined {
  if (answer === undefined || answer === null) return undefined
  const given = asFields(answer, 'a message')
  for (const [name, value] of Object.entries(given)) {
    if (CHANGEABLE.has(name) || value === undefined) continue
    if (!isDeepStrictEqual(value, Reflect.get(message, name)))
      throw new InvalidAnswer(`Expected ${name} of the message to be left as it is: a hook cannot change it.`)
  }
  return { ...message, ...changeOf(given, message) }
}

/** What differs is what is stored anew. */
export function changeOf(given: { readonly [name: string]: unknown }, message: MessageChange): MessageChange {
  const { content = message.content, silent = message.silent } = given
  if (content !== null && typeof content !== 'string')
    throw new InvalidAnswer(`Expected content of the message to be a text or null, got ${kindOf(content)}.`)
  if (typeof silent !== 'boolean')
    throw new InvalidAnswer(`Expected silent of the message to be true or false, got ${kindOf(silent)}.`)
  const { metadata, attachments } = given
  return {
    content,
    silent,
    metadata: metadata === undefined ? message.metadata : acceptMetadata(metadata),
    attachments: attachments === undefined ? message.attachments : acceptAttachments(attachments),
  }
}

function acceptMetadata(metadata: unknown): Record<string, unknown> | null {
  if (metadata === null) return null
  try {
    return { ...jsonObjectCopy(metadata, 'metadata') }
  } catch (error) {
    throw new InvalidAnswer(error instanceof Error ? error.message : String(error))
  }
}

/** A list of references: text would be stored as text, and lost to every reader. */
function acceptAttachments(attachments: unknown): readonly AttachmentRef[] {
  if (!Array.isArray(attachments))
    throw new InvalidAnswer(
      `Expected attachments of the message to be a list of references, got ${kindOf(attachments)}.`,
    )
  return attachments.map((given: unknown, index) => {
    const file = asFields(given, `attachments[${index}]`)
    const texts = ['id', 'path', 'name', 'mimeType'].every((name) => typeof file[name] === 'string')
    if (!texts || file['type'] !== 'file' || typeof file['size'] !== 'number')
      throw new InvalidAnswer(
        `Expected attachments[${index}] to be a reference { id, type: "file", path, name, mimeType, size }.`,
      )
    // Looked at above: the boundary to the hook.
    return { ...file } as unknown as AttachmentRef
  })
}

export function asFields(value: unknown, name: string): { readonly [field: string]: unknown } {
  if (typeof value === 'object' && value !== null && !Array.isArray(value)) return { ...value }
  throw new InvalidAnswer(`Expected ${name}, got ${kindOf(value)}.`)
}
