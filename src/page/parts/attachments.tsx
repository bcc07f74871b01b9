/** Files of a message: images are shown, all others are downloaded. The bytes come with the token, so no address opens them. */
import { useSignal } from '@preact/signals'
import { useEffect } from 'preact/hooks'
import type { AttachmentRef } from '../../protocol/message.js'
import { formatBytes } from './format.js'
import { Action } from './widgets.js'
import { client } from '../session/api.js'

/** Types that a browser shows as a picture and that run nothing. */
const IMAGES = new Set(['image/png', 'image/jpeg', 'image/gif', 'image/webp', 'image/avif'])
const LARGEST_IMAGE = 10_000_000

type Named = Pick<AttachmentRef, 'path' | 'name' | 'mimeType' | 'size'>

interface AttachmentsProps {
  readonly threadId: string
  readonly attachments: readonly Named[]
}

export function Attachments({ threadId, attachments }: AttachmentsProps) {
  return (
    <ul class="attachments">
      {attachments.map((file) => (
        <li key={file.path}>
          {IMAGES.has(file.mimeType) && file.size <= LARGEST_IMAGE && (
            <Picture threadId={threadId} file={file} />
          )}
          <Download threadId={threadId} file={file} />
        </li>
      ))}
    </ul>
  )
}

interface FileProps {
  readonly threadId: string
  readonly file: Named
}

async function readBlob(threadId: string, path: string): Promise<Blob> {
  const response = await client.threads.get(threadId).readFile(path)
  return response.blob()
}

export function Download({ threadId, file }: FileProps) {
  const save = async (): Promise<void> => {
    const address = URL.createObjectURL(await readBlob(threadId, file.path))
    const link = document.createElement('a')
    link.href = address
    link.download = file.name
    link.click()
    // The browser has begun to save it by then.
    setTimeout(() => URL.revokeObjectURL(address), 60_000)
  }
  return (
    <Action run={save} label={`Download ${file.name}`}>
      <span aria-hidden="true">↓</span>
      <span class="clip">{file.name}</span>
      <span class="faint number">{formatBytes(file.size)}</span>
    </Action>
  )
}

function Picture({ threadId, file }: FileProps) {
  const address = useSignal<string | null>(null)
  useEffect(() => {
    let isOver = false
    void readBlob(threadId, file.path)
      .then((blob) => {
        if (!isOver) address.value = URL.createObjectURL(blob)
      })
      // The button below it says why.
      .catch(() => undefined)
    return () => {
      isOver = true
      if (address.value !== null) URL.revokeObjectURL(address.value)
    }
  }, [threadId, file.path])
  return address.value === null ? null : <img src={address.value} alt={file.name} />
}
