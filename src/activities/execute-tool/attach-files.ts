import type { AttachmentRef } from '../../protocol/message.js'
import type { BufferedState } from '../thread-state/buffered-thread-state.js'
import { readThrown } from '../thrown.js'

type Given = Parameters<BufferedState['attach']>[0]

/**
 * A sentence for the model where a file is not there, not fit, or empty: an empty one was never meant. What throws when it is
 * looked at is not fit.
 */
export async function attachFiles(
  state: BufferedState,
  files: Given,
): Promise<readonly AttachmentRef[] | string> {
  if (files.length === 0) return []
  try {
    const blank = files.find(isBlank)
    if (blank !== undefined) return emptyFile(nameOf(blank))
    const attached = await state.attach(files)
    const empty = attached.find(({ size }) => size === 0)
    return empty === undefined ? attached : emptyFile(empty.path)
  } catch (error) {
    return readThrown(error).message
  }
}

function isBlank(file: Given[number]): boolean {
  if (typeof file !== 'object' || file === null || !('data' in file)) return false
  return typeof file.data === 'string' ? file.data === '' : file.data?.byteLength === 0
}

function nameOf(file: Given[number]): string {
  return typeof file === 'object' && 'name' in file ? String(file.name) : 'one'
}

function emptyFile(name: string): string {
  return `Expected the attachment ${name} to have content, got a file of 0 bytes.`
}
