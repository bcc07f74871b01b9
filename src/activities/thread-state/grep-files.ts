import { createContext, Script } from 'node:vm'
import type { BlobStore } from '../../store/files/blob-store.js'
import type { FilesOverlay } from './files-overlay.js'

/** Larger files are passed over. */
const FILE_BYTES = 1024 * 1024
/** Lines in all; more would not fit a model's context anyway. */
const MATCHES = 1000
const LINE_LENGTH = 1000
/** Milliseconds of matching in all, during which the worker does nothing else: a few heartbeats fit into its timeout. */
const TIME = 2000

const TEXT_TYPE =
  /^text\/|[/+.-](json|jsonl|ndjson|xml|yaml|toml|javascript|ecmascript|typescript|sh|shellscript|sql|graphql)$/

export interface Grep {
  readonly files: FilesOverlay
  readonly blobs: BlobStore
  /** A regular expression. */
  readonly pattern: string
}

/** Lines that match, of text files up to 1 MB; at most 1,000 lines, each cut to 1,000 characters. */
export async function grepFiles({
  files,
  blobs,
  pattern,
}: Grep): Promise<{ path: string; matches: string[] }[]> {
  const match = createMatcher(pattern)
  const found: { path: string; matches: string[] }[] = []
  let left = MATCHES
  for (const path of await files.find('*')) {
    const file = await files.stat(path)
    if (file === null || file.blob === null || file.size > FILE_BYTES || !isText(file.mimeType)) continue
    const bytes = await blobs.read(file.blob)
    if (bytes === null) continue
    const matches = match(new TextDecoder().decode(bytes)).slice(0, left)
    if (matches.length > 0) found.push({ path, matches: matches.map((line) => line.slice(0, LINE_LENGTH)) })
    left -= matches.length
    if (left === 0) break
  }
  return found
}

function isText(mimeType: string): boolean {
  return TEXT_TYPE.test(mimeType.split(';', 1)[0]?.trim().toLowerCase() ?? '')
}

/** Expressions come from models: one that backtracks for ever is cut off, which only a script of its own can be. */
function createMatcher(pattern: string): (text: string) => readonly string[] {
  const place: { expression: RegExp; lines: readonly string[] } = {
    expression: expressionOf(pattern),
    lines: [],
  }
  const context = createContext(place)
  const script = new Script('lines.filter((line) => expression.test(line))')
  let left = TIME
  return (text) => {
    place.lines = text.split(/\r?\n/)
    const start = performance.now()
    try {
      // The script's own words decide what it answers.
      return script.runInContext(context, { timeout: Math.max(1, Math.ceil(left)) }) as readonly string[]
    } catch (error) {
      if (isTimeout(error)) throw tooSlow()
      throw error
    } finally {
      left -= performance.now() - start
    }
  }
}

/** The error is of the script's realm: no `Error` of ours. */
function isTimeout(error: unknown): boolean {
  return (
    typeof error === 'object' &&
    error !== null &&
    'code' in error &&
    error.code === 'ERR_SCRIPT_EXECUTION_TIMEOUT'
  )
}

function expressionOf(pattern: unknown): RegExp {
  if (typeof pattern !== 'string')
    throw new Error(`Expected a regular expression as text, got a ${typeof pattern}.`)
  try {
    return new RegExp(pattern)
  } catch (error) {
    throw new Error(`Expected a regular expression, got one that is not valid: ${String(error)}`, {
      cause: error,
    })
  }
}

function tooSlow(): Error {
  return new Error(
    `Expected a regular expression that is done in ${TIME / 1000} s, got a slower one: simplify it.`,
  )
}
