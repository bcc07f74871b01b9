import { expect, test } from 'vitest'
import { isFleeting } from '../../src/store/changes.js'
import { readDeltas } from '../../src/store/messages/deltas.js'
import { StoreError } from '../../src/store/store-error.js'
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

/** How far the text of a message comes from its beginning without a gap, and how far it comes at all. */
async function reach(store: Store): Promise<{ readonly whole: number; readonly end: number }> {
  const deltas = await store.read((db) => readDeltas(db, 't'))
  let whole = 0
  for (const { offset, text } of deltas) if (offset <= whole) whole = Math.max(whole, offset + text.length)
  return { whole, end: Math.max(0, ...deltas.map(({ offset, text }) => offset + text.length)) }
}

test('a batch that the store refused comes before what follows', () => {
  const chat = scriptedModel([{ text: WORDS, wordDelay: 5 }])
  return withDesk({ chat }, async (desk) => {
    const input = modelInput({ drain: drainOf(await desk.send('one')) })
    const refused = new StoreError('unavailable', 'The database is away')
    const isLive = (write: number): boolean => write > 2
    // The second batch, twice, and one that is done and said not to be.
    const store: Store & { readonly writes: number } = passing(desk.store, (write) =>
      write === 4 || write === 5 ? Promise.reject(refused) : Promise.resolve(),
    )
    const doubting: Store = {
      ...store,
      async write(work) {
        const result = await store.write(work)
        if (store.writes === 7) throw refused
        return result
      },
    }
    const running = runModel({ ...desk.dependencies, store: doubting }, input)
    await until('more batches', () => isLive(store.writes - 8))
    const { whole, end } = await reach(desk.store)
    expect(end).toBeGreaterThan(20)
    expect(whole).toBe(end)
    expect(await running).toMatchObject({ type: 'answered' })
    expect((await desk.transcript()).at(-1)?.content).toBe(WORDS)
    expect(await desk.store.read((db) => readDeltas(db, 't'))).toEqual([])
  })
})

test('what a database forgot of a text is written again', () => {
  const chat = scriptedModel([{ text: WORDS, wordDelay: 4 }])
  return withDesk({ chat }, async (desk) => {
    const input = modelInput({ drain: drainOf(await desk.send('one')) })
    const running = runModel(desk.dependencies, input)
    await until('some text', async () => (await reach(desk.store)).end > 60)
    const rows = await desk.store.read((db) => readDeltas(db, 't'))
    await desk.store.write((tx) =>
      tx
        .deleteFrom('deltas')
        .where('id', '>', rows.at(-3)?.id ?? 0)
        .execute(),
    )
    await until('more text', async () => (await reach(desk.store)).whole > 200)
    const { whole, end } = await reach(desk.store)
    expect(whole).toBe(end)
    expect(await running).toMatchObject({ type: 'answered' })
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
