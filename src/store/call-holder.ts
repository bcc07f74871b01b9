import type { Reader } from './store.js'
import type { ToolCallRecord } from './tool-calls.js'

/** The message that holds a tool call: its result belongs beside it. */
export interface CallHolder {
  readonly parentId: string | null
  readonly depth: number
  /** The prompt that was active when it was made. */
  readonly prompt: string | null
  /** Whether it has a place in the transcript; a tool queued by a client gets one when its turn comes. */
  readonly placed: boolean
}

/** Of a message that was deleted since, as if it stood at the top of the transcript. */
export async function callHolder(
  db: Reader,
  { thread_id: threadId, message_id: messageId }: Pick<ToolCallRecord, 'thread_id' | 'message_id'>,
): Promise<CallHolder> {
  return holderOf(await holders(db, threadId).where('id', '=', messageId).executeTakeFirst())
}

/** The same where only the call is known: it is read at the same time as the call's row. */
export async function holderOfCall(db: Reader, threadId: string, callId: string): Promise<CallHolder> {
  const messageId = db
    .selectFrom('tool_calls')
    .select('message_id')
    .where('thread_id', '=', threadId)
    .where('id', '=', callId)
  return holderOf(await holders(db, threadId).where('id', '=', messageId).executeTakeFirst())
}

function holders(db: Reader, threadId: string) {
  return db
    .selectFrom('messages')
    .select(['parent_id', 'depth', 'prompt', 'position'])
    .where('thread_id', '=', threadId)
}

type Holder = Awaited<ReturnType<ReturnType<typeof holders>['executeTakeFirst']>>

function holderOf(message: Holder): CallHolder {
  if (message === undefined) return { parentId: null, depth: 0, prompt: null, placed: true }
  const { parent_id: parentId, depth, prompt, position } = message
  return { parentId, depth, prompt, placed: position !== null }
}
