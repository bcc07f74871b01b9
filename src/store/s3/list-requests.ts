import type { Bucket, BucketRequests } from './bucket.js'

/** What is in a bucket, page by page of a thousand. */
export function listRequests(requests: BucketRequests): Pick<Bucket, 'list' | 'unfinished' | 'abort'> {
  const { client, name: Bucket, sdk, sent } = requests
  const { AbortMultipartUploadCommand, ListMultipartUploadsCommand, ListObjectsV2Command } = sdk.s3
  return {
    async *list(Prefix) {
      let token: string | undefined
      do {
        const page = await sent(
          client.send(new ListObjectsV2Command({ Bucket, Prefix, ContinuationToken: token })),
        )
        for (const { Key, Size, LastModified } of page.Contents ?? []) {
          if (Key !== undefined) yield { key: Key, size: Size ?? 0, writtenAt: LastModified?.getTime() ?? 0 }
        }
        token = page.IsTruncated === true ? page.NextContinuationToken : undefined
      } while (token !== undefined)
    },
    async *unfinished(Prefix) {
      let marker: Marker | undefined = {}
      while (marker !== undefined) {
        const command: InstanceType<typeof ListMultipartUploadsCommand> = new ListMultipartUploadsCommand({
          Bucket,
          Prefix,
          ...marker,
        })
        const page = await sent(client.send(command))
        for (const { Key, UploadId, Initiated } of page.Uploads ?? []) {
          if (Key !== undefined && UploadId !== undefined && Initiated !== undefined) {
            yield { key: Key, id: UploadId, begunAt: Initiated.getTime() }
          }
        }
        marker = nextMarker(page)
      }
    },
    async abort({ key, id }) {
      const command = new AbortMultipartUploadCommand({ Bucket, Key: key, UploadId: id })
      await sent(
        client.send(command).catch((error: unknown) => {
          // It has just been ended, by its own writer or by another sweep.
          if (!(error instanceof sdk.s3.NoSuchUpload)) throw error
        }),
      )
    },
  }
}

interface Marker {
  readonly KeyMarker?: string
  readonly UploadIdMarker?: string
}

function nextMarker(page: {
  readonly IsTruncated?: boolean | undefined
  readonly NextKeyMarker?: string | undefined
  readonly NextUploadIdMarker?: string | undefined
}): Marker | undefined {
  const { IsTruncated, NextKeyMarker: KeyMarker, NextUploadIdMarker: UploadIdMarker } = page
  if (IsTruncated !== true || KeyMarker === undefined) return undefined
  return { KeyMarker, ...(UploadIdMarker === undefined ? {} : { UploadIdMarker }) }
}
