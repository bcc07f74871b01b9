/** One call of a tool in the conversation: its arguments, its result, and what went wrong. */
import { useSignal } from '@preact/signals'
import type { Message, ToolCallEntry } from '../../protocol/message.js'
import { formatDuration, shorten } from '../parts/format.js'
import { Code, StatusDot } from '../parts/widgets.js'
import { OriginalError } from '../parts/original-error.js'
import type { ToolRun } from '../state/run-state.js'
import { Attachments } from '../parts/attachments.js'

interface ToolCardProps {
  readonly threadId: string
  readonly call: ToolCallEntry
  /** Its row in the transcript: events have none, so it is there once a page of messages was read. */
  readonly result: Message | undefined
  /** What events say of it, if they are among those that the page has. */
  readonly run: ToolRun | undefined
  /** It waits for a person. */
  readonly isAsked: boolean
}

export function ToolCard({ threadId, call, result, run, isAsked }: ToolCardProps) {
  const isOpen = useSignal(false)
  const { name, arguments: given } = call.function
  const outcome = isAsked ? 'waiting_permission' : (run?.outcome ?? outcomeOf(result))
  const text = result?.content ?? run?.result
  const attachments = result?.attachments ?? run?.attachments ?? []
  const took = run?.endedAt === undefined ? undefined : run.endedAt - run.startedAt
  const id = `call-${call.id}`
  return (
    <section class="tool" data-outcome={outcome}>
      <button
        type="button"
        class="tool-head"
        aria-expanded={isOpen.value}
        aria-controls={id}
        onClick={() => (isOpen.value = !isOpen.value)}
      >
        <StatusDot status={outcome} />
        <span class="tool-name">{name}</span>
        <span class="faint preview">{shorten(given)}</span>
        <span class="faint">
          {outcome === 'succeeded' ? '' : isAsked ? 'waits for you' : outcome}{' '}
          {took !== undefined && formatDuration(took)}
        </span>
      </button>
      {isOpen.value && (
        <div id={id} class="tool-body">
          <h3>Arguments</h3>
          <Code text={given} label={`Arguments of ${name}`} />
          {text != null && (
            <>
              <h3>{outcome === 'succeeded' ? 'Result' : 'What the model reads'}</h3>
              <Code text={text} label={`Result of ${name}`} />
            </>
          )}
          {run?.errorId !== undefined && <OriginalError threadId={threadId} errorId={run.errorId} />}
        </div>
      )}
      {attachments.length > 0 && <Attachments threadId={threadId} attachments={attachments} />}
    </section>
  )
}

function outcomeOf(result: Message | undefined): string {
  if (result === undefined) return 'running'
  return result.tool_status === 'error' ? 'failed' : 'succeeded'
}
