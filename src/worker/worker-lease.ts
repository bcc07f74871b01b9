/**
 * The lease of a worker process: it beats in the store, and another worker that sees no more beats gives the activities of the dead one
 * back to Temporal. Without it Temporal notices a death only after the heartbeat timeout, which is long, because each heartbeat is
 * billed and a stalled call must not be taken for a dead one.
 *
 * It owns: who beats, who is dead, and what is given back. It does not own: what the next attempt of an activity does, which the row
 * of its operation decides (T4).
 * Invariant: only activities that Temporal itself has with the identity of the dead worker are given back.
 */
import { randomUUID } from 'node:crypto'
import { defaultFailureConverter, defaultPayloadConverter } from '@temporalio/common'
import type { Worker } from '@temporalio/worker'
import { ACTIVITIES } from '../protocol/answer-problem.js'
import { failure } from '../protocol/failures.js'
import type { Store } from '../store/store.js'
import { listWorkingThreads } from '../store/threads/runs.js'
import { countBeat, listWorkers, removeWorker, takeDeadWorker } from '../store/workers.js'
import type { WorkerRow } from '../store/workers.js'
import { Runtime } from './temporal-worker.js'

const BEAT = 2_000

/**
 * A worker is dead after so many looks without a beat of it: 14 s. They are counted, because while the store is unavailable nobody
 * beats and nobody looks.
 */
const MISSED_BEATS = 7

/** Threads that are looked at in Temporal at a time. */
const AT_A_TIME = 20

/** Of Temporal's `PendingActivityState`, whose enum is in a package that workers do not load. */
const STARTED = 2

/** Beats while `work` runs, and gives back what dead workers of the same store had. */
export async function withLease(store: Store, worker: Worker, work: () => Promise<void>): Promise<void> {
  const self = { id: randomUUID(), identity: worker.options.identity }
  const findDead = createObserver()
  const released = new Set<Promise<void>>()
  let timer: NodeJS.Timeout | undefined
  let ended = false

  async function beat(): Promise<void> {
    try {
      await store.write((tx) => countBeat(tx, self))
      const workers = await store.read(listWorkers)
      for (const dead of findDead(workers.filter(({ id }) => id !== self.id))) {
        const isSeen = workers.some(({ id, identity }) => id !== dead.id && identity === dead.identity)
        if (!(await store.write((tx) => takeDeadWorker(tx, dead))) || isSeen) continue
        // Not awaited: a thousand threads take longer than a beat.
        const release = releaseActivities(store, worker, dead.identity).catch(() => undefined)
        released.add(release)
        void release.finally(() => released.delete(release))
      }
    } catch {
      // The store or Temporal is unavailable: the next beat tries again, and the heartbeat timeout holds in any case.
    }
    if (!ended) timer = setTimeout(() => void (beating = beat()), BEAT)
  }

  let beating = beat()
  try {
    await work()
  } finally {
    ended = true
    clearTimeout(timer)
    await Promise.all([beating, ...released])
    await store.write((tx) => removeWorker(tx, self.id)).catch(() => undefined)
  }
}

/** Returns a function that takes the rows of a look and returns those that have missed too many beats. */
export function createObserver(): (workers: readonly WorkerRow[]) => readonly WorkerRow[] {
  let known: ReadonlyMap<string, { readonly beats: number; readonly missed: number }> = new Map()
  return (workers) => {
    known = new Map(
      workers.map(({ id, beats }) => {
        const before = known.get(id)
        return [id, { beats, missed: before?.beats === beats ? before.missed + 1 : 0 }]
      }),
    )
    return workers.filter(({ id }) => (known.get(id)?.missed ?? 0) >= MISSED_BEATS)
  }
}

/** Fails the activities that Temporal has with that identity, so that it schedules their next attempts at once. */
async function releaseActivities(store: Store, worker: Worker, identity: string): Promise<void> {
  const threadIds = await store.read(listWorkingThreads)
  let count = 0
  for (let at = 0; at < threadIds.length; at += AT_A_TIME) {
    const some = threadIds.slice(at, at + AT_A_TIME)
    const counts = await Promise.all(some.map((threadId) => releaseThread(worker, { threadId, identity })))
    count += counts.reduce((sum, one) => sum + one, 0)
  }
  const what = `Worker ${identity} of this store has died. ${count} of its activities are given to other workers.`
  Runtime.instance().logger.warn(what)
}

interface Held {
  readonly threadId: string
  readonly identity: string
}

/** Returns the number of activities that were given back. A thread that Temporal does not know, or that moves on, has none. */
async function releaseThread({ client, options }: Worker, { threadId, identity }: Held): Promise<number> {
  if (client === undefined) return 0
  const { workflowService } = client
  const { namespace } = options
  const execution = { workflowId: threadId }
  const described = await workflowService
    .describeWorkflowExecution({ namespace, execution })
    .catch(() => null)
  const runId = described?.workflowExecutionInfo?.execution?.runId ?? ''
  const held = (described?.pendingActivities ?? []).filter(
    ({ state, lastWorkerIdentity, activityType }) =>
      state === STARTED && lastWorkerIdentity === identity && OURS.has(activityType?.name ?? ''),
  )
  const died = defaultFailureConverter.errorToFailure(failure('Worker.Died'), defaultPayloadConverter)
  const given = held.map(({ activityId = '' }) =>
    workflowService
      .respondActivityTaskFailedById({
        namespace,
        workflowId: threadId,
        runId,
        activityId,
        identity,
        failure: died,
      })
      .then(
        () => 1,
        () => 0,
      ),
  )
  return (await Promise.all<number>(given)).reduce((sum, one) => sum + one, 0)
}

const OURS: ReadonlySet<string> = new Set(Object.values(ACTIVITIES))
