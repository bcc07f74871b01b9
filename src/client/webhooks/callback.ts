/**
 * What a message comes to, posted once to a URL that the sender gives with it (asynchronous HTTP).
 *
 * Owns: the check of a callback, and its row. Does not own: what is posted, and when (`deliver-webhooks.ts`): a callback is a webhook of one
 * message, which ends with its first success.
 */
import { createHash } from 'node:crypto'
import { urlProblem } from '../../egress/guarded-request.js'
import { isObject } from '../../protocol/values.js'
import { nowMicros } from '../../protocol/time.js'
import type { Store, Writer } from '../../store/store.js'
import { insertWebhook } from '../../store/webhooks/webhooks.js'
import { requireThread } from '../client-context.js'
import type { ClientContext } from '../client-context.js'
import { secretProblem } from './signature.js'

/** Where the end of a message is posted. */
export interface MessageCallback {
  /** https, on the public internet; `egress.allow` of the client has the exceptions. */
  readonly url: string
  /** The secret of the signature, which you make: `whsec_` with 24 to 64 random bytes in base64. */
  readonly secret: string
}

/** Explains what is wrong with a callback; undefined if nothing is. */
export function callbackProblem({ egress }: ClientContext, callback: unknown): string | undefined {
  if (callback === undefined) return undefined
  if (!isObject(callback)) return `Expected "callback" to be { url, secret }, got ${typeof callback}.`
  const problem = urlProblem(callback['url'], egress) ?? secretProblem(callback['secret'])
  return problem === undefined ? undefined : `callback: ${problem}`
}

/** One for each message. */
export function callbackIdOf(threadId: string, messageId: string): string {
  const digest = createHash('sha256')
    .update(JSON.stringify([threadId, messageId]))
    .digest('hex')
  return `cb_${digest.slice(0, 32)}`
}

interface NewCallback {
  readonly threadId: string
  readonly messageId: string
  readonly callback: MessageCallback
  /** A place in the order of all events before the message. */
  readonly cursor: string
}

/** Stores the callback of a new message, in the transaction that accepts the message. @throws StoreError `no_key` */
export async function insertCallback(
  tx: Writer,
  secrets: Store['secrets'],
  { threadId, messageId, callback, cursor }: NewCallback,
): Promise<void> {
  const { root_thread_id: root, account } = await requireThread(tx, threadId)
  await insertWebhook(tx, secrets, {
    ...{ id: callbackIdOf(threadId, messageId), account, thread_id: root, types: null, cursor },
    ...{ url: callback.url, secret: callback.secret, now: nowMicros() },
    message: { threadId, messageId },
  })
}
