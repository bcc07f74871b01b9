import { expect, test } from 'vitest'

import type { ThreadEvent, ThreadHandle } from '../../src/client/index.js'
import { fold } from '../../src/fold/index.js'
import type { FoldedThread } from '../../src/fold/index.js'
import { marked } from '../support/marker.js'
import { comparable } from '../support/folded.js'
import { seededRandom } from '../support/seeded-random.js'
import type { SeededRandom } from '../support/seeded-random.js'
import { threeRuns } from '../support/three-runs.js'

const READERS = 500
const guarded = { name: 'guarded', args: { task: marked('much') } }

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
