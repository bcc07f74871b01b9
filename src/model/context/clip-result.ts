import { LIMITS } from '../../protocol/limits.js'

import type { TranscriptRow } from './transcript-row.js'

/** A tool row of which only head and tail are left; other rows, and short ones, as they are. */
export function clipResult<Row extends TranscriptRow>(row: Row): Row {
  const { role, content } = row
  if (role !== 'tool' || content === null) return row
  const bytes = Buffer.from(content)
  if (bytes.byteLength <= LIMITS.clippedResultBytes) return row
  const half = LIMITS.clippedResultBytes / 2
  const left = bytes.byteLength - LIMITS.clippedResultBytes
  const note = `[… ${left} bytes are left out here …]`
  const [head, tail] = [bytes.subarray(0, half), bytes.subarray(-half)].map((part) =>
    // A character that the cut went through.
    part.toString().replaceAll(/^�+|�+$/g, ''),
  )
  return { ...row, content: `${head}\n\n${note}\n\n${tail}` }
}
