import type { AttachmentRef } from '../../protocol/message.js'
import { partsText } from './answer-parts.js'
import type { Author } from './answer-parts.js'
import { attachmentNote, fileTokens } from './inlined-files.js'
import type { TranscriptRow } from './transcript-row.js'

/** English and JSON are about 4 bytes a token, Chinese with its 3 bytes a character about 1.3 characters. */
const BYTES_PER_TOKEN = 4
/** Role and separators. */
const TOKENS_PER_ROW = 8

/**
 * An estimate of the tokens of a text. It need not be exact: the windows of models are known to a tenth at best, 20 % of
 * them stay free, and a request that is still too long is cut again.
 */
export function textTokens(text: string | null): number {
  return text === null ? 0 : Math.ceil(Buffer.byteLength(text) / BYTES_PER_TOKEN)
}

/** An estimate of the tokens of a row, with those of its files that are sent. */
export function rowTokens(
  row: TranscriptRow,
  {
    inlined,
    author,
    inTurn,
  }: {
    readonly inlined: ReadonlySet<AttachmentRef>
    readonly author: Author | null
    /** The row belongs to the current turn. */
    readonly inTurn: boolean
  },
): number {
  const parts = partsText(row, author, inTurn)
  const texts = [row.content, row.tool_calls, attachmentNote(row.attachments), parts]
  const files = row.attachments.filter((file) => inlined.has(file)).map(fileTokens)
  return [TOKENS_PER_ROW, ...texts.map(textTokens), ...files].reduce((sum, tokens) => sum + tokens)
}
