/** T3: what a thread accepted is delivered once, in order, or ended visibly; T9 of what user code queued. */
import type { World } from '../world.js'
import { isOfKilled } from './is-of-killed.js'
import { checkPlaces } from './order-rules.js'
import type { Resting } from './rest-rules.js'

export function checkMessages(world: World, resting: Resting): void {
  checkOrder(world, resting)
  checkAccepted(world, resting)
  checkStaged(world, resting)
}

function checkOrder(world: World, { thread }: Resting): void {
  // What it queued was in an answer of which the workflow took nothing, and came again behind later messages.
  if (world.log.garbled.has(thread.id)) return world.saw('excused order after a garbled answer')
  checkPlaces(world, thread)
}

/**
 * The signal was acknowledged: it is delivered, ended, waits in the queue of a thread that says why it does not run, or
 * found no room there.
 */
function checkAccepted(world: World, { thread, snapshot, refused }: Resting): void {
  const waiting = new Set(snapshot?.queue.map(({ id }) => id))
  for (const id of world.log.accepted.get(thread.id) ?? []) {
    const row = thread.messages.get(id)
    if (row?.status !== 'pending' || refused.has(id)) continue
    if (!waiting.has(id) && !world.log.crowdedOut.has(`${thread.id} ${id}`))
      world.breaks('T3 an accepted message is lost', `${thread.id} ${id}`)
  }
}

/** What tools, hooks, parents and children queued was committed: its workflow hears of it without anybody's help. */
function checkStaged(world: World, { thread, snapshot, refused }: Resting): void {
  if (thread.closed !== null) {
    const left = [...thread.messages.values()].filter(({ status }) => status === 'pending')
    for (const { id } of left)
      world.breaks('T8 a message of a closed thread is not rejected', `${thread.id} ${id}`)
    return
  }
  if (snapshot?.status !== 'idle') return
  for (const { id, by, status } of thread.messages.values()) {
    if (status !== 'pending' || by === 'client' || by === 'child' || refused.has(id)) continue
    // A message of a parent has an id that begins with the thread which it is for.
    if (isOfKilled(world, by === 'parent' ? (thread.parent ?? '') : id))
      world.saw('excused message of a killed sender')
    else world.breaks('T9 a queued message is never delivered', `${thread.id} ${id} by ${by}`)
  }
  const tools = [...thread.calls.values()].filter(({ placed, status }) => !placed && status === 'open')
  for (const { id } of tools)
    if (id.startsWith(`${thread.id}:`) && !refused.has(id))
      world.breaks('T9 a queued tool never runs', `${thread.id} ${id}`)
}
