/**
 * The events of a thread over `fetch`, because `EventSource` sends no `Authorization` header.
 *
 * Invariants. Each event is given once and in order: a stream that breaks off goes on behind the last event that came
 * (`Last-Event-ID`). It ends when the thread's events end, when the caller aborts it, and for a refusal that no repetition changes.
 */
import type { ThreadEvent } from '../../protocol/events.js'

/** `ended`: no event follows. `refused`: the server refuses this stream. */
export type StreamState = 'connecting' | 'live' | 'waiting' | 'ended' | 'refused'

export interface Follow {
  readonly url: string
  readonly headers: () => Readonly<Record<string, string>>
  /** A sequence or cursor: events come from the next one on. */
  readonly after: string
  readonly onEvents: (events: readonly ThreadEvent[]) => void
  readonly onState: (state: StreamState) => void
  readonly signal: AbortSignal
  /** Milliseconds; tests have less. */
  readonly patience?: { readonly first: number; readonly most: number; readonly silence: number }
}

/** The server gives a sign of life each 15 s, and a proxy may keep one back. */
const PATIENCE = { first: 250, most: 5_000, silence: 45_000 }

/** Follows the events until they end. */
export async function followEvents(follow: Follow): Promise<void> {
  const { onState, signal, patience = PATIENCE } = follow
  let last = follow.after
  let pause = patience.first
  while (!signal.aborted) {
    onState('connecting')
    const outcome = await readStream({
      ...follow,
      after: last,
      onEvents: (events) => {
        last = events.at(-1)?.cursor ?? last
        pause = patience.first
        follow.onEvents(events)
      },
    })
    if (signal.aborted) return
    if (outcome !== 'broken') return onState(outcome)
    onState('waiting')
    await wait(pause * (0.75 + Math.random() / 2), signal)
    pause = Math.min(patience.most, pause * 2)
  }
}

/** A wait that ends early when the browser is online again. */
function wait(milliseconds: number, signal: AbortSignal): Promise<void> {
  return new Promise((resolve) => {
    const end = (): void => {
      clearTimeout(timer)
      signal.removeEventListener('abort', end)
      globalThis.removeEventListener?.('online', end)
      resolve()
    }
    const timer = setTimeout(end, milliseconds)
    signal.addEventListener('abort', end)
    globalThis.addEventListener?.('online', end)
  })
}

async function readStream(follow: Follow): Promise<'broken' | 'ended' | 'refused'> {
  const { url, headers, after, onState, signal, patience = PATIENCE } = follow
  const silence = new AbortController()
  let timer = setTimeout(() => silence.abort(), patience.silence)
  try {
    const response = await fetch(url, {
      headers: { ...headers(), 'Last-Event-ID': after },
      signal: AbortSignal.any([signal, silence.signal]),
    })
    if (response.status === 204) return 'ended'
    if (response.status < 500 && response.status !== 429 && !response.ok) return 'refused'
    if (!response.ok || response.body === null) return 'broken'
    onState('live')
    const parser = createParser()
    const decoder = new TextDecoder()
    const reader = response.body.getReader()
    for (;;) {
      const { value, done } = await reader.read()
      if (done) return 'broken'
      clearTimeout(timer)
      timer = setTimeout(() => silence.abort(), patience.silence)
      const events = parser(decoder.decode(value, { stream: true }))
      if (events.length > 0) follow.onEvents(events)
    }
  } catch {
    return 'broken'
  } finally {
    clearTimeout(timer)
  }
}

/** Reads server-sent events from pieces of text; the data of each is one event as JSON. An unfinished one waits for its rest. */
export function createParser(): (text: string) => readonly ThreadEvent[] {
  let rest = ''
  return (text) => {
    const blocks = (rest + text).split('\n\n')
    rest = blocks.pop() ?? ''
    return blocks.flatMap((block) => {
      const data = block
        .split('\n')
        .filter((line) => line.startsWith('data:'))
        .map((line) => line.slice('data:'.length).trimStart())
        .join('\n')
      return data === '' ? [] : [JSON.parse(data) as ThreadEvent]
    })
  }
}
