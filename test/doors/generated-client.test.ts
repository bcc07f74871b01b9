/** What a client that a generator makes of the OpenAPI document shows, however often its stream is cut off. */
import { execFile } from 'node:child_process'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath, pathToFileURL } from 'node:url'
import { promisify } from 'node:util'
import { afterAll, beforeAll, expect, test } from 'vitest'
import type { ThreadEvent } from '../../src/client/index.js'
import type { Message } from '../../src/index.js'
import { seededRandom } from '../support/seeded-random.js'
import { ACME, doorFixture } from './ag-ui-fixture.js'
import { rejoin } from './recorded-streams.js'
import { recordAll } from './recorded-threads.js'
import type { Recorded } from './recorded-threads.js'

const ROOT = fileURLToPath(new URL('../..', import.meta.url))
const CUTS = 500
/** Of one reader. */
const MOST_CUTS = 6

/** The part of the generated client that is used here. */
interface Generated {
  followEvents(options: {
    readonly client: unknown
    readonly path: { readonly threadId: string }
    readonly sseSleepFn: () => Promise<void>
  }): Promise<{ readonly stream: AsyncIterable<ThreadEvent> }>
  readMessage(options: {
    readonly client: unknown
    readonly path: { readonly threadId: string; readonly messageId: string }
  }): Promise<{ readonly data?: { readonly message: Message } }>
}

const door = doorFixture()
let folder: string
let sdk: Generated
let createClient: (config: object) => unknown

beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'everthread-generated-'))
  const generator = join(ROOT, 'node_modules/@hey-api/openapi-ts/dist/run.mjs')
  const older = join(ROOT, 'test/server/older-typescript.ts')
  const given = ['--silent', '-i', join(ROOT, 'docs/generated/openapi.json'), '-o', join(folder, 'client')]
  await promisify(execFile)(process.execPath, ['--import', older, generator, ...given], { cwd: ROOT })
  const made = (file: string) => import(pathToFileURL(join(folder, 'client', file)).href)
  sdk = (await made('index.ts')) as Generated
  ;({ createClient } = (await made('client/index.ts')) as { createClient: typeof createClient })
})
afterAll(() => rm(folder, { recursive: true, force: true }))

/** Answers with the events behind a cursor, as the server sends them; text that is under way comes as a whole, with a cursor of its own. */
function serve({ events }: Recorded): (cursor: string | null) => Uint8Array {
  const places = new Map(events.map(({ cursor }, index) => [cursor, index + 1]))
  return (cursor) => {
    const place = cursor === null ? 0 : places.get(cursor)
    if (place === undefined) throw new Error(`Expected a cursor that was sent, got ${cursor}.`)
    const sent = rejoin(events, place)
    for (const { cursor: own } of sent) if (!places.has(own)) places.set(own, place)
    const text = sent
      .map((event) => `id: ${event.cursor}\nevent: ${event.type}\ndata: ${JSON.stringify(event)}\n\n`)
      .join('')
    return new TextEncoder().encode(text)
  }
}

/** Everything is answered by the server, but the events are those of the record, and their stream breaks off now and then. */
function breakingFetch(recorded: Recorded, random: () => number) {
  const bytesBehind = serve(recorded)
  let cuts = 0
  const answer = async (request: Request): Promise<Response> => {
    if (!new URL(request.url).pathname.endsWith('/events')) return fetch(request)
    const bytes = bytesBehind(request.headers.get('last-event-id'))
    const isWhole = cuts >= MOST_CUTS || random() < 0.15
    const end = isWhole ? bytes.length : Math.floor(random() * bytes.length)
    if (!isWhole) cuts += 1
    let at = 0
    const body = new ReadableStream<Uint8Array>({
      pull(controller) {
        if (at >= end) return isWhole ? controller.close() : controller.error(new TypeError('terminated'))
        const next = Math.min(end, at + 1 + Math.floor(random() * 4_000))
        controller.enqueue(bytes.slice(at, next))
        at = next
      },
    })
    return new Response(body, { headers: { 'content-type': 'text/event-stream' } })
  }
  return { fetch: answer, cuts: () => cuts }
}

interface Shown {
  readonly messages: Map<string, Message>
  /** The newest attempt of a text that streams, by its message. */
  readonly drafts: Map<string, { readonly attempt: number; readonly text: string }>
}

/** What a reader of the generated types does with an event. */
async function show({ messages, drafts }: Shown, event: ThreadEvent, read: (id: string) => Promise<Message>) {
  if (event.type === 'model.delta') {
    const { attempt, offset, text } = event.payload
    const known = drafts.get(event.messageId)
    const before = known?.attempt === attempt ? known.text.slice(0, offset) : ''
    expect([event.messageId, before.length]).toEqual([event.messageId, offset])
    drafts.set(event.messageId, { attempt, text: before + text })
  }
  // A result is a message of its own, which the end of its call names.
  if (event.type === 'tool.result' && event.messageId !== undefined)
    messages.set(event.messageId, await read(event.messageId))
  if (event.type === 'message.deleted') messages.delete(event.messageId ?? '')
  if (event.type !== 'message.created' && event.type !== 'message.updated') return
  const { message, truncated } = event.payload
  if (message === null) return
  const whole = truncated ? await read(message.id) : message
  messages.set(message.id, whole)
  const draft = drafts.get(message.id)
  // Text that streamed is the beginning of the message that takes its place, also over a connection that was cut.
  if (draft !== undefined) expect(whole.content?.startsWith(draft.text), draft.text).toBe(true)
  drafts.delete(message.id)
}

/** Hears all of a thread. Returns how often it was cut off. */
async function hear(recorded: Recorded, random: () => number): Promise<number> {
  const { threadId } = recorded
  const broken = breakingFetch(recorded, random)
  const client = createClient({ baseUrl: door.url, auth: () => ACME, fetch: broken.fetch })
  const shown: Shown = { messages: new Map(), drafts: new Map() }
  const seen: number[] = []
  const read = async (messageId: string): Promise<Message> => {
    const { data } = await sdk.readMessage({ client, path: { threadId, messageId } })
    if (data === undefined) throw new Error(`Expected the message ${messageId}, got none.`)
    return data.message
  }
  const { stream } = await sdk.followEvents({ client, path: { threadId }, sseSleepFn: async () => undefined })
  for await (const event of stream) {
    if (event.sequence !== undefined) seen.push(event.sequence)
    await show(shown, event, read)
  }
  // Each fact once and in order, whatever was cut.
  expect(seen).toEqual(seen.map((_sequence, index) => index + 1))
  const { messages } = await door.threads.get(threadId).messages({ limit: 1_000, maxDepth: 9 })
  const inOrder = [...shown.messages.values()].toSorted((one, other) => placeOf(one) - placeOf(other))
  const texts = (rows: readonly Message[]) => rows.map(({ id, role, content }) => ({ id, role, content }))
  expect(texts(inOrder.filter(({ silent }) => !silent)), threadId).toEqual(texts(messages))
  return broken.cuts()
}

const placeOf = ({ position }: Message): number => position ?? Infinity

test(`a generated client ends with the transcript of the store behind ${CUTS} cuts at random places`, async () => {
  const recorded = await recordAll(door, 'generated')
  const { next: random } = seededRandom(41)
  let cuts = 0
  for (let round = 0; cuts < CUTS || round < recorded.length; round += 1) {
    const one = recorded[round % recorded.length]
    if (one !== undefined) cuts += await hear(one, random)
  }
  const deltas = recorded.flatMap(({ events }) => events.filter(({ type }) => type === 'model.delta'))
  expect(deltas.some(({ payload }) => (payload as { attempt: number }).attempt > 1)).toBe(true)
})
