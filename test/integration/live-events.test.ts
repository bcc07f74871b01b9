import { afterAll, beforeAll, expect, test } from 'vitest'

import type { ThreadEvent } from '../../src/client/index.js'
import { nothingShown, show } from '../client/live/shown.js'
import { runSubscriber } from '../client/live/run-subscriber.js'
import { marked } from '../support/marker.js'
import { until } from '../support/until.js'
import { createFixture } from './worker/fixture.js'
import type { Fixture } from './worker/fixture.js'
import { startFleet } from './worker/fleet.js'
import type { Fleet } from './worker/fleet.js'

let fixture: Fixture
let fleet: Fleet

beforeAll(async () => {
  fixture = await createFixture()
  fleet = await startFleet(fixture)
})
afterAll(() => fixture.close())

test('K-9 what a killed worker streamed is dropped, and nothing is told twice', async () => {
  const id = 'live-killed-writer'
  const held = fixture.model.hold(id, 'middle', 2)
  const thread = await fixture.create({ id, message: marked(`please book #${id}`) })
  const subscriber = runSubscriber(fixture.store, id)
  const uncut: ThreadEvent[] = []
  const shown = nothingShown()
  const take = async (): Promise<void> => {
    const event = await subscriber.next()
    show(shown, event)
    uncut.push(event)
  }
  while (uncut.at(-1)?.type !== 'model.delta') await take()
  await held.arrived
  // Facts and text of the first attempt are out; its worker dies with the rest.
  await fleet.kill()
  await fleet.replaceDead()
  while (uncut.at(-1)?.type !== 'run.completed') await take()
  await subscriber.kill()
  const text = marked(`All is done for #${id} now.`)
  const deltas = uncut.filter((event) => event.type === 'model.delta')
  expect(deltas[0]).toMatchObject({ payload: { attempt: 1 } })
  expect(uncut.filter(({ type }) => type === 'message.created').at(-1)).toMatchObject({
    payload: { message: { content: text } },
  })
  // Nothing that streamed is left for those who come later.
  const late: ThreadEvent[] = []
  const ended = new AbortController()
  const following = collectInto(late, thread.events({ signal: ended.signal }))
  await until('all facts', () => late.length === uncut.filter(({ sequence }) => sequence).length)
  ended.abort()
  await following
  expect(late.map(({ sequence, type }) => [sequence, type])).toEqual(
    uncut.flatMap(({ sequence, type }) => (sequence === undefined ? [] : [[sequence, type]])),
  )
})

async function collectInto(events: ThreadEvent[], source: AsyncIterable<ThreadEvent>): Promise<void> {
  for await (const event of source) events.push(event)
}
