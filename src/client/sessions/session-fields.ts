/**
 * The fields of a session that callers give.
 * Owns: their shapes and bounds, for the creation of a session and for changes of it.
 */
import { LIMITS } from '../../protocol/limits.js'
import { halfCharacterProblem, isName, isObject, unwritableJson, utf8Length } from '../../protocol/values.js'
import type { JsonObject, JsonValue } from '../../protocol/values.js'

/** What a caller says about a session. */
export interface SessionFields {
  /** At most 500 characters. */
  readonly title?: string | null
  readonly tags?: readonly string[]
  /** What the session is for your application, such as the id of a conversation or of a job: at most 16 KB as JSON. */
  readonly metadata?: JsonObject | null
  /** Where its work takes place, such as a folder, a data set or an account: at most 2,048 characters. It is not opened. */
  readonly workspaceUri?: string | null
}

/** A title is shown in lists. */
const TITLE_LENGTH = 500
const URI_LENGTH = 2048
const METADATA_BYTES = 16 * 1024
const METADATA_DEPTH = 100

/** What is wrong with the fields, each problem as a sentence. */
export function sessionFieldProblems({
  title,
  tags,
  metadata,
  workspaceUri,
}: SessionFields): readonly string[] {
  return [
    textProblem('title', title, TITLE_LENGTH),
    tagsProblem(tags),
    metadataProblem(metadata),
    textProblem('workspaceUri', workspaceUri, URI_LENGTH),
  ].filter((problem) => problem !== undefined)
}

function textProblem(name: string, value: unknown, most: number): string | undefined {
  if (value === undefined || value === null) return undefined
  if (typeof value !== 'string' || value.length > most)
    return `Expected "${name}" to be a text of at most ${most} characters, got ${typeof value === 'string' ? value.length : typeof value}.`
  return halfCharacterProblem(`"${name}"`, value)
}

function tagsProblem(tags: unknown): string | undefined {
  if (tags === undefined) return undefined
  if (!Array.isArray(tags) || tags.length > LIMITS.startNames || !tags.every(isName))
    return `Expected "tags" to be a list of at most ${LIMITS.startNames} texts of 1 to ${LIMITS.threadIdLength} characters, got another.`
  return tags
    .map((tag) => halfCharacterProblem('each of "tags"', tag))
    .find((problem) => problem !== undefined)
}

function metadataProblem(metadata: unknown): string | undefined {
  if (metadata === undefined || metadata === null) return undefined
  const expected = `Expected "metadata" to be a JSON object of at most ${METADATA_BYTES} bytes`
  if (!isObject(metadata)) return `${expected}, got ${Array.isArray(metadata) ? 'a list' : typeof metadata}.`
  try {
    const text = JSON.stringify(metadata)
    if (utf8Length(text) > METADATA_BYTES) return `${expected}, got ${utf8Length(text)}: write it to a file.`
    if (isDeeper(JSON.parse(text) as JsonValue, METADATA_DEPTH))
      return `${expected}, got one that is nested more than ${METADATA_DEPTH} deep: flatten it.`
    return undefined
  } catch (error) {
    return `${expected}, ${unwritableJson(error)}`
  }
}

function isDeeper(value: JsonValue, depth: number): boolean {
  if (typeof value !== 'object' || value === null) return false
  return depth === 0 || Object.values(value).some((part) => isDeeper(part as JsonValue, depth - 1))
}
