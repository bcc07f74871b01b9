/**
 * Streams of a thread as a subscriber gets them, with text and attempts: recorded while it runs, and as a later subscriber would have
 * got the rest of them.
 */
import type { ThreadEvent, ThreadEventOf, ThreadHandle } from '../../src/client/index.js'
import { cursorOf } from '../../src/client/events/follow-events.js'
import { noteHeard } from './ag-ui-desk.js'

/** Records all that a subscriber gets from now on. */
export function recordStream(thread: ThreadHandle) {
  const end = new AbortController()
  const events: ThreadEvent[] = []
  const args = new Map<string, string>()
  const over = (async () => {
    for await (const event of thread.events({ signal: end.signal })) {
      events.push(event)
      if (event.type === 'model.delta') noteHeard(event.payload.text)
      if (event.type === 'tool.args') {
        const { toolCallId: id, payload } = event
        args.set(id, (args.get(id) ?? '').slice(0, payload.offset) + payload.text)
        noteHeard(args.get(id) ?? '')
      }
    }
  })()
  return {
    events,
    /** Once its log has been read to the end. */
    async stop(): Promise<readonly ThreadEvent[]> {
      for await (const { sequence = 0 } of thread.events({ follow: false }))
        while ((events.findLast((event) => event.sequence !== undefined)?.sequence ?? 0) < sequence)
          await new Promise((resolve) => setTimeout(resolve, 10))
      end.abort()
      await over
      return events
    },
  }
}

/** The sequence of the last fact before that place. */
export function sequenceAt(events: readonly ThreadEvent[], place: number): number {
  return events.slice(0, place).findLast(({ sequence }) => sequence !== undefined)?.sequence ?? 0
}

/** What is seen while it happens. */
type Live = ThreadEventOf<'model.delta' | 'reasoning.delta' | 'tool.args' | 'tool.output' | 'tool.progress'>

const COUNTED = {
  ...{ 'model.delta': 'text', 'tool.output': 'text', 'tool.args': 'args' },
  ...{ 'reasoning.delta': 'reasoning', 'tool.progress': 'reasoning' },
} as Readonly<Record<string, 'text' | 'reasoning' | 'args'>>

const isLive = (event: ThreadEvent): event is Live => event.type in COUNTED

/** The message that is written, or the call that runs, with what a reader of the store finds of it. */
interface LiveAt {
  readonly about: string
  readonly attempt: number
  readonly pieces: readonly Live[]
}

/** Whether an event takes away what is live. */
function takesAway({ about, attempt }: LiveAt, event: ThreadEvent): boolean {
  if (/^run\.(?:completed|failed|cancelled)$/.test(event.type)) return true
  if (event.type === 'tool.result' || event.type === 'action.required') return event.toolCallId === about
  if (event.type === 'model.requested') return event.messageId === about && event.payload.attempt > attempt
  return event.type === 'message.created' && event.messageId === about
}

/** What is live once these events are over: each text as a whole, of the last attempt. */
export function liveAfter(events: readonly ThreadEvent[]): LiveAt | null {
  let live: LiveAt | null = null
  for (const event of events) {
    if (!isLive(event)) {
      if (live !== null && takesAway(live, event)) live = null
      continue
    }
    const about = 'messageId' in event ? event.messageId : event.toolCallId
    const { attempt } = event.payload
    if (live?.about === about && attempt < live.attempt) continue
    const begun: LiveAt =
      live?.about === about && live.attempt === attempt ? live : { about, attempt, pieces: [] }
    live = { ...begun, pieces: withPiece(begun.pieces, event) }
  }
  return live
}

function withPiece(pieces: readonly Live[], event: Live): readonly Live[] {
  const at = pieces.findIndex(
    ({ type, toolCallId }) => type === event.type && toolCallId === event.toolCallId,
  )
  const known = pieces[at]
  if (known === undefined) return [...pieces, event]
  if (known.type === 'tool.progress' || event.type === 'tool.progress') return pieces.with(at, event)
  const text = known.payload.text.slice(0, event.payload.offset) + event.payload.text
  return pieces.with(at, { ...known, payload: { ...known.payload, text } } as Live)
}

/**
 * What a subscriber gets that begins at that place behind its last fact: the text of a message that is under way comes as a whole, of its
 * last attempt, and so do the reports of a call that runs.
 */
export function rejoin(events: readonly ThreadEvent[], place: number): readonly ThreadEvent[] {
  const sequence = sequenceAt(events, place)
  const live = liveAfter(events.slice(0, place))
  if (live === null) return events.slice(place)
  const seen = { messageId: live.about, attempt: live.attempt, text: 0, reasoning: 0, args: 0 }
  const joined = live.pieces.map((event): ThreadEvent => {
    seen[COUNTED[event.type] ?? 'text'] += event.type === 'tool.progress' ? 1 : event.payload.text.length
    return { ...event, cursor: cursorOf({ sequence, streamed: { ...seen } }) }
  })
  return [...joined, ...events.slice(place)]
}
