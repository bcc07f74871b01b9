import { createHash } from 'node:crypto'

/** Blobs whose check is remembered; one that was forgotten is read once more. */
const MOST_KNOWN = 10_000

/** One state of the bytes of a blob: `version` changes with them. */
export interface BlobVersion {
  readonly digest: string
  readonly version: string
  readonly bytes: () => AsyncIterable<Uint8Array>
}

export interface WholeBlobs {
  /** Whether the bytes are those of the digest: read once for each version in the life of this process. */
  isWhole(blob: BlobVersion): Promise<boolean>
}

/** A part of a blob has no digest of its own, so the whole is looked at before parts of it are given out. */
export function rememberWholeBlobs(): WholeBlobs {
  const checks = new Map<string, Promise<boolean>>()
  return {
    isWhole({ digest, version, bytes }) {
      const key = `${digest} ${version}`
      const known = checks.get(key)
      if (known !== undefined) return known
      const check = isOfDigest(bytes(), digest)
      checks.set(key, check)
      const forget = () => void checks.delete(key)
      // What is damaged may be mended without a new version, and a read that failed says nothing.
      check.then((isWhole) => isWhole || forget(), forget)
      const [oldest] = checks.keys()
      if (checks.size > MOST_KNOWN && oldest !== undefined) checks.delete(oldest)
      return check
    },
  }
}

async function isOfDigest(chunks: AsyncIterable<Uint8Array>, digest: string): Promise<boolean> {
  const hash = createHash('sha256')
  for await (const chunk of chunks) hash.update(chunk)
  return hash.digest('hex') === digest
}
