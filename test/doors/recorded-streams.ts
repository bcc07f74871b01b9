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
  const over = (async () => {
    for await (const event of thread.events({ signal: end.signal })) {
      events.push(event)
      if (event.type === 'model.delta') noteHeard(event.payload.text)
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

/** Of the answers of models: no tool of these streams reports anything. */
type Delta = ThreadEventOf<'model.delta' | 'reasoning.delta'>

/**
 * What a subscriber gets that begins at that place behind its last fact: the text of a message that is under way comes as a whole, of its
 * last attempt.
 */
export function rejoin(events: readonly ThreadEvent[], place: number): readonly ThreadEvent[] {
  const sequence = sequenceAt(events, place)
  const begun = events.slice(0, place)
  const lastFact = begun.findLastIndex((event) => event.sequence !== undefined)
  const streamed = begun.filter(
    (event): event is Delta => event.type === 'model.delta' || event.type === 'reasoning.delta',
  )
  const last = streamed.at(-1)
  const isOver = begun.some(
    ({ type, messageId }) => type === 'message.created' && messageId === last?.messageId,
  )
  const isReplaced = begun.some(
    (event) =>
      event.type === 'model.requested' &&
      event.messageId === last?.messageId &&
      event.payload.attempt > (last?.payload.attempt ?? 0),
  )
  if (last === undefined || isOver || isReplaced || lastFact === place) return events.slice(place)
  const { messageId, payload } = last
  const own = streamed.filter(
    (event) => event.messageId === messageId && event.payload.attempt === payload.attempt,
  )
  const seen = { messageId, attempt: payload.attempt, text: 0, reasoning: 0 }
  const joined = (['reasoning.delta', 'model.delta'] as const).flatMap((type): readonly ThreadEvent[] => {
    const text = own.flatMap((event) => (event.type === type ? [event.payload.text] : [])).join('')
    if (text === '') return []
    seen[type === 'model.delta' ? 'text' : 'reasoning'] = text.length
    const cursor = cursorOf({ sequence, streamed: { ...seen } })
    return [{ ...last, type, cursor, payload: { ...payload, offset: 0, text } }]
  })
  return [...joined, ...events.slice(place)]
}
