import type { Reader } from './store.js'

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
export async function callHolder(db: Reader, messageId: string): Promise<CallHolder> {
  const message = await db
    .selectFrom('messages')
    .select(['parent_id', 'depth', 'prompt', 'position'])
    .where('id', '=', messageId)
    .executeTakeFirst()
  if (message === undefined) return { parentId: null, depth: 0, prompt: null, placed: true }
  const { parent_id: parentId, depth, prompt, position } = message
  return { parentId, depth, prompt, placed: position !== null }
}
