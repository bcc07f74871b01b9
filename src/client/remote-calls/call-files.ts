import { LIMITS } from '../../protocol/limits.js'
import { putStagedFile } from '../../store/calls/remote-calls.js'
import type { StagedFile } from '../../store/calls/remote-calls.js'
import { remoteRedactor } from '../../store/calls/remote-secrets.js'
import { statFile } from '../../store/files/attachments.js'
import type { StoredBlob } from '../../store/files/blob-store.js'
import { filePathProblem } from '../../store/files/file-row.js'
import { StoreError } from '../../store/store-error.js'
import type { Store } from '../../store/store.js'
import type { ClientContext } from '../client-context.js'
import { heldCall } from './held-call.js'
import type { HeldRemoteCall } from './held-call.js'
import { RemoteCallError } from './remote-call-error.js'

export interface CallFile {
  readonly mimeType: string
  readonly size: number
  readonly bytes: AsyncIterable<Uint8Array>
}

/** A file of the thread as the call sees it: what it has written itself goes first. Null if there is none. @throws RemoteCallError */
export async function readCallFile(
  context: ClientContext,
  held: HeldRemoteCall,
  path: string,
): Promise<CallFile | null> {
  checkPath(held, path)
  const store = await context.store()
  const found = await store.read(async (db) => {
    const record = await heldCall(db, held)
    const { files } = record
    const kept = remoteRedactor(store.secrets, held, record).redact(path)
    const staged = Object.hasOwn(files, kept) ? files[kept] : undefined
    if (staged !== undefined) return staged
    const file = await statFile(db, held.threadId, path)
    return file === null || file.blob === null ? null : { ...file, digest: file.blob }
  })
  const bytes = found === null ? null : await store.blobs.stream(found.digest)
  return found === null || bytes === null ? null : { mimeType: found.mimeType, size: found.size, bytes }
}

/** A file of the call, by the path that it is kept under. */
export interface WrittenFile extends StagedFile {
  readonly path: string
}

/**
 * Keeps a file for the call: it comes into the thread with the result, or not at all (T9). Its path and type are texts, so
 * secrets that the worker was given are taken out of them before they are in any row (T5). @throws RemoteCallError
 */
export async function writeCallFile(
  context: ClientContext,
  held: HeldRemoteCall,
  given: {
    readonly path: string
    readonly mimeType: string
    readonly data: Uint8Array | AsyncIterable<Uint8Array>
  },
): Promise<WrittenFile> {
  checkPath(held, given.path)
  const store = await context.store()
  // Before its bytes are taken: whoever has no token writes nothing.
  const { redact } = remoteRedactor(store.secrets, held, await store.read((db) => heldCall(db, held)))
  const path = redact(given.path)
  checkPath(held, path)
  const file: StagedFile = { ...(await written(store, held, given.data)), mimeType: redact(given.mimeType) }
  return store.write(async (tx) => {
    const record = await heldCall(tx, held)
    const { files } = record
    if (!Object.hasOwn(files, path) && Object.keys(files).length >= LIMITS.remoteFiles)
      throw new RemoteCallError(
        held,
        'file',
        `Expected at most ${LIMITS.remoteFiles} files of one call, got one more: pack them into one.`,
      )
    if ((await statFile(tx, held.threadId, path))?.isDirectory === true)
      throw new RemoteCallError(
        held,
        'file',
        `Expected a path for a file, got the folder ${path}: add a name.`,
      )
    await putStagedFile(tx, held, { record, path, file })
    return { ...file, path }
  })
}

async function written(
  store: Store,
  held: HeldRemoteCall,
  data: Uint8Array | AsyncIterable<Uint8Array>,
): Promise<StoredBlob> {
  try {
    return await store.blobs.write(data)
  } catch (error) {
    if (!StoreError.isInstance(error) || error.code !== 'too_large') throw error
    throw new RemoteCallError(held, 'file_size', error.message)
  }
}

function checkPath(held: HeldRemoteCall, path: string): void {
  const problem = filePathProblem(path)
  if (problem !== undefined) throw new RemoteCallError(held, 'file', problem)
}
