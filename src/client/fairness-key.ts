import { digestOf } from '../store/digest.js'

/** What Temporal takes, in bytes. */
const KEY_BYTES = 64

/** Shares a busy task queue between accounts: the account's own id, or its digest where that is longer than Temporal takes. */
export function fairnessKey(account: string): string {
  return Buffer.byteLength(account) <= KEY_BYTES ? account : digestOf(account)
}
