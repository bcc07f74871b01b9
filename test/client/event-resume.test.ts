import { afterEach, beforeEach, expect, test } from 'vitest'
import type { ThreadEvent, ThreadHandle } from '../../src/client/index.js'
import { insertThread } from '../../src/store/threads/threads.js'
import { seededRandom } from '../support/seeded-random.js'
import { until } from '../support/until.js'
import { createClientFixture } from './client-fixture.js'
import type { ClientFixture } from './client-fixture.js'
import { randomStream } from './live/random-stream.js'
import { lastAttempts, nothingShown, show } from './live/shown.js'
import type { Shown } from './live/shown.js'

const STEPS = 80
const SEEDS = [1, 2, 3, 4, 5, 6]

let fixture: ClientFixture
let thread: ThreadHandle

beforeEach(async () => {
  fixture = await createClientFixture()
  await fixture.store.write((tx) => insertThread(tx, { id: 't', agent: 'support', created_at: 1 }))
  thread = fixture.threads.get('t')
})
afterEach(() => fixture.close())

test.each(SEEDS)('a stream that is cut at every event equals the uncut one (seed %i)', async (seed) => {
  const stream = randomStream(fixture.store, 't', seededRandom(seed))
  const uncut = nothingShown()
  const cut = nothingShown()
  const ended = new AbortController()
  const following = follow(uncut, ended.signal)
  for (let n = 0; n < STEPS; n += 1) {
    await stream.step()
    while (!isSame(cut, stream.expected)) show(cut, await oneEvent(cut.cursor))
    await until(`step ${n} on the uncut stream`, () => isSame(uncut, stream.expected))
  }
  ended.abort()
  await following
  expect(cut.texts).toEqual(uncut.texts)
  expect(cut.facts).toEqual(uncut.facts)
  expect(cut.facts.length).toBeGreaterThan(10)
})

test.each(SEEDS)('who comes back whenever it likes gets the rest (seed %i)', async (seed) => {
  const random = seededRandom(100 + seed)
  const stream = randomStream(fixture.store, 't', random)
  const shown = nothingShown()
  for (let n = 0; n < STEPS; n += 1) {
    await stream.step()
    if (!random.chance(0.3)) continue
    // Cut off wherever it is by then, or after all there is.
    const few = random.below(4)
    for (let taken = 0; taken < few && !isUpToDate(shown, stream.expected); taken += 1)
      show(shown, await oneEvent(shown.cursor))
  }
  while (!isUpToDate(shown, stream.expected)) show(shown, await oneEvent(shown.cursor))
  expect(shown.facts).toEqual(stream.expected.facts)
  expect(lastAttempts(shown)).toEqual(lastAttempts(stream.expected))
})

test('the cursor of a fact in the middle of a text resumes behind it', async () => {
  const stream = randomStream(fixture.store, 't', seededRandom(7))
  const shown = nothingShown()
  const cursors: string[] = []
  for (let n = 0; n < STEPS; n += 1) {
    await stream.step()
    while (!isSame(shown, stream.expected)) {
      const event = await oneEvent(shown.cursor)
      show(shown, event)
      if (event.sequence !== undefined) cursors.push(event.cursor)
    }
  }
  expect(cursors.filter((cursor) => cursor.includes(':')).length).toBeGreaterThan(2)
})

/** A connection that is cut after its first event. */
async function oneEvent(after: string): Promise<ThreadEvent> {
  for await (const event of thread.events({ after })) return event
  throw new Error('Expected an event, got the end of the stream.')
}

async function follow(shown: Shown, signal: AbortSignal): Promise<void> {
  for await (const event of thread.events({ signal })) show(shown, event)
}

function isSame(shown: Shown, expected: Shown): boolean {
  return shown.facts.length === expected.facts.length && sameTexts(shown.texts, expected.texts)
}

/** Attempts that were dropped before it came back are not shown. */
function isUpToDate(shown: Shown, expected: Shown): boolean {
  return (
    shown.facts.length === expected.facts.length && sameTexts(lastAttempts(shown), lastAttempts(expected))
  )
}

function sameTexts(one: ReadonlyMap<string, string>, other: ReadonlyMap<string, string>): boolean {
  return one.size === other.size && [...one].every(([key, text]) => other.get(key) === text)
}
