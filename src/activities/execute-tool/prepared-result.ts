import type { Store, Writer } from '../../store/store.js'
import type { HookBatch } from '../hooks/hook-batch.js'
import { atNewPath } from '../thread-state/moved-attachment.js'
import type { HeldCall } from './begin-call.js'
import { ERROR_PREFIX } from './call-result.js'
import type { CallResult } from './call-result.js'
import { hookResult } from './hook-result.js'
import { shownText } from './long-text.js'

/** A result that has met the hooks of results, and is bounded. */
export interface PreparedResult {
  readonly result: CallResult
  /** A hook took the call and its result out of the transcript. */
  readonly erased: boolean
  /** Stores what goes with it. */
  readonly put: (tx: Writer) => Promise<void>
}

/** A result of words only: what a hook makes of it is stored whole beside its head and tail, as every long text is. */
export async function preparedResult(
  store: Store,
  call: HeldCall,
  { made, hooks }: { readonly made: CallResult; readonly hooks: HookBatch },
): Promise<PreparedResult> {
  const { result, erased } = await hookResult(hooks, call, made)
  const { content, outcome } = result
  // The file holds the words themselves.
  const prefix = outcome !== 'succeeded' && content.startsWith(ERROR_PREFIX) ? ERROR_PREFIX : ''
  const { text, put } = await shownText(store, call, content.slice(prefix.length))
  return { result: { ...result, content: prefix + text }, erased, put }
}

/** With its files where the commit put them. */
export function atNewPaths(result: CallResult, moved: ReadonlyMap<string, string>): CallResult {
  const { session } = result
  const attachments = result.attachments.map((file) => atNewPath(file, moved))
  if (session === null) return { ...result, attachments }
  const given = session.attachments.map((file) => atNewPath(file, moved))
  return { ...result, attachments, session: { ...session, attachments: given } }
}
