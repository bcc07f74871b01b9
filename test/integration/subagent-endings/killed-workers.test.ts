import { afterAll, beforeAll, expect, test } from 'vitest'

import { until } from '../../support/until.js'
import type { Death } from '../worker/death.js'
import { startFleet } from '../worker/fleet.js'
import type { Fleet } from '../worker/fleet.js'
import { expectTold } from './expect-told.js'
import { wordsOf } from './model.js'
import { KINDS, PATIENCE, PAUSE, createParent, createPlace, firstChild, startScene } from './scene.js'
import type { Kind, Place, Scene } from './scene.js'

let place: Place
let fleet: Fleet

beforeAll(async () => {
  place = await createPlace()
  fleet = await startFleet(place.fixture)
})
afterAll(() => place.fixture.close())

type At = Omit<Death, 'threadId'>

const DEATHS: readonly (readonly [title: string, at: At])[] = [
  [
    'T7 killed with the prepared rows not committed',
    { of: 'thread', operation: 'call_1_1_0', state: 'finished', when: 'before its commit' },
  ],
  [
    'T7 killed with rows and no workflow yet',
    { of: 'thread', operation: 'call_1_1_0', state: 'finished', when: 'after its commit' },
  ],
  [
    'T7 killed with the report not committed',
    { of: 'child', operation: 'report_1', state: 'finished', when: 'before its commit' },
  ],
  [
    'T7 killed between report and announcement',
    { of: 'child', operation: 'report_1', state: 'finished', when: 'after its commit' },
  ],
  [
    'T7 killed with the report settled and not announced',
    { of: 'child', operation: 'settle_1', state: 'finished', when: 'after its commit' },
  ],
]

/** The first family meets the kill at that very point, those of the other kinds wherever they are then. */
test.each(DEATHS)('%s: each kind is learnt of once', { timeout: 120_000 }, async (_title, at) => {
  const name = DEATHS.findIndex(([, point]) => point === at)
  const [first] = families(`death-${name}`)
  if (first === undefined) throw new Error('Expected a kind.')
  fleet.dieAt({ threadId: first.id, ...at })
  const parents = await Promise.all(families(`death-${name}`).map((family) => createParent(place, family)))
  await fleet.replaceDead()
  await Promise.all(
    families(`death-${name}`).map(async (family, index) => {
      const parent = parents[index]
      if (parent === undefined) throw new Error('Expected a parent for each.')
      const child = await until('a child', () => firstChild(place, parent), PATIENCE, PAUSE)
      // Nothing holds it any more.
      const worker = { arrived: Promise.resolve(), release: () => undefined }
      await expectDelivered({ place, ...family, parent, child, worker })
    }),
  )
})

test('K-8 a worker is killed while each model answers', { timeout: 120_000 }, async () => {
  const scenes = await Promise.all(families('model').map((family) => startScene(place, family)))
  await fleet.kill()
  for (const { worker } of scenes) worker.release()
  await fleet.replaceDead()
  await Promise.all(scenes.map(expectDelivered))
})

function families(name: string): readonly { readonly id: string; readonly kind: Kind }[] {
  return KINDS.map((kind) => ({ id: `${name}-${kind.name}`, kind }))
}

/** As without any kill. */
async function expectDelivered(scene: Scene): Promise<void> {
  const { kind, id } = scene
  const closed = !kind.stays
  if (!kind.explicit) {
    const words = wordsOf(id, 'deliver one')
    return expectTold(scene, { words, status: 'completed', closed, file: true })
  }
  const words = kind.blocking ? 'has nothing to report by itself' : null
  return expectTold(scene, { words, status: 'completed', closed })
}

test('no text, argument or result is in these histories', async () => {
  const { bytes, leaks } = await place.fixture.search()
  expect(leaks).toEqual([])
  expect(bytes).toBeGreaterThan(10_000)
})
