/** Where the person writes: text, files, stop and continue. */
import { signal, useSignal } from '@preact/signals'
import { formatBytes } from '../parts/format.js'
import { Action, Problem } from '../parts/widgets.js'
import { client, problemText } from '../session/api.js'
import type { OpenThread } from '../state/open-thread.js'
import { isWorking } from '../../fold/runs.js'

/** What is written and not sent, by thread: it is there again when the person comes back. */
const written = signal<Readonly<Record<string, string>>>({})

interface Upload {
  readonly path: string
  readonly name: string
  readonly size: number
  readonly state: 'uploading' | 'done'
}

export function Composer({ thread }: { readonly thread: OpenThread }) {
  const files = useUploads(thread.id)
  const text = written.value[thread.id] ?? ''
  const write = (next: string): void => void (written.value = { ...written.value, [thread.id]: next })
  const isUploading = files.uploads.some(({ state }) => state === 'uploading')
  const isEmpty = text.trim() === '' && files.uploads.length === 0
  const submit = (event: Event): void => {
    event.preventDefault()
    if (isEmpty || isUploading) return
    const attachments = files.uploads.map(({ path }) => path)
    thread.store.send({ content: text, ...(attachments.length > 0 && { attachments }) })
    write('')
    files.clear()
  }
  if (thread.summary.value !== null && thread.summary.value.closedAt !== null)
    return <p class="closed">This thread is closed and accepts no more messages.</p>
  return (
    <form
      class="composer"
      onSubmit={submit}
      onDragOver={(event) => event.preventDefault()}
      onDrop={(event) => {
        event.preventDefault()
        void files.upload(event.dataTransfer?.files ?? [])
      }}
    >
      {files.problem !== null && <Problem>{files.problem}</Problem>}
      <Uploads files={files} />
      <textarea
        aria-label="Message"
        rows={2}
        placeholder="Write a message"
        value={text}
        onInput={(event) => write(event.currentTarget.value)}
        onKeyDown={(event) => {
          if (event.key === 'Enter' && !event.shiftKey && !event.isComposing) submit(event)
        }}
      />
      <div class="row">
        <FileButton upload={files.upload} />
        <span class="faint hint grow">Enter sends, Shift and Enter begins a line</span>
        <RunButtons thread={thread} />
        <button type="submit" class="button primary" disabled={isEmpty || isUploading}>
          Send
        </button>
      </div>
    </form>
  )
}

/** The files of the message that is being written: they are uploaded when they are chosen. */
interface Uploading {
  readonly uploads: readonly Upload[]
  readonly problem: string | null
  readonly upload: (files: Iterable<File>) => Promise<void>
  readonly remove: (path: string) => void
  readonly clear: () => void
}

function useUploads(threadId: string): Uploading {
  const uploads = useSignal<readonly Upload[]>([])
  const problem = useSignal<string | null>(null)
  const remove = (path: string): void =>
    void (uploads.value = uploads.value.filter((one) => one.path !== path))
  const show = (next: Upload): void => {
    remove(next.path)
    uploads.value = [...uploads.value, next]
  }
  return {
    uploads: uploads.value,
    problem: problem.value,
    remove,
    clear: () => void (uploads.value = []),
    upload: async (files) => {
      problem.value = null
      for (const file of files)
        try {
          await uploadFile(threadId, file, show)
        } catch (error) {
          uploads.value = uploads.value.filter(({ state }) => state === 'done')
          problem.value = `${file.name}: ${problemText(error)}`
        }
    },
  }
}

/** A name of its own, so that a second file of the same name replaces none. */
async function uploadFile(threadId: string, file: File, show: (upload: Upload) => void): Promise<void> {
  const path = `/uploads/${crypto.randomUUID().slice(0, 8)}/${file.name.replaceAll('/', '_')}`
  const { name, size } = file
  show({ path, name, size, state: 'uploading' })
  await client.threads.get(threadId).writeFile(path, file)
  show({ path, name, size, state: 'done' })
}

function Uploads({ files }: { readonly files: Uploading }) {
  if (files.uploads.length === 0) return null
  return (
    <ul class="attachments">
      {files.uploads.map(({ path, name, size, state }) => (
        <li key={path} class="chip">
          {name} <span class="faint">{state === 'uploading' ? 'uploading…' : formatBytes(size)}</span>
          <button
            type="button"
            class="button quiet"
            aria-label={`Remove ${name}`}
            onClick={() => files.remove(path)}
          >
            ×
          </button>
        </li>
      ))}
    </ul>
  )
}

function FileButton({ upload }: { readonly upload: (files: Iterable<File>) => Promise<void> }) {
  return (
    <label class="button quiet file">
      Attach
      <input
        type="file"
        multiple
        class="hidden"
        onChange={(event) => {
          const input = event.currentTarget
          void upload([...(input.files ?? [])]).finally(() => (input.value = ''))
        }}
      />
    </label>
  )
}

/** Stop while it works; continue once it was stopped. */
function RunButtons({ thread }: { readonly thread: OpenThread }) {
  const status = thread.summary.value?.status
  if (isWorking(thread.runs.value))
    return (
      <Action run={async () => void (await client.threads.get(thread.id).stop())} kind="danger">
        Stop
      </Action>
    )
  if (status === 'stopped' || status === 'blocked' || status === 'lost')
    return <Action run={() => client.threads.get(thread.id).continue()}>Continue</Action>
  return null
}
