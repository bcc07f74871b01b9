import { listRequests } from '../store/calls/request-lists.js'
import type { ListedRequest } from '../store/calls/request-lists.js'
import { threadsFrom } from '../store/threads/thread-tree.js'
import type { ThreadNode } from '../store/threads/thread-tree.js'
import type { ClientContext } from './client-context.js'
import { knownThread } from './open-thread.js'

/** So many are told in one sentence. */
const TOLD = 3
const PAGE = 100

/** The end of a sentence: which subagents below a thread wait for somebody, and for what; empty if none does. */
export async function waitingBelow(context: ClientContext, threadId: string): Promise<string> {
  const store = await context.store()
  const waiting = await store.read(async (db) => {
    const { root_thread_id: root } = await knownThread(db, threadId)
    const { requests } = await listRequests(db, { filter: { root }, limit: PAGE })
    const others = requests.filter(({ request }) => request.thread_id !== threadId)
    if (others.length === 0) return []
    const below = new Map((await threadsFrom(db, threadId)).map((thread) => [thread.id, thread]))
    return others.flatMap((listed) => {
      const thread = below.get(listed.request.thread_id)
      return thread === undefined ? [] : [waitsFor(thread, listed)]
    })
  })
  const more = waiting.length > TOLD ? [`${waiting.length - TOLD} more wait, too`] : []
  return [...waiting.slice(0, TOLD), ...more].map((sentence) => `; ${sentence}`).join('')
}

/** Names alone: the error may be logged (T5). */
function waitsFor({ id, agent }: ThreadNode, { request }: ListedRequest): string {
  const { kind, tool_name: tool, id: requestId } = request
  const what = { approval: 'leave to run', call: 'the result of', variables: 'variables' }[kind]
  return `subagent ${agent} (${id}) waits for ${what}${tool === null ? '' : ` ${tool}`} (request ${requestId})`
}
