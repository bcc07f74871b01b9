import { randomUUID } from 'node:crypto'
import type { ThreadHandle } from 'everthread/client'
import { copyAttachments } from '../../src/activities/attachments.js'
import { openStore } from '../../src/store/open-store.js'
import type { Store } from '../../src/store/store.js'
import type { BenchServers } from '../bench-servers.js'
import { withThreads } from '../with-threads.js'
import type { BenchThreads } from '../with-threads.js'
import { activityTimes } from './activity-times.js'
import { attachRegistry } from './attach-registry.js'
import type { Handed } from './attach-registry.js'

const KB = 1024
const MB = 1024 * KB
/** Null: no file at all. */
export const SIZES = [
  { name: 'none', bytes: null },
  { name: '1 KB', bytes: KB },
  { name: '1 MB', bytes: MB },
  { name: '10 MB', bytes: 10 * MB },
  { name: '100 MB', bytes: 100 * MB },
] as const satisfies readonly Size[]
const ROUNDS = 15
/** The first ones pay for compilation. */
const WARM_UP_ROUNDS = 3

export interface Size {
  readonly name: string
  readonly bytes: number | null
}

/** Milliseconds of each round. */
export interface MeasuredSize {
  readonly size: Size
  /** The whole activity that makes the child. */
  readonly prepareChild: number[]
  /** What it does for the file alone; nothing without one. */
  readonly copy: number[]
}

/** A parent with files of all sizes starts one child after the other with one of them. */
export async function measureAttachments(servers: BenchServers): Promise<readonly MeasuredSize[]> {
  const handed: Handed = { files: [] }
  const times = activityTimes('thread.prepareChild')
  const worker = { registry: attachRegistry(handed), interceptors: { activity: [times.interceptor] } }
  const store = await openStore(servers.store)
  try {
    return await withThreads(servers, { taskQueue: 'bench-attach', ...worker }, async (bench) => {
      const parent = await bench.threads.create({ agent: 'sender' })
      const measured = SIZES.map((size): MeasuredSize => ({ size, prepareChild: [], copy: [] }))
      for (const { bytes } of SIZES)
        if (bytes !== null) await parent.writeFile(pathOf(bytes), randomBytes(bytes), 'application/zip')
      for (let round = -WARM_UP_ROUNDS; round < ROUNDS; round += 1) {
        for (const { size, prepareChild, copy } of measured) {
          const prepared = await prepareWith(bench, parent, { size, handed, take: () => times.take() })
          const copied = size.bytes === null ? null : await timeOfCopy(store, parent, pathOf(size.bytes))
          if (round < 0) continue
          prepareChild.push(prepared)
          if (copied !== null) copy.push(copied)
        }
      }
      return measured
    })
  } finally {
    await store.close()
  }
}

interface Preparing {
  readonly size: Size
  readonly handed: Handed
  readonly take: () => readonly number[]
}

/** One turn of the parent with one child; the child has the file when it is over. */
async function prepareWith(
  { threads }: BenchThreads,
  parent: ThreadHandle,
  { size: { bytes }, handed, take }: Preparing,
): Promise<number> {
  handed.files = bytes === null ? [] : [pathOf(bytes)]
  await parent.send('Go on.')
  await parent.waitUntilIdle({ children: true })
  const [time, ...others] = take()
  if (time === undefined || others.length > 0) throw new Error('Expected one child in a turn.')
  if (bytes !== null) await assertArrived(threads, parent.threadId, bytes)
  return time
}

async function assertArrived(threads: BenchThreads['threads'], parent: string, bytes: number): Promise<void> {
  const { threads: children } = await threads.page({ parent }, { limit: 1 })
  const child = children[0]?.threadId
  if (child === undefined) throw new Error('Expected a child.')
  const { entries } = await threads.get(child).readdirFile('/attachments')
  const size = entries[0]?.size
  if (size !== bytes) throw new Error(`Expected a file of ${bytes} bytes at the child, got ${size}.`)
}

/** The runtime's own function in a transaction of its own, which in the activity is that of the child's other rows. */
async function timeOfCopy(store: Store, { threadId: from }: ThreadHandle, path: string): Promise<number> {
  const since = performance.now()
  const copies = await store.write((tx) =>
    copyAttachments(tx, { from, to: randomUUID(), paths: [path], now: Date.now() * 1000 }),
  )
  const time = performance.now() - since
  if (copies.length !== 1) throw new Error('Expected one copy.')
  return time
}

function pathOf(bytes: number): string {
  return `/files/${bytes}.zip`
}

/** Not all the same, and quick to make. */
function randomBytes(length: number): Uint8Array {
  const block = crypto.getRandomValues(new Uint8Array(Math.min(length, 64 * KB)))
  const bytes = new Uint8Array(length)
  for (let at = 0; at < length; at += block.length) bytes.set(block.subarray(0, length - at), at)
  return bytes
}
