import { LIMITS } from '../../protocol/limits.js'
import { putFile } from '../../store/files.js'
import type { Store, Writer } from '../../store/store.js'
import type { HeldCall } from './begin-call.js'

const HEAD = 6000
const TAIL = 2000

interface ShownText {
  readonly text: string
  /** Gives the whole text its path, in the transaction that stores the result. */
  readonly put: (tx: Writer) => Promise<void>
}

/** A text above 64 KB is stored whole as a file of the thread; the model reads its head, its tail and the path. */
export async function shownText(store: Store, { input, now }: HeldCall, text: string): Promise<ShownText> {
  const bytes = Buffer.from(text)
  if (bytes.byteLength <= LIMITS.toolResultBytes) return { text, put: async () => undefined }
  const { digest: blob, size } = await store.blobs.write(bytes.subarray(0, LIMITS.fileBytes))
  const path = `/results/${input.callId}.txt`
  const note = `[… ${size} bytes in all; the whole result is in ${path} …]`
  return {
    text: `${text.slice(0, HEAD)}\n\n${note}\n\n${text.slice(-TAIL)}`,
    put: async (tx) => {
      await putFile(tx, { threadId: input.threadId, path, mimeType: 'text/plain', size, blob, now })
    },
  }
}
