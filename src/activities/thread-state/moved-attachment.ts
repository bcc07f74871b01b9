import type { AttachmentRef } from '../../protocol/message.js'
import { nameOf } from '../../store/files/file-row.js'

/** The same file where the commit put it. */
export function atNewPath(file: AttachmentRef, moved: ReadonlyMap<string, string>): AttachmentRef {
  const path = moved.get(file.path)
  return path === undefined ? file : { ...file, id: path, path, name: nameOf(path) }
}
