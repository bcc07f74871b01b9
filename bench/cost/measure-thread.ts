import type { Client } from '@temporalio/client'
import type { ThreadHandle } from 'everthread/client'

import { loopRegistry } from '../loop/loop-registry.js'
import { slowModel } from '../loop/slow-model.js'
import { temporalRuns } from '../step/history-cost.js'
import { withThreads } from '../with-threads.js'
import { namespaceOf, THREAD_LOOPS } from './cells.js'
import type { Cell, ThreadLoop } from './cells.js'
import type { CostBench, MeasuredCell } from './measure-cell.js'
import { actionsSince, settledActions } from './server-actions.js'

/** The default of a minute is shorter than a turn of ten models of 8 s. */
const PATIENCE = '1 hour'

/**
 * Takes the turns of a cell in one new thread, as an application does: it reads the live text and waits for each end. Before
 * that the worker takes a turn of another thread, which is not counted: a wait asks for a worker that is slow to start.
 */
export function measureThread(
  { servers, metrics, bundle }: CostBench,
  cell: Cell & { readonly loop: ThreadLoop },
): Promise<MeasuredCell> {
  const namespace = namespaceOf(cell)
  const { model, begin, requests } = cellModel(cell)
  const options = {
    registry: loopRegistry({ model }),
    runAhead: THREAD_LOOPS[cell.loop],
    ...{ namespace, taskQueue: `bench-cost-${namespace}`, workflowBundle: { codePath: bundle.path } },
  }
  return withThreads(servers, options, async ({ client, threads }) => {
    const create = () => threads.create({ agent: 'worker', message: 'Go on.' })
    await (await create()).waitUntilIdle({ timeout: PATIENCE })
    const before = await settledActions(metrics, namespace)
    begin()
    const thread = await create()
    const text = await whileReading(thread, () => takeTurns(thread, cell))
    return {
      ...{ cell, done: cell.tools * cell.turns, modelCalls: requests() },
      ...(await historyOf(client, thread.threadId)),
      actions: actionsSince(before, await settledActions(metrics, namespace)),
      end: `completed, ${text} pieces of text`,
    }
  })
}

/** It answers at once until `begin`. */
function cellModel({ tools, seconds }: Cell) {
  let begun = false
  let requests = 0
  const model = slowModel({
    seconds: () => (begun ? seconds : 0),
    speaks: true,
    goesOn: () => begun && (requests += 1) % (tools + 1) !== 0,
  })
  return { model, begin: () => void (begun = true), requests: () => requests }
}

/** The first one has begun. */
async function takeTurns(thread: ThreadHandle, { tools, turns }: Cell): Promise<void> {
  for (let turn = 0; turn < turns; turn += 1) {
    if (turn > 0) await thread.send('Go on.')
    const { steps, reason } = await thread.waitUntilIdle({ timeout: PATIENCE })
    if (steps !== tools + 1)
      throw new Error(`Expected ${tools + 1} steps of a turn, got ${steps} (${reason}).`)
  }
}

/** Reads the live text of a thread while `work` is done; resolves with the number of its pieces. */
async function whileReading(thread: ThreadHandle, work: () => Promise<void>): Promise<number> {
  const reading = new AbortController()
  const text = readText(thread, reading.signal)
  await work().finally(() => reading.abort())
  return text
}

async function readText(thread: ThreadHandle, signal: AbortSignal): Promise<number> {
  let pieces = 0
  for await (const { type } of thread.events({ signal })) if (type === 'model.delta') pieces += 1
  return pieces
}

/** Of all Temporal runs of a thread, by the server's count. */
async function historyOf(
  client: Client,
  workflowId: string,
): Promise<{ readonly events: number; readonly bytes: number }> {
  let events = 0
  let bytes = 0
  for await (const { runId } of temporalRuns(client, workflowId)) {
    const { historyLength, historySize } = await client.workflow.getHandle(workflowId, runId).describe()
    events += historyLength
    bytes += historySize ?? 0
  }
  return { events, bytes }
}
