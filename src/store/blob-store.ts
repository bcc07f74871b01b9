/** Bytes by their digest: what was written is never changed, and the same bytes are kept once. */
export interface BlobStore {
  /** On the disk when it returns. @throws StoreError `too_large` above LIMITS.fileBytes */
  write(data: Uint8Array | AsyncIterable<Uint8Array>): Promise<StoredBlob>
  /** Null if there is none. @throws StoreError `corrupt` */
  read(digest: string): Promise<Uint8Array | null>
  /** Null if there is none. Iterating throws StoreError `corrupt` at the end if the bytes are not those written. */
  stream(digest: string): Promise<AsyncIterable<Uint8Array> | null>
}

export interface StoredBlob {
  /** SHA-256, 64 hexadecimal digits. */
  readonly digest: string
  /** Bytes. */
  readonly size: number
}
