import type { AttachmentRef } from '../../protocol/message.js'
import type { ModelFile } from '../../model/model-answer.js'
import type { ModelStep } from './model-step.js'

/** Extensions that their subtype does not say. */
const EXTENSIONS: ReadonlyMap<string, string> = new Map([
  ['image/jpeg', 'jpg'],
  ['image/svg+xml', 'svg'],
  ['audio/mpeg', 'mp3'],
  ['audio/x-wav', 'wav'],
  ['text/plain', 'txt'],
  ['text/markdown', 'md'],
  ['application/octet-stream', 'bin'],
])

/**
 * Makes the files of an answer files of the thread: the bytes go to the blob store now, the entries are written with the answer
 * (T9). Hooks of the message can read them. Models give no names, so they are called by their kind.
 */
export async function attachFiles(
  { hooks }: ModelStep,
  files: readonly ModelFile[],
): Promise<readonly AttachmentRef[]> {
  if (files.length === 0) return []
  const { attach } = await hooks.state()
  return attach(files.map(({ mimeType, data }) => ({ name: fileName(mimeType), mimeType, data })))
}

/** `image.png` for `image/png`. */
export function fileName(mimeType: string): string {
  const [kind = '', subtype = ''] = mimeType.split('/')
  const extension = EXTENSIONS.get(mimeType) ?? (/^[a-z0-9]{1,8}$/.test(subtype) ? subtype : 'bin')
  return `${kind === 'application' ? 'file' : kind}.${extension}`
}
