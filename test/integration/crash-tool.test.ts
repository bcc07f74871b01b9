import { afterAll, beforeAll, expect, test } from 'vitest'

import { openStore } from '../../src/store/open-store.js'
import { readDeltas } from '../../src/store/messages/deltas.js'
import { marked } from '../support/marker.js'
import { until } from '../support/until.js'
import type { Death } from './worker/death.js'
import { createFixture } from './worker/fixture.js'
import type { Fixture } from './worker/fixture.js'
import { startFleet } from './worker/fleet.js'
import type { Fleet } from './worker/fleet.js'
import { expectWholeLog, wholeTranscript } from './worker/whole-thread.js'

let fixture: Fixture
let fleet: Fleet

beforeAll(async () => {
  fixture = await createFixture()
  fleet = await startFleet(fixture)
})
afterAll(() => fixture.close())

type At = Pick<Death, 'state' | 'when'> | 'in its middle'

interface Crash {
  readonly title: string
  /** `book` may run once only, `charge` is idempotent. */
  readonly tool: 'book' | 'charge'
  readonly at: At
  readonly result: 'done' | 'unknown'
  /** The attempts that acted, as the file outside of Everthread has them. */
  readonly acted: readonly number[]
}

const begin = { state: 'started', when: 'before its commit' } as const
const begun = { state: 'started', when: 'after its commit' } as const
const acted = { state: 'finished', when: 'before its commit' } as const
const committed = { state: 'finished', when: 'after its commit' } as const

const CRASHES: readonly Crash[] = [
  { title: 'a call that no row knows runs once', tool: 'book', at: begin, result: 'done', acted: [1] },
  { title: 'a call recorded as started is unknown', tool: 'book', at: begun, result: 'unknown', acted: [] },
  {
    title: 'a call cut in its middle is unknown',
    tool: 'book',
    at: 'in its middle',
    result: 'unknown',
    acted: [1],
  },
  {
    title: 'a side effect without a commit is unknown',
    tool: 'book',
    at: acted,
    result: 'unknown',
    acted: [1],
  },
  {
    title: 'K-9 SA-R-13.3 SA-R-01.2 a committed tool result is kept',
    tool: 'book',
    at: committed,
    result: 'done',
    acted: [1],
  },
  {
    title: 'an idempotent call recorded as started runs',
    tool: 'charge',
    at: begun,
    result: 'done',
    acted: [2],
  },
  {
    title: 'an idempotent call cut in its middle reruns',
    tool: 'charge',
    at: 'in its middle',
    result: 'done',
    acted: [1, 2],
  },
  {
    title: 'an idempotent side effect without a commit reruns',
    tool: 'charge',
    at: acted,
    result: 'done',
    acted: [1, 2],
  },
  {
    title: 'a committed idempotent call does not rerun',
    tool: 'charge',
    at: committed,
    result: 'done',
    acted: [1],
  },
]

test.for(CRASHES)('$title', async (crash, { task }) => {
  const { tool, at } = crash
  const id = `tool-${task.id.replaceAll(/\W/g, '')}`
  const hold = at === 'in its middle'
  if (!hold) fleet.dieAt({ threadId: id, of: 'thread', operation: 'call_1_1_0', ...at })
  const thread = await fixture.create({
    id,
    message: marked(`please ${tool}${hold ? ' and hold' : ''} #${id}`),
  })
  if (hold) {
    await until('a running tool', async () => (await fixture.effects(id)).length === 1)
    await fleet.kill()
  }
  await fleet.replaceDead()
  await thread.waitUntilIdle({ timeout: '100 s' })
  await expectResult(id, crash)
  await expectWholeLog(thread)
})

test('what a killed call has shown of its output is gone, and nothing is shown twice', async () => {
  const id = 'tool-killed-output'
  const thread = await fixture.create({ id, message: marked(`please charge and hold #${id}`) })
  const outputs: { attempt: number; text: string }[] = []
  const ended = new AbortController()
  const watching = (async () => {
    for await (const event of thread.events({ signal: ended.signal }))
      if (event.type === 'tool.output') outputs.push(event.payload)
  })()
  await until('the output of the first attempt', () => outputs.length === 1)
  await fleet.kill()
  await fleet.replaceDead()
  await thread.waitUntilIdle({ timeout: '100 s' })
  ended.abort()
  await watching
  // The second attempt ends at once, so its output may be gone before it is read.
  const [first, ...later] = outputs
  expect(first?.text).toBe(marked('attempt 1 '))
  expect(later.map(({ text }) => text)).toEqual(later.length === 0 ? [] : [marked('attempt 2 ')])
  expect(later.every(({ attempt }) => attempt > (first?.attempt ?? Infinity))).toBe(true)
  const types: string[] = []
  for await (const { type } of thread.events({ follow: false })) types.push(type)
  expect(types.filter((type) => type === 'tool.result')).toHaveLength(1)
  const store = await openStore(fixture.store)
  try {
    expect(await store.read((db) => readDeltas(db, id))).toEqual([])
  } finally {
    await store.close()
  }
})

test('no text, argument or result is in these histories', async () => {
  const { bytes, leaks } = await fixture.search()
  expect(leaks).toEqual([])
  expect(bytes).toBeGreaterThan(10_000)
})

async function expectResult(id: string, { tool, result, acted }: Crash): Promise<void> {
  const done = { content: marked(`${tool} done`), tool_status: 'success' }
  const unknown = { content: expect.stringContaining('unknown'), tool_status: 'error' }
  const rows = await wholeTranscript(fixture.threads.get(id))
  const role = 'tool'
  expect(rows).toMatchObject([
    { role: 'user' },
    { role: 'assistant', status: 'completed' },
    { role, name: tool, ...(result === 'done' ? done : unknown) },
    { role: 'assistant', content: marked(`All is done for #${id} now.`) },
  ])
  const effects = await fixture.effects(id)
  expect(effects.map(({ attempt }) => attempt)).toEqual(acted)
  expect(new Set(effects.map(({ key }) => key)).size).toBe(acted.length === 0 ? 0 : 1)
  // The next step is asked once, and sees the one result.
  const requests = fixture.model.requests(id)
  expect(requests).toHaveLength(2)
  expect(requests[1]?.filter((message) => message.role === role)).toMatchObject([
    { content: rows[2]?.content },
  ])
}
