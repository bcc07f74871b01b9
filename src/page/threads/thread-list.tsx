/** The threads of the account: live, by status, with a search. */
import { batch, computed, effect, signal } from '@preact/signals'
import { HttpError } from '../../http/index.js'
import type { Thread, ThreadCounts, ThreadsPage } from '../../http/index.js'
import { formatAge, formatWord } from '../parts/format.js'
import { titleOf } from '../parts/titles.js'
import { route, threadAddress } from '../parts/route.js'
import { Empty, StatusDot, useInterval } from '../parts/widgets.js'
import { access, client, isOnline } from '../session/api.js'

/** What a person looks for, from what needs them to what is over. */
const ORDER = [
  ...['blocked', 'waiting_resource', 'running', 'idle', 'stopped'],
  ...['failed', 'lost', 'completed', 'terminated'],
]

/** `waits for you` has these, and the threads whose subagents ask. */
const OF_ASKING: readonly string[] = ['waiting_permission', 'waiting_input']

const POLL = 2_500
const PAGE = 50

/** The filter for threads that wait for a person, whatever their status. */
const ASKING = 'asking'

/** The threads with open requests. */
const asking = signal<ReadonlySet<string>>(new Set())
const threads = signal<readonly Thread[] | null>(null)
const next = signal<string | null>(null)
const counts = signal<ThreadCounts>({ counts: {}, more: false })
const status = signal('')
const search = signal('')
const isWhole = computed(() => next.value === null)

/** The newest filter wins over answers to earlier ones. */
let reading = 0

function filterOf(searched: string): { readonly search?: string; readonly parent: string } {
  const text = searched.trim()
  return { ...(text !== '' && { search: text }), parent: 'none' }
}

function statusFilter(): { readonly status?: string } {
  return status.value === '' ? {} : { status: status.value }
}

async function readThreads(): Promise<void> {
  if (access.value !== 'open') return
  const mine = ++reading
  try {
    const filter = filterOf(search.value)
    const [page, found, open] = await Promise.all([
      status.value === ASKING
        ? readAsking()
        : client.api.get('/threads', { query: { ...filter, ...statusFilter(), limit: PAGE } }),
      client.threads.counts(filter),
      readRequests(),
    ])
    if (mine !== reading) return
    batch(() => {
      // Pages that the person has loaded stay: only the first one is read again.
      const first = new Set(page.threads.map(({ threadId }) => threadId))
      const isFirst = (threads.value?.length ?? 0) <= PAGE
      const rest = isFirst ? [] : (threads.value ?? []).filter(({ threadId }) => !first.has(threadId))
      threads.value = [...page.threads, ...rest]
      if (isFirst) next.value = page.next
      counts.value = found
      asking.value = open
    })
  } catch (error) {
    if (!HttpError.mayPass(error) && access.value === 'open') throw error
  }
}

/** Those of subagents too: their own threads are where they are answered. */
async function readRequests(): Promise<ReadonlySet<string>> {
  const { requests } = await client.api.get('/requests', { query: { limit: PAGE } })
  return new Set(requests.map(({ threadId }) => threadId))
}

async function readAsking(): Promise<ThreadsPage> {
  const ids = await readRequests()
  const found = await Promise.allSettled([...ids].map((id) => client.threads.get(id).read()))
  // One that is deleted meanwhile asks nobody.
  return { threads: found.flatMap((one) => (one.status === 'fulfilled' ? [one.value] : [])), next: null }
}

async function readMore(): Promise<void> {
  if (next.value === null) return
  const filter = { ...filterOf(search.value), ...statusFilter() }
  const page = await client.api.get('/threads', { query: { ...filter, limit: PAGE, cursor: next.value } })
  const known = new Set(threads.value?.map(({ threadId }) => threadId))
  threads.value = [...(threads.value ?? []), ...page.threads.filter(({ threadId }) => !known.has(threadId))]
  next.value = page.next
}

/** Begins anew for another filter. */
effect(() => {
  void [status.value, search.value, access.value]
  threads.value = null
  void readThreads()
})

/** Going somewhere else is often because something has changed, such as a thread that was begun. */
effect(() => {
  void route.value
  void readThreads()
})

export function ThreadList() {
  useInterval(() => void readThreads(), POLL, [])
  return (
    <nav class="threads" aria-label="Threads">
      <header class="bar">
        <a class="brand" href="#/">
          <span class="mark" aria-hidden="true" /> Everthread
        </a>
        <a class="button primary" href="#/new">
          New thread
        </a>
      </header>
      <input
        type="search"
        class="search"
        placeholder="Search title, agent, user, id"
        aria-label="Search threads"
        maxLength={250}
        value={search.value}
        onInput={(event) => (search.value = event.currentTarget.value)}
      />
      <Statuses />
      {!isOnline.value && (
        <p class="offline" role="status">
          The server does not answer. This page tries again.
        </p>
      )}
      <Rows />
    </nav>
  )
}

function Statuses() {
  const { counts: byStatus, more } = counts.value
  const known = [...new Set([...ORDER, ...Object.keys(byStatus)])].filter(
    (one) => (byStatus[one] ?? 0) > 0 && !OF_ASKING.includes(one),
  )
  const total = Object.values(byStatus).reduce((sum: number, count) => sum + (count ?? 0), 0)
  const shown =
    status.value !== '' && status.value !== ASKING && !known.includes(status.value)
      ? [...known, status.value]
      : known
  return (
    <div class="statuses" role="group" aria-label="Status">
      <StatusFilter value="" name="all" count={total} more={more} />
      {(asking.value.size > 0 || status.value === ASKING) && (
        <StatusFilter
          value={ASKING}
          name="waits for you"
          count={asking.value.size}
          more={asking.value.size >= PAGE}
        />
      )}
      {shown.map((one) => (
        <StatusFilter key={one} value={one} name={formatWord(one)} count={byStatus[one] ?? 0} more={more} />
      ))}
    </div>
  )
}

interface StatusFilterProps {
  readonly value: string
  readonly name: string
  readonly count: number
  readonly more: boolean
}

function StatusFilter({ value, name, count, more }: StatusFilterProps) {
  return (
    <button
      type="button"
      class="chip"
      aria-pressed={status.value === value}
      onClick={() => (status.value = value)}
    >
      {value !== '' && <StatusDot status={value === ASKING ? 'waiting_permission' : value} />}
      {name} <span class="count">{more ? `${count}+` : count}</span>
    </button>
  )
}

function Rows() {
  const rows = threads.value
  if (rows === null) return <Empty>Loading…</Empty>
  if (rows.length === 0)
    return (
      <Empty>{search.value === '' && status.value === '' ? 'No threads yet.' : 'No thread matches.'}</Empty>
    )
  return (
    <ul class="rows">
      {rows.map((thread) => (
        <Row key={thread.threadId} thread={thread} />
      ))}
      {!isWhole.value && (
        <li>
          <button type="button" class="button quiet wide" onClick={() => void readMore()}>
            More
          </button>
        </li>
      )}
    </ul>
  )
}

function Row({ thread }: { readonly thread: Thread }) {
  const { threadId, agent, lastActivityAt, userId } = thread
  const isAsking = asking.value.has(threadId) || OF_ASKING.includes(thread.status)
  const now = isAsking ? 'waiting_permission' : thread.status
  const isOpen = route.value.name === 'thread' && route.value.threadId === threadId
  return (
    <li>
      <a class="thread-row" href={threadAddress(threadId)} aria-current={isOpen ? 'page' : undefined}>
        <StatusDot status={now} />
        <span class="title">{titleOf(thread)}</span>
        <time class="faint">{formatAge(lastActivityAt)}</time>
        <span class="faint detail">
          {agent} · {isAsking ? 'waits for you' : formatWord(now)}
          {userId !== null && ` · ${userId}`}
        </span>
      </a>
    </li>
  )
}
