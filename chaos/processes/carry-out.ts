import { setTimeout as delay } from 'node:timers/promises'

import { expectedBytes } from '../desk/chaos-files.js'
import { isOpen, openGate } from '../desk/gate.js'
import { openJournal, readJournal } from '../desk/journal.js'
import type { Journal } from '../desk/journal.js'
import type { Action, Sending, ThreadPlan } from '../driver/action.js'
import { planThread } from '../driver/thread-plan.js'
import type { Acknowledgement } from './acknowledgement.js'
import { isPassing, isQueueFull, problemOf } from './is-passing.js'
import type { ClientPlace } from './places.js'
import type { Thread, Threads } from './threads.js'

interface Work {
  readonly threads: Threads
  readonly place: ClientPlace
  /** Changes while the work is done. */
  readonly work: { readonly finish: boolean }
  /** Called for each thread that is there. */
  readonly begun: (threadId: string) => void
}

interface Lane extends Work {
  readonly journal: Journal<Acknowledgement>
  /** The last action of each thread that an earlier process wrote down. */
  readonly done: ReadonlyMap<string, number>
}

/** Before a call that could not be made is made again. */
const PAUSE = 300
const CREATION = -1

/** Carries out one plan after the other in each lane, until it is told to finish; every action until it is acknowledged. */
export async function carryOut(work: Work): Promise<void> {
  const { place } = work
  const lines = readJournal<Acknowledgement>(place.acknowledged)
  const done = new Map(lines.map(({ threadId, action }) => [threadId, action]))
  const lane: Lane = { ...work, done, journal: openJournal(place.acknowledged) }
  await Promise.all(Array.from({ length: place.lanes }, (_, number) => runLane(lane, number)))
}

async function runLane(lane: Lane, number: number): Promise<void> {
  for (let index = number; ; index += lane.place.lanes) {
    const plan = planThread(lane.place.seed, index)
    const last = lane.done.get(plan.threadId)
    if (last === undefined && lane.work.finish) return
    await runPlan(lane, plan, last ?? CREATION - 1)
  }
}

/** `last` was done before: the next one may have been begun, so it is made whatever else is left out. */
async function runPlan(lane: Lane, plan: ThreadPlan, last: number): Promise<void> {
  const { threadId, actions } = plan
  const { way } = lane.threads.get(threadId)
  if (last < CREATION)
    await acknowledged(lane, { threadId, way, action: CREATION }, () => create(lane, threadId))
  lane.begun(threadId)
  const closing = actions.findIndex((action) => action.kind === 'send' && action.id.endsWith('-last'))
  const first = Math.max(last, CREATION) + 1
  for (const [index, action] of actions.entries()) {
    if (index < first) continue
    const place = { threadId, way, action: index }
    if (lane.work.finish && plan.whole !== true && index > first && index < closing)
      lane.journal.write({ ...place, kind: 'skipped' })
    else await acknowledged(lane, place, () => perform(lane, threadId, action))
  }
}

async function create({ threads, place }: Lane, threadId: string): Promise<Outcome> {
  const { heartbeatTimeout } = place
  const limits = heartbeatTimeout === null ? {} : { limits: { heartbeatTimeout } }
  await threads.create({ agent: 'lead', id: threadId, ...limits })
  return { kind: 'created' }
}

type Outcome = Pick<Acknowledgement, 'kind' | 'messageId'>

async function perform({ threads, place }: Lane, threadId: string, action: Action): Promise<Outcome> {
  const thread = threads.get(threadId)
  switch (action.kind) {
    case 'send':
      return send(thread, action)
    case 'stop':
      await thread.stop()
      break
    case 'terminate':
      await thread.terminate({ reason: 'by plan' })
      break
    case 'pause':
      await delay(action.milliseconds)
      break
    case 'wait_for_hold':
      for (const until = Date.now() + action.milliseconds; Date.now() < until; await delay(PAUSE))
        if (isOpen(place.gates, { threadId, kind: 'held' })) break
      break
    case 'end_hold':
      openGate(place.gates, { threadId, kind: 'full' })
      break
    case 'settle':
      // A thread that takes longer is written to while it works.
      await thread.waitUntilIdle({ timeout: action.milliseconds }).catch(() => undefined)
  }
  return { kind: 'done' }
}

async function send(thread: Thread, { id, content, files, fills }: Sending): Promise<Outcome> {
  const mimeType = 'application/octet-stream'
  const attachments = files.map((name) => ({ name, mimeType, data: data(name) }))
  try {
    const { messageId } = await thread.send({ id, content, attachments })
    return { kind: 'sent', messageId }
  } catch (error) {
    if (fills === true && isQueueFull(error)) return { kind: 'full', messageId: id }
    throw error
  }
}

function data(name: string): Uint8Array {
  const bytes = expectedBytes(name)
  if (bytes === null) throw new Error(`Expected the name of a file of chaos, got ${name}.`)
  return bytes
}

/** Again and again while a server is away; what is refused for good is written down, and the plan goes on. */
async function acknowledged(
  { journal }: Lane,
  place: Pick<Acknowledgement, 'threadId' | 'way' | 'action'>,
  work: () => Promise<Outcome>,
): Promise<void> {
  for (;;) {
    try {
      journal.write({ ...place, ...(await work()) })
      return
    } catch (error) {
      if (isPassing(error) || isQueueFull(error)) await delay(PAUSE)
      else {
        journal.write({ ...place, kind: 'refused', problem: problemOf(error) })
        return
      }
    }
  }
}
