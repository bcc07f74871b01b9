/** Rules that look when all threads are at rest. */
import type { ControlSnapshot } from '../../src/protocol/status.js'
import type { ThreadRow } from '../store/rows.js'
import type { WorkflowRun } from '../temporal/workflow-run.js'
import type { World } from '../world.js'
import { checkChildren } from './child-rules.js'
import { checkEvents } from './event-rules.js'
import { isOfKilled } from './is-of-killed.js'
import { checkMessages } from './message-rules.js'

/** A thread at rest: its rows, and what its workflow says while it is open. */
export interface Resting {
  readonly thread: ThreadRow
  readonly state: WorkflowRun['state'] | 'none'
  readonly snapshot: ControlSnapshot | null
  /** Ids that found no room in the queue, or among the effects: refused, visibly. */
  readonly refused: ReadonlySet<string>
}

const RESTS: readonly string[] = ['idle', 'stopped', 'blocked']

export async function checkRest(world: World): Promise<void> {
  for (const thread of world.threads.values()) {
    const run = world.server.executions.get(thread.id)?.run
    const state: Resting['state'] = run?.state ?? 'none'
    const instance = run?.state === 'open' ? await world.server.instanceOf(run) : undefined
    const snapshot = instance === undefined ? null : (instance.query('snapshot') as ControlSnapshot)
    const resting = { thread, state, snapshot, refused: refusedIn(thread) }
    // An operator ended it: nothing of its code could tidy up.
    if (state === 'terminated') continue
    checkState(world, resting)
    checkMessages(world, resting)
    checkWork(world, resting)
    checkChildren(world, resting)
    checkEvents(world, resting)
  }
  for (const [call, times] of world.log.sideEffects)
    if (times > 1) world.breaks('T4 the code of a tool ran twice', call)
}

function refusedIn({ events }: ThreadRow): ReadonlySet<string> {
  return new Set(
    events.flatMap(({ type, scope }) =>
      type === 'runtime.warning' ? [scope?.messageId ?? scope?.toolCallId ?? 'some'] : [],
    ),
  )
}

/** Nothing waits for ever: what is open rests, and what was terminated is closed. */
function checkState(world: World, { thread, state, snapshot }: Resting): void {
  const { id } = thread
  if (state === 'none' && isForgotten(world, thread))
    world.breaks('T7 a subagent is never started, and never closed', id)
  if (state === 'open' && isLeftToDoctor(world, thread)) return world.saw('excused child that nobody told')
  const ends = thread.terminateRequested || isBelowClosed(world, thread)
  if (ends && state === 'open') world.breaks('T8 a terminated thread stays open', id)
  if (ends && state !== 'none' && thread.closed === null)
    world.breaks('T8 the row of a terminated thread stays open', id)
  if (snapshot === null) return
  const { status, run, queue, pending } = snapshot
  const waits = pending.some(({ kind }) => kind !== 'variables')
  if (run !== null || waits || !RESTS.includes(status))
    return world.breaks('stuck: a run never ends', `${id} is ${status}`)
  if (queue.length > 0 && status === 'idle')
    world.breaks('stuck: the queue of an idle thread is not empty', id)
}

/** Rows of a child, for which no workflow is started; the doctor finds those whose parent an operator terminated. */
function isForgotten({ threads, server }: World, { id, parent, closed }: ThreadRow): boolean {
  if (parent === null || closed !== null) return false
  const isDeferred = threads.get(parent)?.children.get(id)?.deferred === true
  return !isDeferred && server.executions.get(parent)?.run.state !== 'terminated'
}

/** Its parent ended it with its own close, and was terminated by an operator before it could tell: the doctor finds it. */
function isLeftToDoctor({ server }: World, { parent, endedAbove }: ThreadRow): boolean {
  return endedAbove && parent !== null && server.executions.get(parent)?.run.state === 'terminated'
}

/** T8: the children of a thread that closed by its own code are told. */
function isBelowClosed({ threads, server }: World, { parent }: ThreadRow): boolean {
  if (parent === null || threads.get(parent)?.closed == null) return false
  return server.executions.get(parent)?.run.state !== 'terminated'
}

/** Every call has one result, and what was committed with one has happened (T4, T9). */
function checkWork(world: World, { thread, state, snapshot, refused }: Resting): void {
  const { id, calls, effects, requests, closed } = thread
  const isIdle = snapshot?.status === 'idle'
  const isOver = closed !== null && state !== 'none'
  for (const call of calls.values()) {
    if (call.results > 1) world.breaks('T4 a call has two results', `${id} ${call.id}`)
    const isDue = call.placed ? isIdle || isOver : isOver
    if (isDue && call.status === 'open') world.breaks('T8 a call has no result', `${id} ${call.id}`)
  }
  for (const [effectId, { status, runs }] of effects) {
    if (runs > 1) world.breaks('T9 an effect ran twice', `${id} ${effectId}`)
    if (status !== 'scheduled' || !(isOver || (isIdle && refused.size === 0))) continue
    if (!isOver && isOfKilled(world, effectId)) world.saw('excused effect of a killed sender')
    else world.breaks('T9 an effect never ran', `${id} ${effectId}`)
  }
  for (const request of requests.values())
    if (request.callId !== null && request.state === 'open' && calls.get(request.callId)?.status !== 'open')
      if (isOver) world.breaks('T8 a request of a closed thread stays open', `${id} ${request.id}`)
}
