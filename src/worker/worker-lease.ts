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
import { setTimeout as delay } from 'node:timers/promises'
import { defaultFailureConverter, defaultPayloadConverter } from '@temporalio/common'
import type { Worker } from '@temporalio/worker'
import { ACTIVITIES } from '../protocol/answer-problem.js'
import { failure } from '../protocol/failures.js'
import { isObject } from '../protocol/values.js'
import type { Store } from '../store/store.js'
import { listWorkingThreads } from '../store/threads/runs.js'
import { countBeat, listWorkers, removeWorker, takeDeadWorker } from '../store/workers.js'
import type { WorkerRow } from '../store/workers.js'
import { Runtime } from './temporal-worker.js'

const BEAT = 2_000

/** A worker is dead when the count is so far ahead of it: no beat of it for 12 s at least. */
const MISSED_BEATS = 7

/** Threads that are looked at in Temporal at a time. */
const AT_A_TIME = 20

/** Of Temporal's `PendingActivityState`, whose enum is in a package that workers do not load. */
const STARTED = 2

/** Of gRPC: deadline exceeded, resource exhausted, unavailable. */
const PASSING: ReadonlySet<unknown> = new Set([4, 8, 14])

/** Beats while `work` runs, and gives back what dead workers of the same store had. */
export async function withLease(store: Store, worker: Worker, work: () => Promise<void>): Promise<void> {
  const self = { id: randomUUID(), identity: worker.options.identity }
  /** Dead workers that this one has taken, by id. */
  const held = new Map<string, Promise<void>>()
  const ending = new AbortController()
  const { signal } = ending

  async function beat(): Promise<void> {
    try {
      const workers = await store.read(listWorkers)
      const beats = nextBeat(workers, self.id)
      await store.write((tx) => countBeat(tx, { ...self, beats }, [...held.keys()]))
      for (const dead of deadWorkers(workers, beats)) {
        if (dead.id === self.id || held.has(dead.id)) continue
        if (!(await store.write((tx) => takeDeadWorker(tx, dead, beats)))) continue
        const isSeen = workers.some(({ id, identity }) => id !== dead.id && identity === dead.identity)
        // Not awaited: a thousand threads take longer than a beat.
        const given = isSeen ? forget(dead) : giveBack(dead)
        held.set(
          dead.id,
          given.catch(() => undefined).finally(() => held.delete(dead.id)),
        )
      }
    } catch {
      // The store or Temporal is unavailable: the next beat tries again, and the heartbeat timeout holds in any case.
    }
  }

  async function beatOn(): Promise<void> {
    do await beat()
    while (await paused(signal))
  }

  /** Its row stays until all is given back: if this worker dies meanwhile, another one takes it. */
  async function giveBack(dead: WorkerRow): Promise<void> {
    let released = 0
    do {
      const { count, isAll } = await releaseActivities(store, worker, dead.identity)
      released += count
      if (!isAll) continue
      await forget(dead)
      const what = `Worker ${dead.identity} of this store has died. ${released} of its activities are given to other workers.`
      Runtime.instance().logger.warn(what)
      return
    } while (await paused(signal))
  }

  async function forget({ id }: WorkerRow): Promise<void> {
    await store.write((tx) => removeWorker(tx, id))
  }

  const beating = beatOn()
  try {
    await work()
  } finally {
    ending.abort()
    await Promise.all([beating, ...held.values()])
    await store.write((tx) => removeWorker(tx, self.id)).catch(() => undefined)
  }
}

/** Waits for the time of a beat. Returns false if the worker ends. */
async function paused(signal: AbortSignal): Promise<boolean> {
  return delay(BEAT, true, { signal }).catch(() => false)
}

/**
 * The count that a worker comes to with its next beat: its own plus one, or the highest of all if that is more. So the count is one
 * for all workers, and goes on by one in the time of a beat at most, however many there are: who takes it further has had it for
 * that time. It stands still while the store is unavailable. A new worker begins with it, and knows at once who is behind.
 */
export function nextBeat(workers: readonly WorkerRow[], id: string): number {
  return Math.max(1, ...workers.map((row) => (row.id === id ? row.beats + 1 : row.beats)))
}

/** Those that have missed too many beats at that count. */
export function deadWorkers(workers: readonly WorkerRow[], count: number): readonly WorkerRow[] {
  return workers.filter(({ beats }) => count - beats >= MISSED_BEATS)
}

interface Released {
  readonly count: number
  /** False: the store or Temporal was unavailable for some, and all are to be looked at again. */
  readonly isAll: boolean
}

const NONE: Released = { count: 0, isAll: true }
const UNAVAILABLE: Released = { count: 0, isAll: false }

/** Fails the activities that Temporal has with that identity, so that it schedules their next attempts at once. */
async function releaseActivities(store: Store, worker: Worker, identity: string): Promise<Released> {
  const threadIds = await store.read(listWorkingThreads).catch(() => null)
  if (threadIds === null) return UNAVAILABLE
  let all = NONE
  for (let at = 0; at < threadIds.length; at += AT_A_TIME) {
    const some = threadIds.slice(at, at + AT_A_TIME)
    all = sum([
      all,
      ...(await Promise.all(some.map((threadId) => releaseThread(worker, { threadId, identity })))),
    ])
  }
  return all
}

function sum(each: readonly Released[]): Released {
  return { count: each.reduce((count, one) => count + one.count, 0), isAll: each.every(({ isAll }) => isAll) }
}

interface Held {
  readonly threadId: string
  readonly identity: string
}

/** A thread that Temporal does not know, or that moves on, has none. */
async function releaseThread({ client, options }: Worker, { threadId, identity }: Held): Promise<Released> {
  if (client === undefined) return NONE
  const { workflowService } = client
  const { namespace } = options
  try {
    const execution = { workflowId: threadId }
    const described = await workflowService.describeWorkflowExecution({ namespace, execution })
    const runId = described.workflowExecutionInfo?.execution?.runId ?? ''
    const held = (described.pendingActivities ?? []).filter(
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
        .then(() => ({ count: 1, isAll: true }), releasedNone),
    )
    return sum(await Promise.all(given))
  } catch (error) {
    return releasedNone(error)
  }
}

/** A refusal stays one: only what may pass by itself is tried again. */
function releasedNone(error: unknown): Released {
  return isObject(error) && PASSING.has(error['code']) ? UNAVAILABLE : NONE
}

const OURS: ReadonlySet<string> = new Set(Object.values(ACTIVITIES))
