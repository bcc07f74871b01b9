import { expect, test } from 'vitest'

import type { ThreadEvent, ThreadHandle } from '../../src/client/index.js'
import { fold } from '../../src/fold/index.js'
import type { FoldedThread } from '../../src/fold/index.js'
import { marked } from '../support/marker.js'
import { comparable } from '../support/folded.js'
import { seededRandom } from '../support/seeded-random.js'
import type { SeededRandom } from '../support/seeded-random.js'
import { madeOf, readOf } from '../support/rebuilt-reads.js'
import { factsOf } from '../support/thread-facts.js'
import { threeRuns } from '../support/three-runs.js'

const READERS = 500
const guarded = { name: 'guarded', args: { task: marked('much') } }
const work = { name: 'work', args: { task: marked('it') } }
const helped = { name: 'colleague', args: { task: marked('Help') } }

threeRuns((desk) => {
  test('AR-ES.4 500 readers with cuts, duplicates, swaps and gaps end equal to the store', async () => {
    const { thread } = await desk.start({
      ...{ agent: 'manager', chat: [{ toolCalls: [guarded] }, { text: marked('Done') }] },
      tools: { guarded: () => ({ status: 'success' as const, result: marked('Done') }) },
    })
    expect((await thread.waitUntilIdle()).status).toBe('waiting_permission')
    const snapshot = await thread.snapshot()
    const expected = comparable(fold(snapshot, []))
    expect(expected).toMatchObject({ status: 'waiting_permission', pending: [{ toolName: 'guarded' }] })
    for (let seed = 1; seed <= READERS; seed += 1) {
      const state = await readBadly(thread, snapshot.lastSequence, seededRandom(seed))
      expect(comparable(state)).toEqual(expected)
    }
    await thread.respond(snapshot.pending[0]?.id ?? '', { approved: true })
    expect((await thread.waitUntilIdle()).reply?.content).toBe(marked('Done'))
  })

  test('AR-S4.1 every read model of a thread can be made again from its events alone, while it waits and when it rests', async () => {
    const { thread } = await desk.start({
      agent: 'manager',
      chat: [{ toolCalls: [work, helped, guarded] }, { text: marked('Done') }],
      review: [{ text: marked('Helped') }],
      tools: {
        work: async (state) => {
          await state.writeFile('/made.txt', 'text/plain', marked('made'))
          return { status: 'success', result: marked('Made') }
        },
      },
    })
    expect((await thread.waitUntilIdle()).status).toBe('waiting_permission')
    const waiting = madeOf(await factsOf(thread))
    expect(waiting).toEqual(await readOf(thread))
    expect(waiting).toMatchObject({ requests: [expect.any(String)], files: ['/made.txt'] })
    // What comes while it waits is stored with what it does next: here that is its end.
    const { messageId } = await thread.send(marked('Waits'))
    await thread.stop()
    await thread.waitUntilIdle()
    const parked = madeOf(await factsOf(thread))
    expect(parked).toEqual(await readOf(thread))
    expect(parked).toMatchObject({ queue: [messageId], requests: [], lastRun: 'stopped' })
    await thread.continue()
    await thread.waitUntilIdle()
    const made = madeOf(await factsOf(thread))
    expect(made).toEqual(await readOf(thread))
    expect(made).toMatchObject({
      ...{ queue: [], lastRun: 'stop_on_response', usage: { runs: 2, steps: 2 } },
    })
    expect(made.calls).toHaveLength(3)
    expect(made.transcript).toHaveLength(9)
  })
})

/** Reads with a connection that is cut, loses, repeats and swaps, and comes back at the gap that it is told of. */
async function readBadly(thread: ThreadHandle, until: number, random: SeededRandom): Promise<FoldedThread> {
  let state = fold([])
  while (state.lastSequence < until || state.gapAfter !== null) {
    const page = await somePage(thread, state.gapAfter ?? state.lastSequence, 5 + random.below(20))
    const kept = page.filter(() => random.chance(0.9))
    const repeated = [...kept, ...kept.filter(() => random.chance(0.3))]
    state = fold(
      state,
      repeated.toSorted(() => random.below(3) - 1),
    )
  }
  return state
}

/** The connection is cut after so many events. */
async function somePage(thread: ThreadHandle, after: number, most: number): Promise<readonly ThreadEvent[]> {
  const page: ThreadEvent[] = []
  for await (const event of thread.events({ after, follow: false })) {
    page.push(event)
    if (page.length === most) break
  }
  return page
}
