import { afterAll, beforeAll, expect, test } from 'vitest'

import { until } from '../../support/until.js'
import type { Death } from '../worker/death.js'
import { startFleet } from '../worker/fleet.js'
import type { Fleet } from '../worker/fleet.js'
import type { KindName } from './desk.js'
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

const before = { when: 'before its commit', state: 'finished' } as const
const after = { when: 'after its commit', state: 'finished' } as const
const prepared = { of: 'thread', operation: 'call_1_1_0' } as const
const reported = { of: 'child', operation: 'report_1' } as const
const settled = { of: 'child', operation: 'settle_1' } as const

/** The named kind meets the kill at that very point, the others wherever they are then. */
const DEATHS: readonly (readonly [title: string, kind: KindName, at: At])[] = [
  ['T7 killed with the prepared rows not committed', 'stay_wait', { ...prepared, ...before }],
  ['T7 killed with rows and no workflow yet', 'once_go', { ...prepared, ...after }],
  ['T7 killed with the report not committed', 'stay_go', { ...reported, ...before }],
  ['T7 killed between report and announcement', 'once_wait', { ...reported, ...after }],
  ['T7 killed between report and announcement', 'stay_go', { ...reported, ...after }],
  ['T7 killed with a settled report not announced', 'quiet_wait', { ...settled, ...after }],
]

test.each(DEATHS)('%s of %s: each kind is learnt of once', { timeout: 120_000 }, async (title, name, at) => {
  const all = families(`death-${title.replaceAll(' ', '-')}-${name}`)
  const dying = all.find(({ kind }) => kind.name === name)
  if (dying === undefined) throw new Error(`Expected the kind ${name}.`)
  fleet.dieAt({ threadId: dying.id, ...at })
  const parents = await Promise.all(all.map((family) => createParent(place, family)))
  await fleet.replaceDead()
  await Promise.all(
    all.map(async (family, index) => {
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
