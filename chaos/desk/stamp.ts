import type { ThreadState, ToolResult } from 'everthread'

import { pause } from './act.js'
import type { Work } from './act.js'
import { digestOf, expectedBytes, stampedName } from './chaos-files.js'

/** Reads a file, whose name says what it must hold, and makes another one of it. */
export async function stamp(state: ThreadState, args: Work & { readonly path: string }): Promise<ToolResult> {
  const name = args.path.split('/').at(-1) ?? ''
  const bytes = await state.readFile(args.path)
  const expected = expectedBytes(name)
  if (bytes === null || expected === null) return { status: 'error', error: `There is no ${args.path}.` }
  if (digestOf(new Uint8Array(bytes)) !== digestOf(expected))
    return { status: 'error', error: `Damaged: ${args.path}.` }
  await pause(state, args.before)
  const data = new Uint8Array(bytes).toReversed()
  const attachment = { name: stampedName(name), mimeType: 'application/octet-stream', data }
  return { status: 'success', result: `stamped ${args.ref}`, attachments: [attachment] }
}
