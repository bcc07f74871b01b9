/**
 * The original errors of a thread: the text of a provider, or what a tool's code threw, with its stack. They are for operators,
 * and may quote the conversation (T5): no event, no history and no account of the HTTP server has them.
 */
import { LIMITS } from '../../protocol/limits.js'
import { findError, listErrors } from '../../store/errors.js'
import type { ErrorRecord } from '../../store/errors.js'
import { redactKnownSecrets } from '../../store/known-secrets.js'
import { requireThread } from '../client-context.js'
import type { ClientContext } from '../client-context.js'

/**
 * An error of a thread as it is stored, without the secrets that were known when it was stored or are known to this
 * process.
 */
export interface RecordedError {
  /** The id under which the log of the worker and the `errorId` of events name it. */
  readonly id: string
  /** Microseconds since 1970. */
  readonly at: number
  /** The kind of a provider's failure, `tool.threw`, `hook.threw`, or the name of an error. */
  readonly type: string
  readonly message: string
  readonly stack: string | null
}

/** The errors of a thread that `errors()` returns. */
export interface ErrorsOptions {
  /** Only the error with this id. */
  readonly id?: string
  /** At most so many, the newest ones. @default 100 */
  readonly limit?: number
}

/** Lists the newest errors of a thread, the oldest of them first. @throws ThreadNotFoundError */
export async function listRecordedErrors(
  context: ClientContext,
  threadId: string,
  { id, limit = 100 }: ErrorsOptions,
): Promise<readonly RecordedError[]> {
  const store = await context.store()
  return store.read(async (db) => {
    await requireThread(db, threadId)
    if (id === undefined)
      return (await listErrors(db, { threadId, limit: Math.min(limit, LIMITS.longestPage) })).map(
        toRecordedError,
      )
    const found = await findError(db, id)
    // An error of another thread is not found here.
    return found?.threadId === threadId ? [toRecordedError(found)] : []
  })
}

function toRecordedError({ id, at, type, message, stack }: ErrorRecord): RecordedError {
  return {
    ...{ id, at, type },
    message: redactKnownSecrets(message),
    stack: stack === null ? null : redactKnownSecrets(stack),
  }
}
