/**
 * T3: the order in which a thread delivers its messages: that of acceptance, unless a promotion or a message that preempts moves one.
 * An oracle of its own, from what each thread was sent and from what its steps named; it does not look at its queue.
 */
import { SIGNALS } from '../../src/protocol/messages.js'
import type { MessageRow, ThreadRow } from '../store/rows.js'
import type { Job } from '../temporal/command.js'
import type { WorkflowRun } from '../temporal/workflow-run.js'
import type { World } from '../world.js'

interface Task {
  /** What came, with the messages that it brought. */
  readonly took: readonly { readonly job: Job; readonly messages: readonly string[] }[]
  /** Messages that the next step takes. */
  readonly named: readonly string[]
}

/** Notes when the thread took and moved its messages, and when a step first named each. */
export function noteOrder(world: World, { workflowId }: WorkflowRun, { took, named }: Task): void {
  const { log } = world
  const { taken, drained, moved, updated } = log
  for (const { job, messages } of took) {
    const at = (world.happened += 1)
    if (job.kind === 'update') updated.set(job.id, at)
    for (const id of messages) {
      const key = `${workflowId} ${id}`
      if (taken.has(key)) continue
      taken.set(key, at)
      if (isPreempting(job) && world.threads.get(workflowId)?.resumable === true) moved.set(key, at)
    }
  }
  for (const id of named) {
    const key = `${workflowId} ${id}`
    if (!drained.has(key)) drained.set(key, (world.happened += 1))
  }
}

function isPreempting(job: Job): boolean {
  if (job.kind !== 'signal' || job.name !== SIGNALS.queueMessage) return false
  return (JSON.parse(job.input) as { readonly deliver?: unknown }).deliver === 'preempt'
}

interface Placed extends MessageRow {
  readonly position: number
}

export function checkPlaces(world: World, thread: ThreadRow): void {
  const accepted = world.log.accepted.get(thread.id) ?? []
  const placed = accepted.flatMap((id) => {
    const row = thread.messages.get(id)
    return row === undefined || row.position === null ? [] : [row as Placed]
  })
  for (const [index, row] of placed.entries()) {
    for (const later of placed.slice(index + 1)) checkPair(world, thread, [row, later])
    if (row.deliver === 'next_turn' && thread.resumable) checkTurn(world, thread, row)
  }
}

function checkPair(
  world: World,
  { id: thread }: ThreadRow,
  [first, second]: readonly [Placed, Placed],
): void {
  const movedAt = (row: Placed): number | undefined => world.log.moved.get(`${thread} ${row.id}`)
  const [one, other] = [movedAt(first), movedAt(second)]
  if (one === undefined && other === undefined) {
    if (second.position < first.position)
      world.breaks('T3 a message overtakes another one', `${thread} ${second.id}`)
    return
  }
  if (one !== undefined && other !== undefined) return
  const [still, moved, at] = one === undefined ? [first, second, other] : [second, first, one]
  if (at === undefined || !waitedAt(world, `${thread} ${still.id}`, at)) return
  if (still.position < moved.position)
    world.breaks('T3 a message that was moved does not go first', `${thread} ${moved.id} before ${still.id}`)
}

/** It was in the queue at this moment, and no step had named it. */
function waitedAt({ log: { taken, drained } }: World, key: string, at: number): boolean {
  return (taken.get(key) ?? Infinity) < at && (drained.get(key) ?? Infinity) > at
}

/** A run begins with it: no message has its place before it in the same run. */
function checkTurn(world: World, thread: ThreadRow, { id, run, position }: Placed): void {
  if (run === undefined) return
  for (const row of thread.messages.values())
    if (row.run === run && row.by === 'client' && row.position !== null && row.position < position)
      world.breaks('T3 a message for the next turn joins a run', `${thread.id} ${id} behind ${row.id}`)
}
