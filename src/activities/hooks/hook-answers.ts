/**
 * The parts of a hook's answer that several points check (K-16): nothing of an answer is used before it is checked.
 * Attachments and metadata are values on this side, never JSON text.
 *
 * Invariant: a check throws InvalidAnswer, and never anything else, for what cannot be used.
 */

import type { AttachmentRef } from '../../protocol/message.js'
import { jsonObjectCopy, kindOf } from '../thread-state/strict-json.js'
import { InvalidAnswer } from './hook-call.js'

/** The fields of a message that a create hook may change. */
interface MessageChange {
  readonly content: string | null
  readonly silent: boolean
  readonly metadata: Record<string, unknown> | null
  readonly attachments: readonly AttachmentRef[]
}

/** Returns the fields that a create hook may change, with the changes of its answer. @throws InvalidAnswer */
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

/** Accepts only a list of references: JSON text would be stored as a string that no reader can use. */
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
    // Checked above.
    return { ...file } as unknown as AttachmentRef
  })
}

export function asFields(value: unknown, name: string): { readonly [field: string]: unknown } {
  if (typeof value === 'object' && value !== null && !Array.isArray(value)) return { ...value }
  throw new InvalidAnswer(`Expected ${name}, got ${kindOf(value)}.`)
}
