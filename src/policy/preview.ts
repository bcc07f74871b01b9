/**
 * What a person is shown of a call before they approve it, apart from its arguments. A preview only describes: nothing has happened
 * when it is made.
 */
import { isObject, unwritableJson, utf8Length } from '../protocol/values.js'
import type { JsonValue } from '../protocol/values.js'

/** A part of a preview. `title` stands above it. */
export type PreviewPart =
  | { readonly type: 'text'; readonly text: string; readonly title?: string }
  | { readonly type: 'json'; readonly value: JsonValue; readonly title?: string }
  /** Two versions of a text; who shows it computes the difference. */
  | { readonly type: 'diff'; readonly before: string; readonly after: string; readonly title?: string }
  /** A file of the thread, by its path. */
  | { readonly type: 'file'; readonly path: string; readonly title?: string }

/** A text, a part, or several parts. */
export type Preview = string | PreviewPart | readonly PreviewPart[]

const MOST_PARTS = 50
const MOST_BYTES = 65_536

const FIELDS: Readonly<Record<PreviewPart['type'], readonly string[]>> = {
  text: ['text'],
  json: ['value'],
  diff: ['before', 'after'],
  file: ['path'],
}

/** The parts of a preview; a text is what is wrong with it. */
export function readPreview(preview: unknown): readonly PreviewPart[] | string {
  const given: unknown = typeof preview === 'string' ? { type: 'text', text: preview } : preview
  const parts: readonly unknown[] = Array.isArray(given) ? given : [given]
  if (parts.length > MOST_PARTS)
    return `Expected at most ${MOST_PARTS} parts of a preview, got ${parts.length}.`
  if (!parts.every(isPart))
    return 'Expected a preview that is a text, or parts { type: "text" | "json" | "diff" | "file", … }, got something else.'
  try {
    const bytes = utf8Length(JSON.stringify(parts))
    return bytes <= MOST_BYTES
      ? parts
      : `Expected a preview of at most ${MOST_BYTES} bytes, got ${bytes}: show a file of the thread.`
  } catch (error) {
    return `Expected a preview that JSON can carry, ${unwritableJson(error)}`
  }
}

function isPart(part: unknown): part is PreviewPart {
  if (!isObject(part) || typeof part['type'] !== 'string' || !Object.hasOwn(FIELDS, part['type']))
    return false
  const { type, title } = part
  if (title !== undefined && typeof title !== 'string') return false
  const names = FIELDS[type as PreviewPart['type']]
  return names.every((name) => (type === 'json' ? part[name] !== undefined : typeof part[name] === 'string'))
}
