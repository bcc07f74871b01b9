import { readdir, stat } from 'node:fs/promises'
import { join } from 'node:path'

import { afterAll, beforeAll, expect, test } from 'vitest'

import type { ThreadHandle, ThreadTree } from '../../src/client/index.js'
import { LIMITS } from '../../src/protocol/limits.js'
import { underContention } from '../support/contention.js'
import { marked } from '../support/marker.js'
import { factsOf } from '../support/thread-facts.js'
import { until } from '../support/until.js'
import { createFixture } from './worker/fixture.js'
import type { Fixture } from './worker/fixture.js'
import { startFleet } from './worker/fleet.js'
import type { Fleet } from './worker/fleet.js'
import { expectWholeLog, wholeTranscript } from './worker/whole-thread.js'

const MINUTE = 60_000

let fixture: Fixture
let fleet: Fleet

beforeAll(async () => {
  fixture = await createFixture()
  fleet = await startFleet(fixture)
})
afterAll(() => fixture.close())

const direct = (id: string): Promise<ThreadHandle> =>
  fixture.create({ id, agent: 'director', message: marked(`Go #${id}`) })

const allBelow = ({ children }: ThreadTree): readonly ThreadTree[] =>
  children.flatMap((child) => [child, ...allBelow(child)])

interface Waiting {
  readonly threadId: string
  readonly id: string
}

/** The requests of the guests below, once so many wait for an answer from outside. */
async function waitingGuests(thread: ThreadHandle, count: number): Promise<readonly Waiting[]> {
  return until(
    `${count} guests that wait`,
    async () => {
      const below = new Set(allBelow(await thread.tree()).map(({ threadId }) => threadId))
      const waiting: Waiting[] = []
      for await (const { threadId, id } of fixture.threads.pending())
        if (below.has(threadId)) waiting.push({ threadId, id })
      return waiting.length === count && waiting
    },
    2 * MINUTE,
  )
}

test(
  'T7 a hundred open children each report once',
  async () => {
    const thread = await direct('crowd')
    const guests = await waitingGuests(thread, LIMITS.openChildren)
    await until('the end of the run', async () => (await thread.snapshot()).run === null)
    // The one too many: its call says why, and no child is there.
    const before = await wholeTranscript(thread)
    const refused = before.filter(({ tool_status }) => tool_status === 'error')
    expect(refused.map(({ content }) => content)).toEqual([
      expect.stringContaining('100 subagents of this thread are open, and 100 may be at a time.'),
    ])
    expect((await thread.tree()).children).toHaveLength(LIMITS.openChildren)
    const result = { status: 'success', result: marked('Answer') } as const
    for (const { threadId, id } of guests) await fixture.threads.get(threadId).respond(id, { result })
    await thread.waitUntilIdle({ timeout: '2 minutes', children: true })
    const rows = await wholeTranscript(thread)
    await expectWholeLog(thread)
    const told = rows.filter(({ role, silent }) => role === 'user' && silent)
    // Fifty by themselves, and those of the fan-out together.
    expect(told).toHaveLength(51)
    const words = told.map(({ content }) => content).join('\n')
    for (const part of Array.from({ length: 100 }, (_, index) => index + 1))
      expect([part, words.split(marked(`Result of #crowd-${part}.`)).length - 1]).toEqual([part, 1])
    for (const { status, closedAt, entry } of (await thread.tree()).children)
      expect([status, entry?.status, closedAt]).toEqual(['completed', 'completed', expect.any(Number)])
  },
  5 * MINUTE,
)

test(
  'T8 terminate closes three levels, also through a kill',
  async () => {
    const thread = await direct('cascade')
    await waitingGuests(thread, 10)
    const nodes = allBelow(await thread.tree())
    expect(nodes).toHaveLength(13)
    await thread.terminate({ reason: marked('Enough') })
    await fleet.kill()
    await fleet.replaceDead()
    const handles = [thread, ...nodes.map(({ threadId }) => fixture.threads.get(threadId))]
    for (const handle of handles) await handle.workflow.result().catch(() => undefined)
    for (const handle of handles) {
      expect((await handle.workflow.describe()).status.name).toBe('CANCELLED')
      expect((await handle.snapshot()).status).toBe('terminated')
      await expectAnswered(handle)
    }
    const tree = await thread.tree()
    expect(allBelow(tree)).toHaveLength(13)
    for (const { status, closedAt, entry } of allBelow(tree))
      expect([status, entry?.status, closedAt]).toEqual(['terminated', 'terminated', expect.any(Number)])
  },
  2 * MINUTE,
)

test(
  'T8 terminate in the middle of starting leaves none open',
  async () => {
    const attachments = [{ name: 'whole.txt', mimeType: 'text/plain', data: Buffer.from(marked('whole')) }]
    const message = { content: marked('Go #burst'), attachments }
    const thread = await fixture.create({ id: 'burst', agent: 'director', message })
    const below = async (): Promise<readonly ThreadTree[]> => allBelow(await thread.tree())
    await until('forty threads', async () => (await below()).length >= 40, MINUTE)
    await thread.terminate()
    await until(
      'the end of all threads',
      async () => (await below()).every(({ closedAt }) => closedAt !== null),
      2 * MINUTE,
    )
    const nodes = await below()
    for (const { threadId, status, entry } of nodes) {
      const handle = fixture.threads.get(threadId)
      await handle.workflow.result().catch(() => undefined)
      expect(['completed', 'terminated']).toContain(status)
      expect([threadId, entry?.status]).toEqual([threadId, status])
      await expectAnswered(handle)
    }
    // Nothing started afterwards.
    expect(await below()).toHaveLength(nodes.length)
    await thread.workflow.result().catch(() => undefined)
    await expectAnswered(thread)
  },
  4 * MINUTE,
)

/** Every call of it has one result, and its log has one end. */
async function expectAnswered(thread: ThreadHandle): Promise<void> {
  const rows = await wholeTranscript(thread)
  const calls = rows.flatMap(({ tool_calls }) =>
    tool_calls === null ? [] : (JSON.parse(tool_calls) as { id: string }[]),
  )
  const results = rows.flatMap(({ tool_call_id }) => tool_call_id ?? [])
  expect(results.toSorted()).toEqual(calls.map(({ id }) => id).toSorted())
  const types = (await factsOf(thread)).map(({ type }) => type)
  // A message that crossed the end is rejected behind it, and nothing else happens there.
  const end = types.indexOf('thread.closed')
  expect(end).toBeGreaterThan(0)
  expect(types.slice(end + 1).filter((type) => type !== 'queue.changed')).toEqual([])
}

test(
  'SA-A-07.12a 100 MB go to a child and back without a copy',
  async () => {
    const id = 'heavy'
    const data = Buffer.alloc(LIMITS.fileBytes, 7)
    const attachments = [{ name: 'notes.txt', mimeType: 'application/octet-stream', data }]
    const idle = await fixture.create({ id })
    const { messageId } = await idle.send({ content: marked(`please research #${id}`), attachments })
    expect(messageId).not.toBe('')
    const before = await blobs()
    expect(before.bytes).toBeGreaterThanOrEqual(LIMITS.fileBytes)
    const { factor } = await underContention(() => idle.waitUntilIdle({ children: true }))
    expect(await blobs()).toEqual(before)
    const result = (await wholeTranscript(idle)).find(({ role }) => role === 'tool')
    const path = result?.attachments[0]?.path ?? ''
    expect(result?.attachments).toMatchObject([{ size: LIMITS.fileBytes }])
    expect(path).not.toBe('/attachments/notes.txt')
    expect(Buffer.from((await idle.readFile(path)) ?? new ArrayBuffer(0)).equals(data)).toBe(true)
    const [child = ''] = await fixture.childrenOf(id)
    const inside = await fixture.threads.get(child).statFile('/attachments/notes.txt')
    expect(inside?.size).toBe(LIMITS.fileBytes)
    const times = [
      await activityTime(id, 'thread.prepareChild'),
      await activityTime(child, 'thread.deliverReport'),
    ]
    process.stdout.write(`100 MB to a child and back: ${times.join(' ms and ')} ms\n`)
    // Writing the bytes takes longer than that; a busy machine may take some of it for a transaction.
    for (const time of times) expect(time).toBeLessThan(1000 * factor)
  },
  2 * MINUTE,
)

/** Files of the blob store, and their bytes in all. */
async function blobs(): Promise<{ readonly files: number; readonly bytes: number }> {
  const entries = await readdir(fixture.blobFolder, { recursive: true, withFileTypes: true })
  // An S3 server has files of its own beside them.
  const files = entries.filter((entry) => entry.isFile() && /^[0-9a-f]{64}$/.test(entry.name))
  const sizes = await Promise.all(
    files.map(async ({ parentPath, name }) => (await stat(join(parentPath, name))).size),
  )
  return { files: files.length, bytes: sizes.reduce((sum, size) => sum + size, 0) }
}

/** Milliseconds from the start to the end of the one activity of this name, as Temporal's history has them. */
async function activityTime(threadId: string, name: string): Promise<number> {
  const { events } = await fixture.threads.get(threadId).workflow.fetchHistory()
  const scheduled = events?.find(
    ({ activityTaskScheduledEventAttributes: attributes }) => attributes?.activityType?.name === name,
  )
  const of = String(scheduled?.eventId)
  const timeOf = (event: NonNullable<typeof events>[number] | undefined): number =>
    Number(event?.eventTime?.seconds ?? NaN) * 1000 + (event?.eventTime?.nanos ?? NaN) / 1e6
  const started = events?.find(
    ({ activityTaskStartedEventAttributes: attributes }) => String(attributes?.scheduledEventId) === of,
  )
  const ended = events?.find(
    ({ activityTaskCompletedEventAttributes: attributes }) => String(attributes?.scheduledEventId) === of,
  )
  return Math.round(timeOf(ended) - timeOf(started))
}
