import { randomUUID } from 'node:crypto'
import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'

import { historyToJSON } from '@temporalio/common/lib/proto-utils.js'

import type { LoopingWorker } from '../looping-worker.js'
import type { bareLoop } from '../step/bare-loop.js'
import { conversationOf, CONVERSATIONS } from '../step/conversations.js'
import { stepPlaces, temporalRuns } from '../step/history-cost.js'

const RESULT = 5_000

/** The history of one Temporal run, in a file. */
export interface KeptRun {
  readonly path: string
  readonly events: number
}

export interface Recorded {
  /** All Temporal runs that hold a turn of 100 calls on 0.42 MB, the first one first. */
  readonly turn: readonly KeptRun[]
  /** The same of 1,000 calls. */
  readonly longTurn: readonly KeptRun[]
  /** 100 steps of the bare loop. */
  readonly bare: KeptRun
}

/** Runs what is replayed, and keeps the histories. */
export async function recordHistories(worker: LoopingWorker, folder: string): Promise<Recorded> {
  const turn = await threadRuns(worker, folder, 100)
  return { turn, longTurn: await threadRuns(worker, folder, 1_000), bare: await bareRun(worker, folder, 100) }
}

async function threadRuns(worker: LoopingWorker, folder: string, calls: number): Promise<readonly KeptRun[]> {
  const thread = await conversationOf(worker, CONVERSATIONS[1])
  await worker.takeTurn(thread, { calls, resultLength: RESULT })
  const runs: KeptRun[] = []
  let left = calls + 1
  for await (const { events } of temporalRuns(worker.client, thread.threadId)) {
    const modelCalls = stepPlaces(events).length
    // What the thread continued as after the turn has none, and what is older is its conversation.
    if (modelCalls === 0) continue
    runs.unshift(await keep(join(folder, `thread-${calls}-${runs.length}.json`), [...events]))
    left -= modelCalls
    if (left <= 0) break
  }
  await thread.terminate()
  return runs
}

async function bareRun(
  { client, taskQueue }: LoopingWorker,
  folder: string,
  steps: number,
): Promise<KeptRun> {
  const workflowId = `bare-${randomUUID()}`
  await client.workflow.execute<typeof bareLoop>('bareLoop', { taskQueue, workflowId, args: [steps] })
  const { events } = await client.workflow.getHandle(workflowId).fetchHistory()
  return keep(join(folder, `bare-${steps}.json`), events ?? [])
}

async function keep(
  path: string,
  events: NonNullable<Parameters<typeof historyToJSON>[0]['events']>,
): Promise<KeptRun> {
  await writeFile(path, historyToJSON({ events }))
  return { path, events: events.length }
}
