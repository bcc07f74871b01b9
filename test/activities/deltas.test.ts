import { expect, test } from 'vitest'

import { isFleeting } from '../../src/store/changes.js'
import { readDeltas } from '../../src/store/deltas.js'
import type { Store } from '../../src/store/store.js'
import { scriptedModel } from '../../src/testing/index.js'
import { createGate } from '../support/gate.js'
import { until } from '../support/until.js'
import { attempt, drainOf, modelInput, runModel, withDesk } from './activity-desk.js'

const WORDS = `first${' and more'.repeat(500)}`

/** A store whose writes go through `pass`, counted. */
function passing(store: Store, pass: (write: number) => Promise<void>): Store & { readonly writes: number } {
  let writes = 0
  return {
    ...store,
    async write(work) {
      writes += 1
      await pass(writes)
      return store.write(work)
    },
    get writes() {
      return writes
    },
  }
}

test('T4 a worker that was given up streams to nobody', () => {
  const chat = scriptedModel([{ text: WORDS, wordDelay: 15 }, { text: 'second' }])
  return withDesk({ chat }, async (desk) => {
    const input = modelInput({ drain: drainOf(await desk.send('one')) })
    const lost = attempt()
    const store = passing(desk.store, () => Promise.resolve())
    const late = runModel({ ...desk.dependencies, store }, input, lost)
    const deltas = () => desk.store.read((db) => readDeltas(db, 't'))
    await until('a word', async () => (await deltas()).length > 0)
    expect(await runModel(desk.dependencies, input)).toMatchObject({ type: 'answered' })
    const before = store.writes
    await until('it to stream on', () => store.writes > before + 3)
    expect(await deltas()).toEqual([])
    lost.cancel()
    expect(await late).toMatchObject({ type: 'answered' })
    expect(await deltas()).toEqual([])
  })
})

test('what streams while the store is slow is written as one', () => {
  const chat = scriptedModel([{ text: WORDS, wordDelay: 1 }])
  return withDesk({ chat }, async (desk) => {
    const gate = createGate()
    const input = modelInput({ drain: drainOf(await desk.send('one')) })
    // Drain, start, and the first delta, which is held until the stream is over.
    const store = passing(desk.store, (write) => (write === 3 ? gate.passed : Promise.resolve()))
    const running = runModel({ ...desk.dependencies, store }, input)
    await until('the first delta', () => store.writes === 3)
    const since = performance.now()
    await until('the stream to go on for a while', () => performance.now() - since > 100)
    expect(store.writes).toBe(3)
    gate.open()
    expect(await running).toMatchObject({ type: 'answered' })
    expect((await desk.transcript()).at(-1)?.content).toBe(WORDS)
    expect(await desk.store.read((db) => readDeltas(db, 't'))).toEqual([])
  })
})

test('of a step only its live text may be lost with the machine', () => {
  const chat = scriptedModel([{ text: WORDS, wordDelay: 1 }])
  return withDesk({ chat }, async (desk) => {
    const input = modelInput({ drain: drainOf(await desk.send('one')) })
    const kinds: string[] = []
    const store: Store = {
      ...desk.store,
      async write(work) {
        let kind = ''
        const result = await desk.store.write(async (tx) => {
          const done = await work(tx)
          kind = isFleeting(tx) ? 'live text' : 'kept'
          return done
        })
        kinds.push(kind)
        return result
      },
    }
    expect(await runModel({ ...desk.dependencies, store }, input)).toMatchObject({ type: 'answered' })
    expect(kinds.filter((kind) => kind === 'kept')).toHaveLength(3)
    expect(kinds.slice(0, 2)).toEqual(['kept', 'kept'])
    expect(kinds.at(-1)).toBe('kept')
    expect(kinds).toContain('live text')
  })
})
