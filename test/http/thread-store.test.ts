/** The state of a thread for user interfaces, over recorded streams that are cut anywhere. */
import { isDeepStrictEqual } from 'node:util'
import { expect, test } from 'vitest'

import { createHttpClient, createThreadStore } from '../../src/http/index.js'
import type { ShownMessage, ThreadState } from '../../src/http/index.js'
import type { ThreadEvent, ThreadHandle } from '../../src/client/index.js'
import { ACME, doorFixture } from '../doors/ag-ui-fixture.js'
import { recordStream, rejoin } from '../doors/recorded-streams.js'
import { until } from '../support/until.js'
import { seededRandom } from '../support/seeded-random.js'

const door = doorFixture()
const CUTS = 500

interface Recorded {
  readonly threadId: string
  readonly events: readonly ThreadEvent[]
}

async function record(
  id: string,
  texts: readonly string[],
  answer?: (thread: ThreadHandle) => Promise<void>,
): Promise<Recorded> {
  const { thread } = await door.start(id)
  const recording = recordStream(thread)
  for (const text of texts) {
    await thread.send(text)
    await thread.waitUntilIdle()
    await answer?.(thread)
  }
  return { threadId: id, events: await recording.stop() }
}

async function approve(thread: ThreadHandle): Promise<void> {
  for (const { id } of (await thread.snapshot()).pending) {
    await thread.respond(id, { approved: true })
    await thread.waitUntilIdle()
  }
}

/** As the server sends it, and sometimes twice. */
function bytesOf(events: readonly ThreadEvent[], from: string | null): Uint8Array {
  const place = from === null ? 0 : events.findIndex(({ cursor }) => cursor === from) + 1
  const text = rejoin(events, place)
    .map((event) => `id: ${event.cursor}\nevent: ${event.type}\ndata: ${JSON.stringify(event)}\n\n`)
    .join('')
  return new TextEncoder().encode(text)
}

/** Everything is answered by the server, but the events are those of the record, and their stream is cut once, anywhere. */
function cuttingFetch({ events }: Recorded, part: number) {
  let isCut = false
  return async (request: Request): Promise<Response> => {
    const { pathname, searchParams } = new URL(request.url)
    if (!pathname.endsWith('/events')) return fetch(request)
    const after = request.headers.get('last-event-id') ?? searchParams.get('after')
    const bytes = bytesOf(events, after === '0' ? null : after)
    const body = new ReadableStream<Uint8Array>({
      start(controller) {
        const end = isCut ? bytes.length : Math.floor(bytes.length * part)
        controller.enqueue(bytes.slice(0, end))
        if (isCut) return
        isCut = true
        controller.close()
      },
    })
    return new Response(body, { headers: { 'content-type': 'text/event-stream' } })
  }
}

/** The state once it has all events, and what they make it read: the rest of a long text, requests. */
async function settled(
  recorded: Recorded,
  { fetch, wanted }: { readonly fetch: (request: Request) => Promise<Response>; readonly wanted: unknown },
): Promise<ThreadState> {
  const client = createHttpClient({ url: door.url, token: ACME, fetch })
  const last = recorded.events.findLast(({ sequence }) => sequence !== undefined)?.sequence ?? 0
  const seen: string[] = []
  const onEvents = (events: readonly ThreadEvent[]): void =>
    void seen.push(...events.flatMap(({ sequence, cursor }) => (sequence === undefined ? [] : cursor)))
  const store = createThreadStore({ client, threadId: recorded.threadId, onEvents })
  const leave = store.subscribe(() => undefined)
  try {
    await until('all events', () => seen.length >= last)
    await until('all texts', () => isDeepStrictEqual(shown(store.getState().messages), wanted)).catch(
      () => undefined,
    )
    expect([seen.length, new Set(seen).size]).toEqual([last, last])
    return store.getState()
  } finally {
    leave()
  }
}

/** Of a text too long for the report of a failure. */
const briefly = (text: string): string =>
  text.length < 99 ? text : `${text.slice(0, 40)}…${text.slice(-40)} (${text.length})`

/** What the store has: rows in order, results with their calls. */
async function stored({ threadId }: Recorded): Promise<unknown> {
  const { messages } = await door.threads.get(threadId).messages({ limit: 1_000 })
  return messages
    .filter(({ role }) => role !== 'tool')
    .map(({ id, role, content }) => [id, role, briefly(content ?? '')])
}

const shown = (messages: readonly ShownMessage[]): unknown =>
  messages.map(({ id, role, text }) => [id, role, briefly(text)])

test('with 500 cuts anywhere, each state ends with what the store has', async () => {
  const records = [
    await record('store-words', ['hello', 'a tale']),
    await record('store-calls', ['please look please store please fail please summary, and say so']),
    await record('store-flaky', ['flaky store']),
    await record('store-long', ['please long', 'huge']),
    await record('store-asks', ['please refund'], approve),
    await record('store-subagent', ['please researcher']),
  ]
  const random = seededRandom(7)
  for (const recorded of records) {
    const wanted = await stored(recorded)
    const cuts = Math.ceil(CUTS / records.length)
    for (let done = 0; done < cuts; done += 42) {
      const states = await Promise.all(
        Array.from({ length: Math.min(42, cuts - done) }, () =>
          settled(recorded, { fetch: cuttingFetch(recorded, random.next()), wanted }),
        ),
      )
      for (const state of states) {
        expect(shown(state.messages)).toEqual(wanted)
        expect([state.requests, state.queue, state.status]).toEqual([[], [], 'idle'])
        expect(state.messages.flatMap(({ calls }) => calls).filter(({ result }) => result === null)).toEqual(
          [],
        )
      }
    }
  }
})
