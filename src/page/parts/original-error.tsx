/** The error of a provider or of a tool's code as it was thrown: operators may read it, an account's token may not. */
import { useSignal } from '@preact/signals'
import { useEffect } from 'preact/hooks'
import { HttpError } from '../../http/index.js'
import type { RecordedError } from '../../http/index.js'
import { client, problemText } from '../session/api.js'

interface OriginalErrorProps {
  readonly threadId: string
  readonly errorId: string
}

export function OriginalError({ threadId, errorId }: OriginalErrorProps) {
  const found = useSignal<RecordedError | null>(null)
  const note = useSignal<string | null>(null)
  useEffect(() => {
    const read = async (): Promise<void> => {
      try {
        const { errors } = await client.api.get('/threads/{threadId}/errors', {
          ...{ path: { threadId }, query: { id: errorId } },
        })
        found.value = errors[0] ?? null
      } catch (error) {
        const isForbidden = HttpError.isInstance(error) && error.status === 403
        note.value = isForbidden ? 'Its original text is for operators.' : problemText(error)
      }
    }
    void read()
  }, [threadId, errorId])
  if (note.value !== null) return <p class="hint">{note.value}</p>
  if (found.value === null) return null
  const { type, message, stack } = found.value
  return (
    <div class="original-error">
      <h3>
        Original error <span class="faint">{type}</span>
      </h3>
      <pre class="code bad" tabIndex={0} role="group" aria-label="Original error">
        {stack === null || !stack.includes(message) ? message : stack}
      </pre>
    </div>
  )
}
