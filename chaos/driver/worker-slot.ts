import { join } from 'node:path'
import { setTimeout as delay } from 'node:timers/promises'

import type { DeskVersion } from '../desk/chaos-prompts.js'
import type { WorkerPlace, WorkerReport } from '../processes/places.js'
import type { ActivitiesInFlight } from './activities-in-flight.js'
import { startChaosProcess } from './chaos-process.js'
import type { ChaosProcess } from './chaos-process.js'
import { untilLiving } from './live-process.js'
import type { OldPackage } from './old-package.js'
import type { Timeline } from './timeline.js'

export type WorkerSettings = Pick<WorkerPlace, 'taskQueue' | 'codePath' | 'deeds' | 'gates' | 'graceTime'>

export interface Versions {
  /** What old workers run instead of the present package, unless null. */
  readonly old: OldPackage | null
}

export interface CutOff {
  readonly pid: number
  /** That it had an activity of, as it said. */
  readonly threadIds: readonly string[]
}

/** One worker process after the other. */
export interface WorkerSlot {
  start(version: DeskVersion): void
  /** Resolves when there is a process that has worked for that long; null: one that may be in its start. */
  lived(milliseconds: number | null): Promise<void>
  /** kill -9; null if there was no living process. */
  kill(): Promise<CutOff | null>
  /** SIGTERM, then one of that version. */
  deploy(version: DeskVersion): Promise<void>
  /** That processes of a version have brought to an end. */
  readonly activities: Readonly<Record<DeskVersion, number>>
  /** For good. */
  stop(): Promise<void>
}

interface Settings extends Versions {
  readonly place: Omit<WorkerPlace, 'version'>
  readonly folder: string
  readonly inFlight: ActivitiesInFlight
  readonly timeline: Timeline
}

/** As every supervisor waits before it starts again what has ended by itself. */
const RESTART = 500
/** What a process said last may come behind its end. */
const LAST_WORDS = 30

export function createWorkerSlot({ place, old, folder, inFlight, timeline }: Settings): WorkerSlot {
  let worker: ChaosProcess | undefined
  let stopped = false
  const activities = { old: 0, new: 0 }

  function start(version: DeskVersion): void {
    if (stopped) return
    const other = version === 'old' ? old : null
    const started: ChaosProcess = startChaosProcess<WorkerReport>({
      module: 'worker-process',
      ...(other !== null && { root: other.folder }),
      place: { ...place, version, ...(other !== null && { codePath: other.codePath }) } satisfies WorkerPlace,
      log: join(folder, 'workers.log'),
      heard: (report) => {
        if (report.kind === 'ended' && report.ok) activities[version] += 1
        hear({ inFlight, timeline }, started.pid, report)
      },
    })
    worker = started
    void restartWhenGone(started, version)
  }

  /** As it ends when a server is away at its start. */
  async function restartWhenGone(started: ChaosProcess, version: DeskVersion): Promise<void> {
    await started.gone
    if (worker !== started) return
    inFlight.cutOff(started.pid)
    await delay(RESTART)
    if (worker === started) start(version)
  }

  function take(): ChaosProcess | undefined {
    const taken = worker
    worker = undefined
    return taken
  }

  return {
    start,
    activities,
    lived: (milliseconds) => untilLiving(() => worker, milliseconds),
    async kill() {
      const killed = take()
      if (killed === undefined) return null
      const alive = killed.alive()
      await killed.kill()
      timeline.note(`worker ${killed.pid} is killed`)
      await delay(LAST_WORDS)
      const threadIds = inFlight.cutOff(killed.pid)
      return alive ? { pid: killed.pid, threadIds } : null
    },
    async deploy(version) {
      const ending = take()
      await ending?.shutDown()
      if (ending !== undefined) inFlight.cutOff(ending.pid)
      start(version)
    },
    async stop() {
      stopped = true
      await take()?.kill()
    },
  }
}

function hear(
  { inFlight, timeline }: Pick<Settings, 'inFlight' | 'timeline'>,
  pid: number,
  report: WorkerReport,
): void {
  if (report.kind === 'running') {
    timeline.note(`worker ${pid} works, with ${report.door}`)
    return
  }
  const { threadId, activity } = report
  if (report.kind === 'begun') {
    timeline.noteOf(threadId, `attempt ${report.attempt} of ${activity} begins in worker ${pid}`)
    inFlight.begun(pid, threadId)
  } else {
    timeline.noteOf(threadId, `${activity} ${report.ok ? 'ends' : 'fails'} in worker ${pid}`)
    inFlight.ended(pid, threadId, report.ok)
  }
}
