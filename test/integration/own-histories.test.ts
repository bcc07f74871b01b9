import { randomUUID } from 'node:crypto'
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'

import { historyToJSON } from '@temporalio/common/lib/proto-utils.js'
import { afterAll, beforeAll, expect, test } from 'vitest'

import { assertReplays, recordHistories } from '../../src/testing/index.js'
import { openShop, replayOptions } from './plugin/shop.js'
import type { Shop } from './plugin/shop.js'

const { plugins: _plugins, ...worker } = replayOptions
let shop: Shop
let folder: string

beforeAll(async () => {
  shop = await openShop()
  folder = await mkdtemp(join(tmpdir(), 'everthread-histories-'))
})
afterAll(async () => {
  await shop.close()
  await rm(folder, { recursive: true, force: true })
})

interface Kept {
  workflowId: string
  runId: string
  history: {
    events: {
      eventId: string
      activityTaskScheduledEventAttributes?: { activityType: { name: string } }
      activityTaskCompletedEventAttributes?: { result: unknown }
    }[]
  }
}

/** The content of a recorded file, to be changed. */
async function kept(file: string): Promise<Kept[]> {
  return JSON.parse(await readFile(file, 'utf8')) as Kept[]
}

test('T11 histories that users keep replay beside their own workflows', async () => {
  shop.voice.says({ text: 'Good day.' }, { text: 'Good bye.' })
  const limits = { historyEvents: 0 }
  const thread = await shop.threads.create({
    agent: 'complaints',
    id: randomUUID(),
    message: 'Hello',
    limits,
  })
  await thread.waitUntilIdle()
  await thread.send('Bye')
  await thread.waitUntilIdle()
  const runs = await recordHistories(thread, join(folder, 'threads', 'greeting.json'))
  expect(runs).toBeGreaterThan(2)
  expect(await recordHistories(thread, join(folder, 'threads', 'small.json.gz'), { children: true })).toBe(
    runs,
  )
  const own = await shop.client.workflow.start('refundOrder', {
    ...{ taskQueue: shop.taskQueue, workflowId: randomUUID(), args: ['B-1', 12] },
  })
  await own.result()
  // As the Temporal UI downloads it.
  await writeFile(join(folder, 'refund.json'), historyToJSON(await own.fetchHistory()))
  expect(await assertReplays(folder, { worker })).toBe(2 * runs + 1)
  expect(await assertReplays(join(folder, 'threads'))).toBe(2 * runs)
  await expect(assertReplays(folder)).rejects.toThrow(/1 that do not:\n- .*refund\.json, run 1 of 1/)
})

test('T11 a history that does not replay is named with file, run and event', async () => {
  const file = join(folder, 'threads', 'greeting.json')
  const histories = await kept(file)
  const [, second] = histories
  const scheduled = second?.history.events.find((event) => event.activityTaskScheduledEventAttributes)
  if (second === undefined || scheduled?.activityTaskScheduledEventAttributes === undefined)
    throw new Error('Expected a second run with an activity.')
  scheduled.activityTaskScheduledEventAttributes.activityType.name = 'thread.settle'
  const mutated = join(folder, 'mutated.json')
  await writeFile(mutated, JSON.stringify(histories))
  const error = await assertReplays(mutated).catch((problem: unknown) => problem as Error)
  expect(error).toBeInstanceOf(Error)
  const { message } = error as Error
  expect(message).toContain(`Expected ${histories.length} histories to replay, got 1 that do not:`)
  expect(message).toContain(`${mutated}, workflow `)
  expect(message).toContain(`run 2 of ${histories.length}, Temporal's run id ${second.runId}, event `)
  expect(message).toContain('thread.settle')
  expect(message).toContain('What to do: ')
})

type Shape = (events: Kept['history']['events']) => unknown

test.each<[string, Shape, string]>([
  ['that lacks its first event', (events) => events.slice(1), 'Expected event 1 at this place, got event 2'],
  ['in reversed order', (events) => events.toReversed(), 'Expected event 1 at this place, got event '],
  ['with a hole', (events) => events.toSpliced(3, 1), 'Expected event 4 at this place, got event 5'],
  ['of numbers', () => [1, 2], 'Expected an event with "eventId" and "eventType", got 1'],
  ['without a list', () => null, 'Expected "events" to be the list of all events of a run, got null'],
])('W2 W4 a history %s is refused by file and run', async (name, shape, words) => {
  const [first] = await kept(join(folder, 'threads', 'greeting.json'))
  if (first === undefined) throw new Error('Expected a run.')
  const run = { workflowId: 'cut', runId: 'run-7', file: `${name}.json`, number: 1, of: 2 }
  const problem = await assertReplays([{ ...run, history: { events: shape(first.history.events) } }]).catch(
    (error: unknown) => String(error),
  )
  expect(problem).toContain('Expected 1 histories to replay, got 1 that do not:')
  expect(problem).toContain(`- ${name}.json, workflow cut, run 1 of 2, Temporal's run id run-7, `)
  expect(problem).toContain(words)
})

test('W2 a replay that does not end is given up in time', async () => {
  const [first] = await kept(join(folder, 'threads', 'greeting.json'))
  if (first === undefined) throw new Error('Expected a run.')
  const problem = await assertReplays([{ ...first, workflowId: 'slow' }], { timeout: 0 }).catch(String)
  expect(problem).toMatch(/workflow slow, .*\n.*Expected this history to be replayed within 0 seconds/)
})

test('W4 a changed result of an activity is named with an event', async () => {
  const runs = await kept(join(folder, 'threads', 'greeting.json'))
  const found = runs.flatMap((run) =>
    run.history.events.flatMap((event) => {
      const done = event.activityTaskCompletedEventAttributes
      return done === undefined ? [] : [{ run, event, done }]
    }),
  )[0]
  if (found === undefined) throw new Error('Expected an activity.')
  const payload = { metadata: { encoding: 'anNvbi9wbGFpbg==' }, data: Buffer.from('17').toString('base64') }
  found.done.result = { payloads: [payload] }
  const problem = await assertReplays([found.run]).catch(String)
  // The thread takes it for a failure (W1) and goes on otherwise: the first event that differs is named.
  const number = Number(/, event (\d+) \(\w+/.exec(problem as string)?.[1])
  expect(number).toBeGreaterThan(Number(found.event.eventId))
})

test('a run whose first task is not done yet replays, for there is nothing to compare', async () => {
  const [first] = await kept(join(folder, 'threads', 'greeting.json'))
  if (first === undefined) throw new Error('Expected a run.')
  const history = { events: first.history.events.slice(0, 2) }
  expect(await assertReplays([{ workflowId: 'begun', history }])).toBe(1)
})

test.each([
  ['no JSON', '{', 'Expected JSON in'],
  ['no history', '{"a": 1}', 'got something else'],
  ['an empty list', '[]', 'got an empty list'],
  ['a history without a start', '{"events": []}', 'that do not'],
])('a file with %s is named', async (name, content, words) => {
  const file = join(folder, `${name.replaceAll(' ', '-')}.json`)
  await writeFile(file, content)
  await expect(assertReplays(file)).rejects.toThrow(words)
  await expect(assertReplays(file)).rejects.toThrow(file)
  await rm(file)
})

test('a folder without histories, and a file of another kind, are refused', async () => {
  const empty = await mkdtemp(join(tmpdir(), 'everthread-empty-'))
  await expect(assertReplays(empty)).rejects.toThrow(`in "${empty}", got none`)
  await rm(empty, { recursive: true })
  const thread = shop.threads.get('own-histories-nobody')
  await expect(recordHistories(thread, join(folder, 'x.json'))).rejects.toThrow(
    'got none: they are gone after',
  )
})
