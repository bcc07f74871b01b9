/**
 * `busy`: another process held the database for too long. `unavailable`: disk full, read-only, no permission.
 * `corrupt`: what is stored is not what was written. `incompatible`: made by another program or a newer version.
 * `too_large`: a file above the limit. `closed`: used after `close`. `no_key`: a secret, and not the key that it needs.
 */
export type StoreErrorCode =
  | 'busy'
  | 'unavailable'
  | 'corrupt'
  | 'incompatible'
  | 'too_large'
  | 'closed'
  | 'no_key'

const MARKER = Symbol.for('everthread.StoreError')

/** What the store answers when it cannot do its work; the message says what to do. Holds no content of a thread. */
export class StoreError extends Error {
  override readonly name = 'StoreError'
  readonly code: StoreErrorCode
  readonly [MARKER] = true

  constructor(code: StoreErrorCode, message: string, cause?: unknown) {
    super(message, cause === undefined ? undefined : { cause })
    this.code = code
  }

  /** True for a StoreError of any copy of this package. */
  static isInstance(error: unknown): error is StoreError {
    return error instanceof Error && MARKER in error
  }
}
