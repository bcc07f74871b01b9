/**
 * Another way from a message on: a person's own one with other words, or another answer. Both open a fork, and this thread stays as it is.
 */
import { useSignal } from '@preact/signals'
import type { Message } from '../../protocol/message.js'
import { goTo, threadAddress } from './route.js'
import { Action } from './widgets.js'
import { client } from '../session/api.js'

interface ForkActionsProps {
  readonly threadId: string
  /** Stored, and of the conversation itself. */
  readonly message: Message
  /** The message of a person that it answers; undefined: that is on no page that was read. */
  readonly asked: string | undefined
}

export function ForkActions({ threadId, message: { id, role, content }, asked }: ForkActionsProps) {
  const words = useSignal<string | null>(null)
  const thread = client.threads.get(threadId)
  if (role === 'assistant')
    return asked === undefined ? null : (
      <div class="message-actions">
        <Action
          label="Another answer, in a fork"
          run={async () => goTo(threadAddress((await thread.fork({ before: asked, again: true })).threadId))}
        >
          Again
        </Action>
      </div>
    )
  if (words.value === null)
    return (
      <div class="message-actions">
        <Action label="Say it differently, in a fork" run={async () => void (words.value = content ?? '')}>
          Edit
        </Action>
      </div>
    )
  return (
    <div class="message-edit">
      <textarea
        aria-label="Other words"
        rows={3}
        value={words.value}
        onInput={({ currentTarget }) => (words.value = currentTarget.value)}
      />
      <Action
        kind="primary"
        isDisabled={words.value.trim() === ''}
        run={async () => {
          const fork = await thread.fork({ before: id, message: words.value ?? '' })
          goTo(threadAddress(fork.threadId))
        }}
      >
        Send in a fork
      </Action>
      <Action run={async () => void (words.value = null)}>Cancel</Action>
    </div>
  )
}
