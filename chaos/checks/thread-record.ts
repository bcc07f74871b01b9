import type { Message } from 'everthread'
import type { ThreadClient, ThreadEvent } from 'everthread/client'

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
  const records: ThreadRecord[] = []
  for await (const { threadId, agent, parent, status, closedAt } of threads.list()) {
    const thread = threads.get(threadId)
    const facts: Fact[] = []
    for await (const event of thread.events({ follow: false }))
      if (event.sequence !== undefined) facts.push(event)
    const rows = await allRows(threads, threadId)
    records.push({ threadId, agent, parent, status, closed: closedAt !== null, rows, facts })
  }
  return records
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
