import { setTimeout as delay } from 'node:timers/promises'
import { anyFact } from '../../support/any-fact.js'
import { appendEvents } from '../../../src/store/events.js'
import { appendMessage } from '../../../src/store/messages/delivery.js'
import { openRateWindows } from '../../../src/store/limits/rate-windows.js'
import { openStore, prepareStore } from '../../../src/store/open-store.js'
import type { StoreOptions } from '../../../src/store/store-location.js'
import type { Writer } from '../../../src/store/store.js'

const [job = '', given = '', ...options] = process.argv.slice(2)
const place = JSON.parse(given) as StoreOptions

if (job === 'setup') await prepareStore(place)
const store = await openStore(place)
if (job === 'append') await appendMany(options[0] ?? '', Number(options[1]))
if (job === 'hold') await hold(Number(options[0]))
if (job === 'hang') await hang()
if (job === 'upload') await upload()
if (job === 'take') await takeMany(options[0] ?? '', Number(options[1]), Number(options[2]))
await store.close()

/** `count` transactions of a message and two events each. */
async function appendMany(name: string, count: number): Promise<void> {
  for (let n = 0; n < count; n++) await store.write((tx) => appendOne(tx, `${name}-${n}`))
}

/** Holds the write lock that long. */
async function hold(milliseconds: number): Promise<void> {
  await store.write(async () => {
    process.stdout.write('holding\n')
    await delay(milliseconds)
  })
}

/** Takes `uses` of a limit, eight at once, and stores how many it got. */
async function takeMany(name: string, uses: number, limit: number): Promise<void> {
  const window = { account: 'acme', kind: 'requestsPerMinute' } as const
  const windows = openRateWindows(store)
  let got = 0
  for (let begun = 0; begun < uses; begun += 8) {
    const taken = Array.from({ length: Math.min(8, uses - begun) }, () => windows.take(window, limit))
    got += (await Promise.all(taken)).filter(({ kind }) => kind === 'allowed').length
  }
  const value = JSON.stringify(got)
  await store.write((tx) =>
    tx.insertInto('thread_values').values({ thread_id: 't', key: name, value }).execute(),
  )
}

/** Writes, and never commits. */
async function hang(): Promise<void> {
  await store.write(async (tx) => {
    await appendOne(tx, 'half')
    process.stdout.write('in the middle\n')
    await delay(600_000)
  })
}

/** Writes 40 MB of a file that never ends. */
async function upload(): Promise<void> {
  async function* endless(): AsyncIterable<Uint8Array> {
    for (let n = 0; n < 40; n++) yield new Uint8Array(1_048_576).fill(n)
    process.stdout.write('in the middle\n')
    await delay(600_000)
  }
  await store.blobs.write(endless())
}

async function appendOne(tx: Writer, id: string): Promise<void> {
  await appendMessage(tx, {
    id,
    threadId: 't',
    role: 'user',
    content: id,
    createdAt: 1,
    sentBy: 'client',
  })
  await appendEvents(tx, { threadId: 't', events: [anyFact('one', {}), anyFact('two', {})], now: 1 })
}
