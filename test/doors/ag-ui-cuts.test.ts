/** What the official client shows, however often it was cut off. */
import { HttpAgent } from '@ag-ui/client'
import { EventSchemas } from '@ag-ui/core/schemas'
import { expect, test } from 'vitest'
import type { ThreadEvent } from '../../src/client/index.js'
import { readTranscriptAt } from '../../src/client/reads/transcript-at.js'
import { contextOf } from '../../src/client/thread-client.js'
import { framesOf, joinedRun } from '../../src/server/ag-ui/run.js'
import type { AgUiFrame, BegunRun } from '../../src/server/ag-ui/run.js'
import { messagesOfRows, openCallsOf } from '../../src/views/ag-ui/messages.js'
import { doorFixture, shownBy } from './ag-ui-fixture.js'
import { rejoin, sequenceAt } from './recorded-streams.js'
import { recordAll } from './recorded-threads.js'
import type { Recorded } from './recorded-threads.js'
import { seededRandom } from '../support/seeded-random.js'

const door = doorFixture()
const CUTS = 500

/** Where a client may begin: before each run that a message of a person began. */
function beginnings({ events }: Recorded): readonly { readonly place: number; readonly own: string }[] {
  return events.flatMap((event, place) => {
    if (event.type !== 'run.started') return []
    const opened = events
      .slice(place)
      .find((one) => one.type === 'message.created' && one.payload.role === 'user')
    return opened?.messageId === undefined ? [] : [{ place, own: opened.messageId }]
  })
}

test(`the official client shows the transcript behind ${CUTS} streams that are cut at random places`, async () => {
  const recorded = await recordAll(door, 'c')
  const { next: random } = seededRandom(27)
  let cuts = 0
  for (let round = 0; cuts < CUTS; round += 1) {
    const one = recorded[round % recorded.length]
    if (one !== undefined) cuts += await hearInPieces(one, random)
  }
  const attempts = recorded.flatMap(({ events }) => events.filter(({ type }) => type === 'model.delta'))
  expect(attempts.some(({ payload }) => (payload as { attempt: number }).attempt > 1)).toBe(true)
})

/** Hears one run of a recorded thread, is cut off now and then, and ends with what the store has. Returns how often it was cut off. */
async function hearInPieces({ threadId, events }: Recorded, random: () => number): Promise<number> {
  const pick = (most: number): number => Math.floor(random() * most)
  const starts = beginnings({ threadId, events })
  const { place, own } = starts[pick(starts.length)] ?? { place: 0, own: '' }
  const context = contextOf(door.threads)
  const run = { threadId, runId: `run-${pick(1e9)}` }
  const before = sequenceAt(events, place)
  const known = messagesOfRows((await readTranscriptAt(context, { threadId, sequence: before })).rows)
  const said = (await door.threads.get(threadId).message(own))?.message.content ?? ''
  const begin: BegunRun = {
    first: [{ type: 'RUN_STARTED', ...run, protocolVersion: '1.0' }],
    rest: { ...run, from: before, awaited: { [own]: said }, calls: openCallsOf(known) },
    ...{ sequence: before, isJoined: false },
  }
  const end = events.findIndex(
    ({ type, sequence = 0 }) => /^run\.(?:completed|failed|cancelled)$/.test(type) && sequence > before,
  )
  const agent = new HttpAgent({ url: 'http://x', threadId })
  agent.messages = JSON.parse(JSON.stringify([...known, { id: own, role: 'user', content: said }]))
  agent.subscribe({ onEvent: ({ event }) => void EventSchemas.parse(event) })
  let [at, begun, cuts, last] = [place, begin, 0, String(before)]
  for (;;) {
    const isLast = cuts >= 4 || random() < 0.3
    const frames = []
    const stream = begun.isJoined ? rejoin(events, at) : events.slice(at)
    for await (const frame of framesOf({ client: door.threads, threadId, run }, begun, iterate(stream)))
      frames.push(frame)
    const heard = isLast ? frames.length : pick(frames.length)
    await hear(agent, frames.slice(0, heard), { rest: frames[heard], pick })
    if (isLast) break
    cuts += 1
    last = frames[heard - 1]?.id ?? last
    const reached = Math.max(at, events.findIndex(({ cursor }) => cursor === last) + 1)
    at = reached + pick(end + 1 - reached)
    const sequence = sequenceAt(events, at)
    const { rows } = await readTranscriptAt(context, { threadId, sequence })
    const waits = rows.some(({ id }) => id === own) ? [] : [{ id: own }]
    begun = joinedRun([{ type: 'RUN_STARTED', ...run, protocolVersion: '1.0' }], run, {
      ...{ rows, sequence },
      waiting: waits as never,
    })
  }
  const { rows } = await readTranscriptAt(context, { threadId, sequence: events[end]?.sequence ?? 0 })
  expect(shownBy(agent), `${threadId} ${own} ${cuts}`).toEqual(messagesOfRows(rows))
  return cuts + 1
}

async function* iterate(events: readonly ThreadEvent[]): AsyncGenerator<ThreadEvent> {
  yield* events
}

interface Broken {
  /** The frame in whose middle the stream breaks off. */
  readonly rest: AgUiFrame | undefined
  readonly pick: (most: number) => number
}

/** The client reads these frames in pieces of random bytes, and of the next one a part. */
async function hear(agent: HttpAgent, frames: readonly AgUiFrame[], { rest, pick }: Broken): Promise<void> {
  const encode = (frame: AgUiFrame): Uint8Array =>
    new TextEncoder().encode(`id: ${frame.id}\nevent: ${frame.type}\ndata: ${JSON.stringify(frame.data)}\n\n`)
  const whole = Buffer.concat(frames.map(encode))
  const part = rest === undefined ? Buffer.alloc(0) : Buffer.from(encode(rest))
  const bytes = Buffer.concat([whole, part.subarray(0, pick(Math.max(1, part.length - 2)))])
  agent.fetch = async () => {
    let at = 0
    const body = new ReadableStream<Uint8Array>({
      pull(controller) {
        if (at >= bytes.length)
          return rest === undefined
            ? controller.close()
            : controller.error(new DOMException('cut', 'AbortError'))
        const next = at + 1 + pick(2_000)
        controller.enqueue(bytes.subarray(at, next))
        at = next
      },
    })
    return new Response(body, { headers: { 'content-type': 'text/event-stream' } })
  }
  await agent.runAgent()
}
