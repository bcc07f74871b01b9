import type { AttachmentRef } from '../../protocol/message.js'

/** Tells the model which files a row has and where they are in its thread; '' if there are none. */
export function attachmentNote(attachments: readonly AttachmentRef[]): string {
  if (attachments.length === 0) return ''
  return ['Attached files:', ...attachments.map(fileLine)].join('\n')
}

function fileLine({ name, mimeType, size, path }: AttachmentRef): string {
  return `- ${oneLine(name)} (${oneLine(mimeType)}, ${size} bytes) at ${oneLine(path)}`
}

/** A file name with a line break could otherwise pass for a line of its own. */
function oneLine(text: string): string {
  return text.replaceAll(/\p{Cc}+/gu, ' ')
}
