export type FileErrorCode =
  | 'invalid_path'
  | 'invalid_content'
  | 'not_found'
  | 'is_folder'
  | 'is_file'
  | 'not_a_folder'
  | 'not_empty'

const MARKER = Symbol.for('everthread.FileError')

/** A file operation that cannot be done on this thread's files. Thrown before anything of it is written. */
export class FileError extends Error {
  override readonly name = 'FileError'
  readonly code: FileErrorCode
  readonly [MARKER] = true

  constructor(code: FileErrorCode, message: string) {
    super(message)
    this.code = code
  }

  /** True for a FileError of any copy of this package. */
  static isInstance(error: unknown): error is FileError {
    return error instanceof Error && MARKER in error
  }
}
