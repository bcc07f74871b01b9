import { FileError } from './file-error.js'

/** Bytes of UTF-8: a longer path is no key of a database, nor a name of a file system. */
const PATH_BYTES = 1024
const NAME_LENGTH = 255

/** What is wrong with a file's path, or undefined: absolute, normalised, no `..`, at most 1,024 bytes. */
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

/** '/' for what is at the top. */
export function folderOf(path: string): string {
  return path.slice(0, path.lastIndexOf('/')) || '/'
}

/** From the top: `/a` and `/a/b` for `/a/b/c.txt`. */
export function foldersAbove(path: string): readonly string[] {
  const names = path.slice(1).split('/').slice(0, -1)
  return names.map((_name, index) => `/${names.slice(0, index + 1).join('/')}`)
}
