import { checkFilePath, FileError } from '../../store/files/file-row.js'
import { kindOf } from './strict-json.js'

/** Paths come from models too. @throws FileError `invalid_path` */
export function checkPath(path: unknown): void {
  if (typeof path === 'string') return checkFilePath(path)
  throw new FileError('invalid_path', `Expected a path as text, got ${kindOf(path)}`)
}

export function notFound(path: string): FileError {
  return new FileError(
    'not_found',
    `Expected a file or folder of this thread, got ${path}, which is not there`,
  )
}

export function isFolder(path: string, advice: string): FileError {
  return new FileError('is_folder', `Expected a file, got the folder ${path}: ${advice}`)
}

export function notAFolder(path: string): FileError {
  return new FileError('not_a_folder', `Expected a folder, got the file ${path}: use another path`)
}

export function notEmpty(path: string, inside: number): FileError {
  return new FileError(
    'not_empty',
    `Expected an empty folder, got ${inside} entries in ${path}: remove them first`,
  )
}
