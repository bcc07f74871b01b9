/** Bytes of UTF-8. Databases do not accept longer keys, nor file systems longer names. */
const PATH_BYTES = 1024

const NAME_LENGTH = 255

/** What is wrong with a path; undefined for a valid one: absolute, normalised, no `..`, at most 1,024 bytes. */
export function filePathProblem(path: unknown): string | undefined {
  const expected = 'Expected an absolute path such as /notes/plan.md'
  if (typeof path !== 'string') return `${expected}, got no text`
  if (!path.startsWith('/')) return `${expected}, got one that does not start with "/"`
  const bytes = Buffer.byteLength(path)
  if (bytes > PATH_BYTES) return `Expected a path of at most ${PATH_BYTES} bytes in UTF-8, got ${bytes}`
  // oxlint-disable-next-line no-control-regex -- they would break terminals, logs and the model's view of a path
  if (/[\u0000-\u001f\u007f]/.test(path)) return `${expected}, got one with control characters`
  if (/\p{Surrogate}/u.test(path)) return `${expected}, got one with half a character`
  for (const name of path.slice(1).split('/')) {
    if (name === '') return `${expected}, got an empty name in it: no "//" and no "/" at the end`
    if (name === '.' || name === '..') return `${expected}, got "${name}" in it: write the path out`
    if (name.length > NAME_LENGTH) {
      return `Expected names of at most ${NAME_LENGTH} characters in a path, got ${name.length}`
    }
  }
  return undefined
}

/** @throws FileError `invalid_path` */
export function checkFilePath(path: unknown): void {
  const problem = filePathProblem(path)
  if (problem !== undefined) throw new FileError('invalid_path', problem)
}

export function nameOf(path: string): string {
  return path.slice(path.lastIndexOf('/') + 1)
}

/** The parent folder of a path; '/' at the top. */
export function folderOf(path: string): string {
  return path.slice(0, path.lastIndexOf('/')) || '/'
}

/** The folders above a path, from the top: `/a` and `/a/b` for `/a/b/c.txt`. */
export function foldersAbove(path: string): readonly string[] {
  const names = path.slice(1).split('/').slice(0, -1)
  return names.map((_name, index) => `/${names.slice(0, index + 1).join('/')}`)
}

export type FileErrorCode =
  | 'invalid_path'
  | 'invalid_content'
  | 'not_found'
  | 'is_folder'
  | 'is_file'
  | 'not_a_folder'
  | 'not_empty'

const MARKER = Symbol.for('everthread.FileError')

/** A file operation that is impossible. Thrown before anything is written. */
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

/** The longest MIME type, which becomes a line of a header. */
const MIME_TYPE_LENGTH = 255

/** Checks what callers without types may pass. @throws FileError `invalid_content` for invalid bytes or an invalid type */
export function checkFileContent(path: string, data: unknown, mimeType: unknown): void {
  const isBytes = typeof data === 'string' || data instanceof Uint8Array || isStream(data)
  if (!isBytes)
    throw new FileError(
      'invalid_content',
      `Expected the data of ${path} to be bytes, a text or a stream of bytes, got ${fileNameOf(data)}`,
    )
  if (typeof mimeType === 'string' && mimeType !== '' && mimeType.length <= MIME_TYPE_LENGTH) return
  throw new FileError(
    'invalid_content',
    `Expected the MIME type of ${path} to be a text such as text/plain, got ${fileNameOf(mimeType)}`,
  )
}

function isStream(data: unknown): boolean {
  return typeof data === 'object' && data !== null && Symbol.asyncIterator in data
}

function fileNameOf(value: unknown): string {
  if (value === null) return 'null'
  return typeof value === 'string' ? `a text of ${value.length} characters` : typeof value
}
