/**
 * `busy`: another process held the database for too long. `unavailable`: disk full, read-only, no permission.
 * `corrupt`: stored data differ from what was written. `incompatible`: made by another program or a newer version.
 * `too_large`: a file above the limit. `closed`: used after `close`. `no_key`: the key of a secret is missing.
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

/** A failure of the store. Its message says what to do, and contains no content of a thread. */
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
