import type { ResultAnswer, Usage } from '../../protocol/activities.js'
import { FileError } from '../../store/file-error.js'
import type { Store } from '../../store/store.js'
import type { HookBatch } from '../hooks/hook-batch.js'
import type { HeldCall } from './begin-call.js'
import { failed } from './call-result.js'
import type { CallResult } from './call-result.js'
import { commitResult } from './commit-result.js'
import type { Alongside } from './commit-result.js'
import type { PreparedResult } from './prepared-result.js'

interface Made extends Pick<Alongside, 'ending'> {
  readonly result: CallResult | PreparedResult
  /** With the state of the call. */
  readonly hooks: HookBatch
  readonly usage?: Usage | null
}

/**
 * The result with all that the call did to its thread (T9). A path that somebody else has turned into another kind
 * meanwhile costs the call its effects, not its result.
 */
export async function commitWithEffects(
  store: Store,
  call: HeldCall,
  { result, hooks, usage = null, ending }: Made,
): Promise<ResultAnswer> {
  const alongside = { usage, ...(ending !== undefined && { ending }) }
  try {
    return await commitResult(store, call, result, { ...alongside, hooks })
  } catch (error) {
    if (!FileError.isInstance(error)) throw error
    return commitResult(store, call, failed(error.message, 'invalid_file'), alongside)
  }
}
