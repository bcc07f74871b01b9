import type { Message } from 'everthread'
import type { ThreadClient, ThreadEvent, ThreadSummary } from 'everthread/client'

import { several } from './several.js'

/** What the client's read API says of one thread, when all is quiet. */
export interface ThreadRecord {
  readonly threadId: string
  readonly agent: string
  readonly parent: string | null
  readonly status: string
  /** It was terminated, by plan or with its parent, or has ended as a subagent that does not stay. */
  readonly closed: boolean
  /** The transcript, of any depth, in its order. */
  readonly rows: readonly Message[]
  readonly facts: readonly Fact[]
}

export type Fact = Extract<ThreadEvent, { readonly sequence: number }>

const PAGE = 500
const DEEPEST = 8

export async function readAllThreads(threads: ThreadClient): Promise<readonly ThreadRecord[]> {
  const all: ThreadSummary[] = []
  for await (const summary of threads.list()) all.push(summary)
  return several(all, (summary) => readThread(threads, summary))
}

async function readThread(threads: ThreadClient, summary: ThreadSummary): Promise<ThreadRecord> {
  const { threadId, agent, parent, status, closedAt } = summary
  const facts: Fact[] = []
  for await (const event of threads.get(threadId).events({ follow: false }))
    if (event.sequence !== undefined) facts.push(event)
  const rows = await allRows(threads, threadId)
  return { threadId, agent, parent, status, closed: closedAt !== null, rows, facts }
}

async function allRows(threads: ThreadClient, threadId: string): Promise<readonly Message[]> {
  const rows: Message[] = []
  for (let more = true; more;) {
    const after = rows.at(-1)?.position ?? 0
    const page = { after, limit: PAGE, includeSilent: true, maxDepth: DEEPEST }
    const { messages, hasMore } = await threads.get(threadId).messages(page)
    rows.push(...messages)
    more = hasMore
  }
  return rows
}
