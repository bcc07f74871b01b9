/** Bytes by their digest: what was written is never changed, and the same bytes are kept once. */
export interface BlobStore {
  /** Durable and whole when it returns, also if the same or damaged bytes were there. @throws StoreError `too_large` above LIMITS.fileBytes */
  write(data: Uint8Array | AsyncIterable<Uint8Array>): Promise<StoredBlob>
  /** Null if there is none. @throws StoreError `corrupt` */
  read(digest: string): Promise<Uint8Array | null>
  /**
   * Null if there is none. Without a range, iterating throws StoreError `corrupt` at the end if the bytes are not those
   * written. Before a part is given out, the whole is compared with its digest, once for each version of it in a process; of
   * a bucket only up to LIMITS.s3PartBytes, of larger objects the size alone.
   * @throws StoreError `corrupt` for a part of what is damaged
   */
  stream(digest: string, range?: PartOfBlob): Promise<AsyncIterable<Uint8Array> | null>
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

/** A range, and how many bytes the blob has, if the caller knows that: of another size it is damaged. */
export interface PartOfBlob extends ByteRange {
  readonly size?: number
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
