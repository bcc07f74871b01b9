import type { FileChunk, ThreadState } from '../../definitions/thread-state.js'
import type { FileRecord } from '../../protocol/message.js'
import type { BlobStore } from '../../store/files/blob-store.js'
import type { StoredFile } from '../../store/files/file-row.js'
import { StoreError } from '../../store/store-error.js'
import type { CallGate } from './call-gate.js'
import { prepareContent } from './file-content.js'
import type { FilesOverlay } from './files-overlay.js'
import { grepFiles } from './grep-files.js'
import { splitEvenly } from './split-evenly.js'

/** The members of `ThreadState` that are about files. */
export type FileMembers = Pick<
  ThreadState,
  | 'writeFile'
  | 'readFile'
  | 'readFileStream'
  | 'statFile'
  | 'readdirFile'
  | 'unlinkFile'
  | 'mkdirFile'
  | 'rmdirFile'
  | 'grepFiles'
  | 'findFiles'
  | 'getFileStats'
>

/** Enough to be quick, little enough to hold many of them. */
const CHUNK_BYTES = 256 * 1024

interface FileMembersOptions {
  readonly files: FilesOverlay
  readonly blobs: BlobStore
  readonly gate: CallGate
}

export function createFileMembers({ files, blobs, gate }: FileMembersOptions): FileMembers {
  return {
    async writeFile(path, data, mimeType, options = {}) {
      const { width, height, metadata } = options
      const given = { named: path, data, encoding: 'utf8', mimeType, width, height, metadata } as const
      return recordOf(await files.put(path, prepareContent(blobs, given)))
    },
    async readFile(path) {
      const file = await files.stat(path)
      if (file === null || file.blob === null) return null
      const bytes = await blobs.read(file.blob)
      if (bytes === null) throw bytesMissing(path)
      return new Uint8Array(bytes).buffer
    },
    async readFileStream(path) {
      const file = await files.stat(path)
      if (file === null || file.blob === null) return null
      return chunksOf({ blobs, gate, path, blob: file.blob, size: file.size })
    },
    async statFile(path) {
      const file = await files.stat(path)
      return file === null ? null : recordOf(file)
    },
    readdirFile: async (path) => ({ entries: (await files.list(path)).map(recordOf) }),
    unlinkFile: (path) => files.remove(path),
    mkdirFile: async (path) => recordOf(await files.makeFolder(path)),
    rmdirFile: (path) => files.removeFolder(path),
    grepFiles: (pattern) => grepFiles({ files, blobs, pattern }),
    findFiles: async (pattern) => ({ paths: [...(await files.find(pattern))] }),
    getFileStats: async () => ({ ...(await files.stats()) }),
  }
}

function recordOf({ blob: _blob, ...record }: StoredFile): FileRecord {
  return record
}

interface ChunkSource {
  readonly blobs: BlobStore
  readonly gate: CallGate
  readonly path: string
  readonly blob: string
  readonly size: number
}

/** The bytes are opened when the first chunk is asked for: a stream that nobody reads holds nothing. */
async function* chunksOf({ blobs, gate, path, blob, size }: ChunkSource): AsyncIterable<FileChunk> {
  gate.assertOpen()
  const bytes = await blobs.stream(blob)
  if (bytes === null) throw bytesMissing(path)
  const totalChunks = Math.max(1, Math.ceil(size / CHUNK_BYTES))
  let index = 0
  for await (const data of splitEvenly(bytes, CHUNK_BYTES)) {
    gate.assertOpen()
    yield { data, index, totalChunks, isLast: index === totalChunks - 1 }
    index++
  }
}

function bytesMissing(path: string): StoreError {
  return new StoreError('corrupt', `The bytes of ${path} are not in the blob store: restore it from a backup`)
}
