import { setTimeout as delay } from 'node:timers/promises'
import { anyFact } from '../../support/any-fact.js'
import { chargeAndBegin } from '../../../src/activities/budget/charge-request.js'
import { findCharge } from '../../../src/store/budgets/charges.js'
import { appendEvents } from '../../../src/store/events.js'
import { appendMessage } from '../../../src/store/messages/delivery.js'
import { openRateWindows } from '../../../src/store/limits/rate-windows.js'
import { openStore, prepareStore } from '../../../src/store/open-store.js'
import { finishOperation, insertOperation } from '../../../src/store/operations.js'
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
if (job === 'charge') await chargeForever(options[0] ?? '')
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

/**
 * Requests of a thread, one after the other, until it is killed: each is charged, begun, and finished with what it has used. It goes
 * on behind the newest request of the process before it.
 */
async function chargeForever(threadId: string): Promise<never> {
  const newest = await store.read((db) => findCharge(db, threadId))
  for (let n = Number(newest?.operation ?? 0) + 1; ; n += 1) {
    const id = String(n)
    const request = { usage: null, error: null }
    const begun = { kind: 'model', state: 'started', attempt: 1, started_at: n } as const
    await chargeAndBegin(store, {
      call: requestOf(threadId, n),
      sources: { worker: { tree: { maxInputTokens: 1e9 } }, agent: undefined, stored: 'unread' },
      begin: (own) =>
        own.write((tx) =>
          insertOperation(tx, { ...{ thread_id: threadId, id }, ...begun, detail: { requests: [request] } }),
        ),
    })
    const usage = { inputTokens: 7, outputTokens: 3, cachedInputTokens: 0, cost: 0 }
    await store.write((tx) =>
      finishOperation(tx, {
        ...{ threadId, id, attempt: 1, answer: {}, now: n },
        detail: { requests: [{ ...request, usage }] },
      }),
    )
    process.stdout.write('charged\n')
  }
}

function requestOf(threadId: string, n: number): Parameters<typeof chargeAndBegin>[1]['call'] {
  const prices = { input: null, output: null }
  return {
    ...{ threadId, run: 1, operation: String(n), number: 1, scheduledAt: n, now: n, scope: {} },
    need: { kind: 'model', isStep: true, model: 'any', inputTokens: 10, maxOutputTokens: 20, prices },
  }
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
