import { afterEach, beforeEach, expect, test } from 'vitest'
import { insertThread } from '../../src/store/threads/threads.js'
import { seededRandom } from '../support/seeded-random.js'
import { createClientFixture } from './client-fixture.js'
import type { ClientFixture } from './client-fixture.js'
import { randomStream } from './live/random-stream.js'
import { runSubscriber } from './live/run-subscriber.js'
import type { Subscriber } from './live/run-subscriber.js'
import { nothingShown, show } from './live/shown.js'

let fixture: ClientFixture
const started: Subscriber[] = []

function subscribe(after: string): Subscriber {
  const subscriber = runSubscriber(fixture.place, 't', after)
  started.push(subscriber)
  return subscriber
}

beforeEach(async () => {
  fixture = await createClientFixture()
  await fixture.store.write((tx) => insertThread(tx, { id: 't', agent: 'support', created_at: 1 }))
})
afterEach(async () => {
  for (const subscriber of started.splice(0)) await subscriber.kill()
  await fixture.close()
})

test('a subscriber process that is killed at each event misses nothing', async () => {
  const stream = randomStream(fixture.store, 't', seededRandom(3))
  const shown = nothingShown()
  for (let n = 0; n < 14; n += 1) {
    const subscriber = subscribe(shown.cursor)
    const next = subscriber.next()
    await stream.step()
    show(shown, await next)
    await subscriber.kill()
  }
  const last = subscribe(shown.cursor)
  while (shown.facts.length < stream.expected.facts.length) show(shown, await last.next())
  while (sizeOf(shown.texts) < sizeOf(stream.expected.texts)) show(shown, await last.next())
  expect(shown.texts).toEqual(stream.expected.texts)
  expect(shown.facts).toEqual(stream.expected.facts)
})

test('a subscriber process gets each event as it is written', async () => {
  const stream = randomStream(fixture.store, 't', seededRandom(11))
  const shown = nothingShown()
  const subscriber = subscribe('0')
  for (let n = 0; n < 60; n += 1) {
    await stream.step()
    while (shown.facts.length < stream.expected.facts.length) show(shown, await subscriber.next())
    while (sizeOf(shown.texts) < sizeOf(stream.expected.texts)) show(shown, await subscriber.next())
  }
  expect(shown.texts).toEqual(stream.expected.texts)
  expect(shown.facts).toEqual(stream.expected.facts)
})

function sizeOf(texts: ReadonlyMap<string, string>): number {
  return [...texts.values()].reduce((sum, { length }) => sum + length, 0)
}
