import type { ResultAnswer, Usage } from '../../protocol/activities.js'
import { FileError } from '../../store/file-error.js'
import type { Store } from '../../store/store.js'
import type { BufferedState } from '../thread-state/buffered-thread-state.js'
import type { HeldCall } from './begin-call.js'
import { failed } from './call-result.js'
import { commitResult } from './commit-result.js'
import type { PendingResult } from './to-call-result.js'

interface Made {
  readonly result: PendingResult
  readonly state: BufferedState
  readonly usage?: Usage | null
}

/**
 * The result with all that the call did to its thread (T9). A path that somebody else has turned into another kind
 * meanwhile costs the call its effects, not its result.
 */
export async function commitWithEffects(
  store: Store,
  call: HeldCall,
  { result, state, usage = null }: Made,
): Promise<ResultAnswer> {
  try {
    return await commitResult(store, call, result, { effects: (tx) => state.commit(tx), usage })
  } catch (error) {
    if (!FileError.isInstance(error)) throw error
    return commitResult(store, call, failed(error.message, 'invalid_file'), { usage })
  }
}
