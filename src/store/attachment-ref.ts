import type { AttachmentRef } from '../protocol/message.js'
import type { StoredFile } from './file-row.js'

/** How messages and tool results name a file of their thread. */
export function attachmentRef(file: StoredFile): AttachmentRef {
  return {
    id: file.path,
    type: 'file',
    path: file.path,
    name: file.name,
    mimeType: file.mimeType,
    size: file.size,
    ...(file.width === null ? {} : { width: file.width }),
    ...(file.height === null ? {} : { height: file.height }),
  }
}
