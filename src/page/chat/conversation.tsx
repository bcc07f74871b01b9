/** The conversation: messages with the tools that they call, text while it streams, and what waits to be said. */
import { useSignal } from '@preact/signals'
import type { ComponentChildren } from 'preact'
import { useEffect, useLayoutEffect, useMemo, useRef } from 'preact/hooks'
import { CUT_OFF } from '../../protocol/message.js'
import type { Message } from '../../protocol/message.js'
import { Attachments } from '../parts/attachments.js'
import { formatWord } from '../parts/format.js'
import { Markdown } from '../parts/markdown.js'
import { Action, Code, Empty, Problem, StatusDot } from '../parts/widgets.js'
import { client } from '../session/api.js'
import { callsOf } from '../../http/shown-messages.js'
import type { Outgoing } from '../../http/outbox.js'
import { box, outbox } from '../session/outbox.js'
import { OriginalError } from '../parts/original-error.js'
import { RequestCard } from '../requests/request-card.js'
import type { OpenThread } from '../state/open-thread.js'
import type { Run, ToolRun } from '../../fold/runs.js'
import type { Draft, DraftCall } from '../../fold/transcript.js'
import { ToolCard } from '../inspect/tool-card.js'
import { ForkActions } from '../parts/fork-actions.js'

/** The distance from an end, in pixels, at which the person is there. */
const NEAR = 160

export function Conversation({ thread }: { readonly thread: OpenThread }) {
  const box = useRef<HTMLDivElement>(null)
  const isAtEnd = useSignal(true)
  const { messages, hasOlder, hasNewer, drafts } = thread.transcript.value
  useKeptPlace(box, isAtEnd, thread)
  const onScroll = (): void => {
    const at = box.current
    if (at === null) return
    isAtEnd.value = at.scrollHeight - at.scrollTop - at.clientHeight < NEAR
    if (at.scrollTop < NEAR * 4 && hasOlder) void thread.loadOlder()
  }
  return (
    <div
      class="conversation"
      ref={box}
      onScroll={onScroll}
      tabIndex={0}
      role="region"
      aria-label="Conversation"
    >
      <div class="column">
        {hasOlder && (
          <button type="button" class="button quiet wide" onClick={() => void thread.loadOlder()}>
            Older messages
          </button>
        )}
        {messages.length === 0 && drafts.length === 0 && <Empty>Nothing has been said yet.</Empty>}
        <Messages thread={thread} />
        <Tail thread={thread} />
      </div>
      {(hasNewer || !isAtEnd.value) && (
        <button
          type="button"
          class="button newest"
          onClick={() => {
            isAtEnd.value = true
            if (hasNewer) void thread.store.loadNewest()
            else box.current?.scrollTo({ top: box.current.scrollHeight })
          }}
        >
          ↓ Newest
        </button>
      )}
    </div>
  )
}

/** Follows the end while the person is there; else what they read stays where it is while older messages come above it. */
function useKeptPlace(
  box: { readonly current: HTMLDivElement | null },
  isAtEnd: { readonly value: boolean },
  thread: OpenThread,
): void {
  const first = useRef<{ readonly id: string | undefined; readonly height: number }>({
    id: undefined,
    height: 0,
  })
  const { messages, drafts } = thread.transcript.value
  const changes = [messages, drafts, thread.requests.value, outbox.value]
  useLayoutEffect(() => {
    const at = box.current
    if (at === null) return
    const id = messages[0]?.id
    if (isAtEnd.value) at.scrollTop = at.scrollHeight
    else if (id !== first.current.id) at.scrollTop += at.scrollHeight - first.current.height
    first.current = { id, height: at.scrollHeight }
  }, changes)
  // What grows by itself, such as pictures, moves the end too.
  useEffect(() => {
    const at = box.current
    const column = at?.firstElementChild
    if (at == null || column == null) return
    const observer = new ResizeObserver(() => {
      if (isAtEnd.value) at.scrollTop = at.scrollHeight
    })
    observer.observe(column)
    return () => observer.disconnect()
  }, [])
}

function Messages({ thread }: { readonly thread: OpenThread }) {
  const { messages } = thread.transcript.value
  const runs = thread.runs.value
  const requests = thread.requests.value
  const tools = useMemo(() => toolsOf(runs), [runs])
  const results = useMemo(
    () => new Map(messages.filter(({ role }) => role === 'tool').map((one) => [one.tool_call_id, one])),
    [messages],
  )
  const asked = useMemo(
    () => new Set(requests.map((one) => ('toolCallId' in one ? one.toolCallId : one.id))),
    [requests],
  )
  const called = useMemo(
    () => new Set(messages.flatMap((one) => callsOf(one).map(({ id }) => id))),
    [messages],
  )
  const isRoot = thread.summary.value?.parent === null
  const asks = useMemo(() => askedBy(messages), [messages])
  // The same elements while text streams, so that only its own row is made anew.
  return useMemo(
    () => (
      <>
        {messages.map((message) =>
          message.role === 'tool' && called.has(message.tool_call_id ?? '') ? null : (
            <Row
              key={message.id}
              threadId={thread.id}
              message={message}
              asked={isRoot ? asks.get(message.id) : null}
            >
              {callsOf(message).map((call) => (
                <ToolCard
                  key={call.id}
                  threadId={thread.id}
                  call={call}
                  result={results.get(call.id)}
                  run={tools.get(call.id)}
                  isAsked={asked.has(call.id)}
                />
              ))}
            </Row>
          ),
        )}
      </>
    ),
    [messages, tools, asked, isRoot],
  )
}

/** The message of a person before each message. */
function askedBy(messages: readonly Message[]): ReadonlyMap<string, string> {
  const asks = new Map<string, string>()
  let last: string | undefined
  for (const { id, role, position } of messages) {
    if (last !== undefined) asks.set(id, last)
    if (role === 'user' && position !== null) last = id
  }
  return asks
}

function toolsOf(runs: readonly Run[]): ReadonlyMap<string, ToolRun> {
  const all = runs.flatMap(({ steps }) => steps.flatMap(({ tools }) => tools))
  return new Map(all.map((tool) => [tool.id, tool]))
}

interface RowProps {
  readonly threadId: string
  readonly message: Message
  /** The message of a person before it; null: this thread cannot be forked. */
  readonly asked: string | null | undefined
  readonly children: ComponentChildren
}

function Row({ threadId, message, asked, children }: RowProps) {
  const { role, content, reasoning_content: reasoning, status, attachments, finish_reason: reason } = message
  const isQueued = message.position === null && status === 'pending'
  return (
    <article class={`message ${role}`} data-message={message.id}>
      <h2 class="author">
        {role === 'tool' ? `result of ${message.name ?? 'a tool'}` : authorOf(role)}
        {message.subagent_id !== null && <span class="faint"> from a subagent</span>}
        {isQueued && <span class="faint"> queued</span>}
        {status !== 'completed' && status !== 'pending' && <span class="bad"> {formatWord(status)}</span>}
      </h2>
      {reasoning !== null && reasoning !== '' && <Reasoning text={reasoning} />}
      {content !== null && content !== '' && <Text role={role} text={content} />}
      {reason === CUT_OFF && <p class="hint">The answer is cut off by its limit of length.</p>}
      {attachments.length > 0 && <Attachments threadId={threadId} attachments={attachments} />}
      {children}
      {isQueued && <TakeBack threadId={threadId} itemId={message.id} />}
      {asked !== null && message.position !== null && (content ?? '') !== '' && (
        <ForkActions threadId={threadId} message={message} asked={asked} />
      )}
    </article>
  )
}

function authorOf(role: string): string {
  return role === 'user' ? 'You' : role === 'assistant' ? 'Agent' : formatWord(role)
}

function Text({ role, text }: { readonly role: string; readonly text: string }) {
  return role === 'assistant' ? <Markdown text={text} /> : <div class="prose plain">{text}</div>
}

function Reasoning({ text }: { readonly text: string }) {
  return (
    <details class="reasoning">
      <summary>Reasoning</summary>
      <div class="prose plain">{text}</div>
    </details>
  )
}

export function TakeBack({ threadId, itemId }: { readonly threadId: string; readonly itemId: string }) {
  const remove = async (): Promise<void> => {
    await client.threads.get(threadId).removeQueued(itemId)
    box.forget(({ messageId }) => messageId === itemId)
  }
  return <Action run={remove}>Take back</Action>
}

/** What follows the stored messages: text that streams, messages on their way, requests, and how the newest run ended. */
function Tail({ thread }: { readonly thread: OpenThread }) {
  const { drafts, messages } = thread.transcript.value
  const own = outbox.value.filter(
    ({ threadId, messageId }) => threadId === thread.id && !messages.some(({ id }) => id === messageId),
  )
  const last = thread.runs.value.at(-1)
  return (
    <>
      {drafts.map((draft) => (
        <DraftRow key={draft.messageId} draft={draft} />
      ))}
      {drafts.length === 0 && last?.outcome === 'running' && thread.requests.value.length === 0 && (
        <Working run={last} text={thread.statusText.value} />
      )}
      {last !== undefined && <RunEnd threadId={thread.id} run={last} />}
      {thread.requests.value.map((one) => (
        <RequestCard key={`${one.threadId} ${one.id}`} thread={thread} request={one} />
      ))}
      {own.map((one) => (
        <OutgoingRow key={one.key} message={one} />
      ))}
    </>
  )
}

function DraftRow({ draft }: { readonly draft: Draft }) {
  return (
    <article class="message assistant streaming" data-message={draft.messageId} aria-busy="true">
      <h2 class="author">
        Agent
        {draft.attempt > 1 && <span class="faint"> asked again</span>}
      </h2>
      {draft.reasoning !== '' && <Reasoning text={draft.reasoning} />}
      {draft.text !== '' && <Markdown text={draft.text} />}
      {draft.calls.map((call) => (
        <WrittenCall key={call.id} call={call} />
      ))}
    </article>
  )
}

/** A call while the model writes its arguments. */
function WrittenCall({ call: { name, arguments: given } }: { readonly call: DraftCall }) {
  return (
    <section class="tool" data-outcome="writing">
      <p class="tool-head">
        <StatusDot status="running" />
        <span class="tool-name">{name}</span>
        <span class="faint">is written…</span>
      </p>
      <div class="tool-body">
        <Code text={given} label={`Arguments of ${name} so far`} />
      </div>
    </section>
  )
}

function Working({ run, text }: { readonly run: Run; readonly text: string | null }) {
  const tool = run.steps.at(-1)?.tools.find(({ outcome }) => outcome === undefined)
  return (
    <p class="working" role="status">
      <span class="dot working" aria-hidden="true" />
      {tool === undefined ? (text ?? 'Working…') : `${tool.name}…`}
    </p>
  )
}

/** Only what is worth a word: a run that ended well has said what there is to say. */
function RunEnd({ threadId, run }: { readonly threadId: string; readonly run: Run }) {
  if (run.outcome === 'running' || run.outcome === 'completed') return null
  const failed = run.steps
    .flatMap(({ requests }) => requests)
    .findLast(({ errorId }) => errorId !== undefined)
  const text = `${run.outcome === 'cancelled' ? 'Stopped' : 'The run failed'}: ${formatWord(run.reason ?? '')}`
  if (run.outcome === 'cancelled') return <p class="hint center">{text}</p>
  return (
    <div class="run-end">
      <Problem>
        {text}
        {run.problem !== undefined && ` (${run.problem})`}
      </Problem>
      {failed?.errorId !== undefined && <OriginalError threadId={threadId} errorId={failed.errorId} />}
    </div>
  )
}

const STATES = {
  sending: 'sending…',
  waiting: 'kept: it is sent when the server answers',
  accepted: 'queued',
  refused: 'refused',
} as const

function OutgoingRow({ message }: { readonly message: Outgoing }) {
  const { state, key, threadId, messageId, problem } = message
  return (
    <article class="message user outgoing" data-state={state}>
      <h2 class="author">
        You <span class="faint">{STATES[state]}</span>
      </h2>
      <div class="prose plain">{message.message.content}</div>
      {state === 'accepted' && messageId !== undefined && <TakeBack threadId={threadId} itemId={messageId} />}
      {state === 'refused' && (
        <div class="row">
          <Problem>{problem}</Problem>
          <button type="button" class="button quiet" onClick={() => box.postAgain(key)}>
            Send again
          </button>
          <button type="button" class="button quiet" onClick={() => box.forget((one) => one.key === key)}>
            Discard
          </button>
        </div>
      )}
    </article>
  )
}
