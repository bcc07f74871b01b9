/** What a reader of a transcript has to know of its place in the log. */
import type { Message } from '../../protocol/message.js'
import { readEvents } from '../../store/events.js'
import { listMessages } from '../../store/messages/transcript.js'
import type { Reader } from '../../store/store.js'
import { openRun } from '../../store/threads/stops.js'
import { requireThread } from '../client-context.js'
import type { ClientContext } from '../client-context.js'

export interface TranscriptAt {
  /** The newest visible rows of the top level, in order, as those first events have made them. */
  readonly rows: readonly Message[]
  /** Messages that wait. */
  readonly waiting: readonly Message[]
  /** The events that made it. */
  readonly sequence: number
  /** A run is under way, or a message waits for one. */
  readonly isBusy: boolean
}

/** Rows at once: an older part of a transcript is read by `messages()`. */
const ROWS = 1_000

const PAGE = 1_000

/** Reads the transcript as the log had made it by then; later changes of its messages may show. @throws ThreadNotFoundError */
export async function readTranscriptAt(
  context: ClientContext,
  { threadId, sequence }: { readonly threadId: string; readonly sequence?: number },
): Promise<TranscriptAt> {
  const store = await context.store()
  return store.read(async (db) => {
    const { last_sequence: last } = await requireThread(db, threadId)
    const at = Math.min(sequence ?? last, last)
    const { messages } = await listMessages(db, { threadId, limit: ROWS })
    const later = await createdBehind(db, threadId, at)
    const waiting = messages.filter(({ position }) => position === null)
    const rows = messages.filter(({ id, position }) => position !== null && !later.has(id))
    const isBusy = waiting.length > 0 || (await openRun(db, threadId)) !== null
    return { rows, waiting, sequence: at, isBusy }
  })
}

/** The rows that events behind this one have made. A result is a row without an event of its own. */
async function createdBehind(db: Reader, threadId: string, sequence: number): Promise<ReadonlySet<string>> {
  const ids = new Set<string>()
  for (let after = sequence; ;) {
    const events = await readEvents(db, { threadId, after, limit: PAGE })
    for (const { type, scope } of events)
      if ((type === 'message.created' || type === 'tool.result') && scope.messageId !== undefined)
        ids.add(scope.messageId)
    const last = events.at(-1)
    if (last === undefined || events.length < PAGE) return ids
    after = last.sequence
  }
}
