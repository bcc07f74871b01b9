/** Bytes by their digest: what was written is never changed, and the same bytes are kept once. */
export interface BlobStore {
  /** Durable when it returns, also if the same bytes were there. @throws StoreError `too_large` above LIMITS.fileBytes */
  write(data: Uint8Array | AsyncIterable<Uint8Array>): Promise<StoredBlob>
  /** Null if there is none. @throws StoreError `corrupt` */
  read(digest: string): Promise<Uint8Array | null>
  /**
   * Null if there is none. Without a range, iterating throws StoreError `corrupt` at the end if the bytes are not those
   * written; a part of a blob is not checked.
   */
  stream(digest: string, range?: ByteRange): Promise<AsyncIterable<Uint8Array> | null>
  /**
   * Removes the bytes for good, for every thread that has them: false if there are none, or if they were written since
   * the time (ms) given.
   */
  delete(digest: string, writtenBefore?: number): Promise<boolean>
  /** All there is, in no order; what is written or deleted meanwhile may be in it or not. */
  list(): AsyncIterable<ListedBlob>
  /** Removes what writes that began before the time (ms) and never ended have left; answers how many. */
  deleteDrafts(begunBefore: number): Promise<number>
}

/** Bytes from `start` up to, and without, `end`; beyond the last byte there is nothing, which is no error. */
export interface ByteRange {
  readonly start: number
  readonly end: number
}

export interface ListedBlob {
  readonly digest: string
  /** When these bytes were last written, by whomever, give or take LIMITS.blobRenewal: milliseconds. */
  readonly writtenAt: number
}

export interface StoredBlob {
  /** SHA-256, 64 hexadecimal digits. */
  readonly digest: string
  /** Bytes. */
  readonly size: number
}
