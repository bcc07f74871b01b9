/** One call of a tool in the conversation: its arguments, its result, and what went wrong. */
import { useSignal } from '@preact/signals'
import { useEffect } from 'preact/hooks'
import type { Message, ToolCallEntry } from '../../protocol/message.js'
import { formatDuration, shorten } from '../parts/format.js'
import { Code, StatusDot } from '../parts/widgets.js'
import { OriginalError } from '../parts/original-error.js'
import { HttpError } from '../../http/index.js'
import type { RecordedDecision } from '../../http/index.js'
import { client } from '../session/api.js'
import type { Changed, LiveCall, ToolRun } from '../../fold/runs.js'
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
  const changed = run?.changed
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
        <span class="faint preview">
          {shorten(changed === undefined ? given : (run?.arguments ?? given))}
        </span>
        {changed !== undefined && <span class="note">{changedText(changed)}</span>}
        <span class="faint">
          {outcome === 'succeeded' ? '' : isAsked ? 'waits for you' : outcome}{' '}
          {took !== undefined && formatDuration(took)}
        </span>
      </button>
      {run?.live !== undefined && <Live name={name} live={run.live} />}
      {isOpen.value && (
        <div id={id} class="tool-body">
          <CallArguments threadId={threadId} callId={call.id} name={name} given={given} />
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

/** What the tool reports while it runs. */
function Live({ name, live: { progress, output } }: { readonly name: string; readonly live: LiveCall }) {
  const { progress: done, total, message = '' } = progress ?? {}
  const amount = done === undefined ? '' : total === undefined ? String(done) : `${done} of ${total}`
  const line = [message, amount].filter((part) => part !== '').join(', ')
  return (
    <div class="tool-body">
      {line !== '' && <p class="faint">{line}</p>}
      {output !== '' && <Code text={output} label={`Output of ${name} so far`} />}
    </div>
  )
}

function outcomeOf(result: Message | undefined): string {
  if (result === undefined) return 'running'
  return result.tool_status === 'error' ? 'failed' : 'succeeded'
}

interface CallArgumentsProps {
  readonly threadId: string
  readonly callId: string
  readonly name: string
  /** JSON, as the model wrote it. */
  readonly given: string
}

/**
 * The arguments of a call: as the model wrote them, and, where a person or a hook has changed them, as they ran. The record of the decision
 * has the latter, so that a call of any age shows them.
 */
function CallArguments({ threadId, callId, name, given }: CallArgumentsProps) {
  const found = useSignal<RecordedDecision | null>(null)
  useEffect(() => {
    const read = async (): Promise<void> => {
      try {
        const { decisions } = await client.api.get('/threads/{threadId}/decisions', {
          ...{ path: { threadId }, query: { toolCallId: callId } },
        })
        found.value = decisions[0] ?? null
      } catch (error) {
        // What the model wrote is shown in any case.
        if (!HttpError.mayPass(error)) throw error
      }
    }
    void read()
  }, [threadId, callId])
  const decision = found.value
  const isChanged = decision?.changed === true || (decision?.changedBy?.length ?? 0) > 0
  if (decision === null || !isChanged)
    return (
      <>
        <h3>Arguments</h3>
        <Code text={given} label={`Arguments of ${name}`} />
      </>
    )
  const { by, changed, changedBy = [] } = decision
  const people = changed === true ? [changedText({ by: by ?? null })] : []
  const hooks = changedBy.map((hook) => `changed by the hook ${hook}`)
  return (
    <>
      <h3>Proposed arguments</h3>
      <Code text={given} label={`Proposed arguments of ${name}`} />
      <h3>Executed arguments, {[...people, ...hooks].join(', ')}</h3>
      <Code text={JSON.stringify(decision.action.arguments)} label={`Executed arguments of ${name}`} />
    </>
  )
}

function changedText({ by }: Changed): string {
  return by === null ? 'changed by a person' : `changed by ${by}`
}
