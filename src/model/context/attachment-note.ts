import type { AttachmentRef } from '../../protocol/message.js'
import type { ReadFiles } from './inlined-files.js'

/** Tells the model which files a row has and where they are in its thread; '' if there are none. */
export function attachmentNote(attachments: readonly AttachmentRef[], files?: ReadFiles): string {
  if (attachments.length === 0) return ''
  const lines = attachments.map((file) => fileLine(file) + (files?.get(file) === null ? UNREADABLE : ''))
  return ['Attached files:', ...lines].join('\n')
}

const UNREADABLE = ' (could not be read)'

function fileLine({ name, mimeType, size, path }: AttachmentRef): string {
  return `- ${oneLine(name)} (${oneLine(mimeType)}, ${size} bytes) at ${oneLine(path)}`
}

/** A file name with a line break could otherwise pass for a line of its own. */
function oneLine(text: string): string {
  return text.replaceAll(/\p{Cc}+/gu, ' ')
}
