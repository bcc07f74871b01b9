/** Recorded streams of the desk of AG-UI, for clients that are cut off. */
import { expect } from 'vitest'
import type { NewMessage, ThreadEvent, ThreadHandle } from '../../src/client/index.js'
import type { doorFixture } from './ag-ui-fixture.js'
import { holdNap } from './ag-ui-desk.js'
import { recordStream } from './recorded-streams.js'

type Door = Pick<ReturnType<typeof doorFixture>, 'start'>

/** A thread with all that a subscriber got of it. */
export interface Recorded {
  readonly threadId: string
  readonly events: readonly ThreadEvent[]
}

/** Runs a thread and records it: each text is said once it rests. */
async function record(door: Door, id: string, ...texts: readonly (NewMessage | string)[]): Promise<Recorded> {
  const { thread } = await door.start(id)
  const recording = recordStream(thread)
  for (const text of texts) {
    await thread.send(text)
    await thread.waitUntilIdle()
    await answerAll(thread)
  }
  return { threadId: id, events: await recording.stop() }
}

async function answerAll(thread: ThreadHandle): Promise<void> {
  for (const request of (await thread.snapshot()).pending) {
    const isSmall = request.kind === 'approval'
    await thread.respond(
      request.id,
      isSmall
        ? { approved: true, arguments: { order: 'A-17', euros: 7 } }
        : { result: { status: 'success', result: { stars: 3 } } },
    )
    await thread.waitUntilIdle()
  }
}

async function recordDisturbed(
  door: Door,
  id: string,
  disturb: (thread: ThreadHandle) => Promise<unknown>,
): Promise<Recorded> {
  const { thread } = await door.start(id)
  const recording = recordStream(thread)
  await thread.send('please nap, and tell a tale')
  await thread.waitUntilIdle()
  await thread.send('an endless tale')
  await expect.poll(() => recording.events.at(-1)?.type, { timeout: 60_000, interval: 2 }).toBe('model.delta')
  await disturb(thread)
  await thread.waitUntilIdle()
  return { threadId: id, events: await recording.stop() }
}

/** Threads of every kind that run at once: with tools, failures, requests, a subagent, long texts, a stop, and messages in between. */
export async function recordAll(door: Door, prefix: string): Promise<readonly Recorded[]> {
  const steered = (async () => {
    const { thread } = await door.start(`${prefix}-steered`)
    const recording = recordStream(thread)
    const nap = holdNap(thread.threadId)
    await thread.send('please nap')
    await expect
      .poll(() => recording.events.map(({ type }) => type), { timeout: 60_000, interval: 5 })
      .toContain('tool.started')
    await thread.send('hello, too')
    nap.open()
    await thread.waitUntilIdle()
    return { threadId: `${prefix}-steered`, events: await recording.stop() }
  })()
  const recorded = await Promise.all([
    record(
      door,
      `${prefix}-tools`,
      'hello',
      'please look please store please fail please summary, and say so',
      'hello again',
    ),
    record(door, `${prefix}-flaky`, 'hello', `flaky cut_${prefix}`, 'hello again'),
    record(door, `${prefix}-approval`, 'please refund, and say so', 'please survey'),
    record(door, `${prefix}-subagent`, 'please researcher'),
    record(door, `${prefix}-waver`, 'hello', `waver cut_${prefix}`, 'hello again'),
    record(door, `${prefix}-broken`, 'hello', 'broken'),
    record(door, `${prefix}-long`, 'please long', 'huge'),
    recordDisturbed(door, `${prefix}-stopped`, (thread) => thread.stop()),
    recordDisturbed(door, `${prefix}-preempted`, (thread) =>
      thread.send({ content: 'hello now', deliver: 'preempt' }),
    ),
    steered,
  ])
  // Also of what is seen only while it happens.
  const types = new Set(recorded.flatMap(({ events }) => events.map(({ type }) => type)))
  for (const type of ['tool.args', 'tool.output', 'tool.progress'] as const) expect(types).toContain(type)
  return recorded
}
