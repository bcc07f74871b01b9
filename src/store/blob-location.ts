import { openDirectoryBlobs } from './directory-blobs.js'
import type { BlobStore } from './blob-store.js'
import { parseS3Url } from './s3/s3-location.js'
import type { S3Location } from './s3/s3-location.js'

/** An absolute path of a folder, or a bucket. */
export type BlobLocation = string | S3Location

/** The bucket of an `s3:` URL, or all its problems; undefined for another place. */
export function parseBucket(
  source: string,
  place: string,
): { readonly location: S3Location } | { readonly problems: readonly string[] } | undefined {
  if (!/^s3:/i.test(place)) return undefined
  const parsed = parseS3Url(source, place)
  return 'problems' in parsed ? parsed : { location: parsed }
}

/** The blobs of that place. @throws ConfigError, StoreError */
export async function openBlobs(location: BlobLocation): Promise<BlobStore> {
  if (typeof location === 'string') return openDirectoryBlobs(location)
  const { openS3Blobs } = await import('./s3/open-s3-blobs.js')
  return openS3Blobs(location)
}
