/** One thread: its conversation, and beside it (on a narrow screen in its place) what there is to know of it. */
import { signal } from '@preact/signals'
import type { ComponentChildren } from 'preact'
import { useEffect, useMemo } from 'preact/hooks'
import { Composer } from '../chat/composer.js'
import { Conversation } from '../chat/conversation.js'
import { Agents, Files, Queue, Usage } from '../inspect/panels.js'
import { Steps } from '../inspect/steps.js'
import { formatWord } from '../parts/format.js'
import { threadAddress } from '../parts/route.js'
import { titleOf } from '../parts/titles.js'
import { Problem, StatusBadge } from '../parts/widgets.js'
import { client } from '../session/api.js'
import { openThread } from '../state/open-thread.js'
import type { OpenThread } from '../state/open-thread.js'

const TABS = {
  chat: 'Chat',
  steps: 'Steps',
  queue: 'Queue',
  agents: 'Agents',
  files: 'Files',
  usage: 'Usage',
} as const

type Tab = keyof typeof TABS

/** Chat is the whole thread on a wide screen, where it stays beside the others. */
const tab = signal<Tab>('chat')

/** Null: this server knows no Temporal UI. */
const temporalUi = signal<string | null>(null)

/** Reads what the server says of itself, once. */
export async function readConfiguration(): Promise<void> {
  const response = await client.fetch('/page/config.json')
  temporalUi.value = ((await response.json()) as { readonly temporalUi: string | null }).temporalUi
}

export function ThreadView({ threadId }: { readonly threadId: string }) {
  const thread = useMemo(() => openThread(threadId), [threadId])
  useEffect(() => () => thread.close(), [thread])
  if (thread.problem.value !== null)
    return (
      <div class="new">
        <a class="button quiet back" href="#/">
          ← Threads
        </a>
        <Problem>{thread.problem.value}</Problem>
      </div>
    )
  return (
    <div class="thread" data-tab={tab.value}>
      <Head thread={thread} />
      <div class="main">
        <Conversation thread={thread} />
        <Composer thread={thread} />
      </div>
      <Inspector thread={thread} />
    </div>
  )
}

function Head({ thread }: { readonly thread: OpenThread }) {
  const summary = thread.summary.value
  const title = summary === null ? thread.id : titleOf(summary)
  useEffect(() => {
    document.title = `${title} · Everthread`
    return () => void (document.title = 'Everthread')
  }, [title])
  return (
    <header class="thread-head">
      <a class="button quiet back" href="#/" aria-label="Back to threads">
        ←
      </a>
      <div class="grow clip">
        <h1 class="clip">{title}</h1>
        <p class="faint clip">
          {summary?.agent}
          {summary?.parent != null && (
            <>
              {' · '}
              <a href={threadAddress(summary.parent)}>parent</a>
            </>
          )}
          {` · ${thread.id}`}
        </p>
      </div>
      <Connection thread={thread} />
      {summary !== null && <StatusBadge status={statusOf(thread, summary.status)} />}
      {temporalUi.value !== null && (
        <a
          class="button quiet temporal"
          href={`${temporalUi.value}/workflows/${encodeURIComponent(thread.id)}`}
          target="_blank"
          rel="noopener noreferrer"
        >
          Temporal ↗
        </a>
      )}
    </header>
  )
}

/** A thread waits also where a subagent of it asks; in the words of the list. */
function statusOf({ requests }: OpenThread, status: string): string {
  const isAsking = status === 'running' && requests.value.length > 0
  return isAsking || status === 'waiting_permission' || status === 'waiting_input' ? 'waits for you' : status
}

function Connection({ thread }: { readonly thread: OpenThread }) {
  if (thread.stream.value !== 'waiting') return null
  return (
    <span class="badge bad" role="status">
      reconnecting…
    </span>
  )
}

function Inspector({ thread }: { readonly thread: OpenThread }) {
  const now = tab.value
  const select = (next: Tab): void => {
    tab.value = next
    if (next === 'files') thread.refresh('files')
    // As it is, if nobody answers.
    if (next === 'queue') void thread.store.loadQueue().catch(() => undefined)
  }
  // On a wide screen, where the chat is beside it, the first panel.
  const panel = now === 'chat' ? 'steps' : now
  return (
    <aside class="inspector" aria-label="About this thread">
      <div class="tabs" role="tablist" aria-label="Views of this thread">
        {(Object.keys(TABS) as Tab[]).map((name) => (
          <TabButton
            key={name}
            name={name}
            isSelected={now === name}
            isPanel={panel === name}
            select={select}
          >
            {TABS[name]}
            {countOf(thread, name)}
          </TabButton>
        ))}
      </div>
      <div class="panel" role="tabpanel" id="panel" aria-label={formatWord(TABS[panel])} tabIndex={0}>
        {panel === 'steps' && <Steps thread={thread} />}
        {panel === 'queue' && <Queue thread={thread} />}
        {panel === 'agents' && <Agents thread={thread} />}
        {panel === 'files' && <Files thread={thread} />}
        {panel === 'usage' && <Usage thread={thread} />}
      </div>
    </aside>
  )
}

function countOf(thread: OpenThread, name: Tab): ComponentChildren {
  const counts: Readonly<Partial<Record<Tab, number>>> = {
    chat: thread.requests.value.length,
    queue: thread.queue.value.length,
    agents: thread.tree.value?.children.length ?? 0,
  }
  const count = counts[name] ?? 0
  return count === 0 ? null : <span class="count">{count}</span>
}

interface TabButtonProps {
  readonly name: Tab
  readonly isSelected: boolean
  /** It is what a wide screen shows. */
  readonly isPanel: boolean
  readonly select: (tab: Tab) => void
  readonly children: ComponentChildren
}

function TabButton({ name, isSelected, isPanel, select, children }: TabButtonProps) {
  const move = (event: KeyboardEvent): void => {
    const names = Object.keys(TABS) as Tab[]
    const step = event.key === 'ArrowRight' ? 1 : event.key === 'ArrowLeft' ? -1 : 0
    if (step === 0) return
    event.preventDefault()
    const next = names.at((names.indexOf(name) + step) % names.length) ?? name
    select(next)
    document.getElementById(`tab-${next}`)?.focus()
  }
  return (
    <button
      type="button"
      id={`tab-${name}`}
      class={isPanel ? 'tab shown' : 'tab'}
      role="tab"
      aria-selected={isSelected}
      aria-controls="panel"
      onClick={() => select(name)}
      onKeyDown={move}
    >
      {children}
    </button>
  )
}
