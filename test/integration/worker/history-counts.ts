import type { Client } from '@temporalio/client'

import { recordedRuns } from '../../support/histories.js'
import type { RecordedRun } from '../../support/histories.js'

/** As the wire has it: nobody took the task. */
const SCHEDULE_TO_START = 2

type HistoryEvent = NonNullable<RecordedRun['history']['events']>[number]

export interface UnansweredTask {
  readonly workflowId: string
  readonly eventId: string
  /** Of the worker that the server gave it to: process id and host. */
  readonly identity: string
  /** When, in milliseconds since 1970. */
  readonly givenAt: number
}

/** What the histories of threads say about the workers that they met. */
export interface HistoryCounts {
  readonly threads: number
  readonly runs: number
  readonly tasks: number
  /** Workflow tasks that failed. */
  readonly failedTasks: readonly string[]
  /** Workflow tasks that were given to a worker and not answered within ten seconds, and then given to another. */
  readonly unanswered: readonly UnansweredTask[]
  /** Workflow tasks that the worker who had the thread in its cache did not take in time, so that any other did. */
  readonly handedOver: number
  /** Temporal runs that two versions worked on. */
  readonly crossed: number
  /** Temporal runs in which the new version's change was active. */
  readonly patched: number
}

/** A worker that was told to end, and when, in milliseconds since 1970. */
export interface WorkerEnd {
  readonly pid: number
  readonly at: number
}

/** How long a worker may take to end its polls: on a busy machine more than the moment that it is. */
const ENDING = 15_000

/**
 * True if a worker's end lost the task. A worker that is told to end cancels its polls, and a task that the server gives to
 * one in that moment is lost with it: the SDK says so where it does it (core, poll_buffer.rs). From 1.31 on servers end the
 * polls themselves, and lose none.
 */
export function isLostWithPoll({ identity, givenAt }: UnansweredTask, ends: readonly WorkerEnd[]): boolean {
  return ends.some(
    ({ pid, at }) => identity.startsWith(`${pid}@`) && givenAt > at - 100 && givenAt < at + ENDING,
  )
}

export async function countHistories(client: Client, threadIds: readonly string[]): Promise<HistoryCounts> {
  const runs = (await inTurns(threadIds, (id) => recordedRuns(client, id))).flat()
  const events = runs.map(eventsOf)
  return {
    threads: threadIds.length,
    runs: runs.length,
    tasks: events.flat().filter((event) => event.workflowTaskCompletedEventAttributes != null).length,
    failedTasks: runs.flatMap((run) => eventsOf(run).flatMap((event) => failedTask(run, event))),
    unanswered: runs.flatMap((run) => eventsOf(run).flatMap((event) => unanswered(run, event))),
    handedOver: events.flat().filter((event) => isHandover(event.workflowTaskTimedOutEventAttributes)).length,
    crossed: events.filter((of) => new Set(of.flatMap(buildOf)).size > 1).length,
    patched: events.filter((of) => of.some(isPatch)).length,
  }
}

/** A few at a time: all at once would wait for each other. */
export async function inTurns<T, R>(
  items: readonly T[],
  work: (item: T) => Promise<R>,
): Promise<readonly R[]> {
  const answers: R[] = []
  for (let from = 0; from < items.length; from += 20)
    answers.push(...(await Promise.all(items.slice(from, from + 20).map(work))))
  return answers
}

function eventsOf({ history }: RecordedRun): readonly HistoryEvent[] {
  return history.events ?? []
}

function failedTask({ workflowId }: RecordedRun, event: HistoryEvent): readonly string[] {
  const { workflowTaskFailedEventAttributes: failed } = event
  return failed == null ? [] : [`${workflowId}: ${failed.failure?.message ?? 'failed'}`]
}

function unanswered(run: RecordedRun, event: HistoryEvent): readonly UnansweredTask[] {
  const { workflowTaskTimedOutEventAttributes: late } = event
  if (late == null || isHandover(late)) return []
  const given = eventsOf(run).find(({ eventId }) => String(eventId) === String(late.startedEventId))
  return [
    {
      workflowId: run.workflowId,
      eventId: String(event.eventId),
      identity: given?.workflowTaskStartedEventAttributes?.identity ?? '',
      givenAt: Number(given?.eventTime?.seconds) * 1_000 + Number(given?.eventTime?.nanos) / 1_000_000,
    },
  ]
}

function isHandover(timedOut: HistoryEvent['workflowTaskTimedOutEventAttributes']): boolean {
  return timedOut?.timeoutType === SCHEDULE_TO_START
}

function buildOf({ workflowTaskCompletedEventAttributes: done }: HistoryEvent): readonly string[] {
  return done?.deploymentVersion?.buildId == null ? [] : [done.deploymentVersion.buildId]
}

function isPatch({ markerRecordedEventAttributes: marker }: HistoryEvent): boolean {
  return marker?.markerName === 'core_patch'
}
