import type { ThreadHandle } from '../../../src/client/index.js'
import type { ThreadLimits } from '../../../src/protocol/messages.js'
import { marked } from '../../support/marker.js'
import { until } from '../../support/until.js'
import { createFixture } from '../worker/fixture.js'
import type { Fixture } from '../worker/fixture.js'
import type { KindName } from './desk.js'
import { endingsModel } from './model.js'
import type { EndingsModel, HeldVoice } from './model.js'

/** How a subagent is called, and what its parent hears of it. */
export interface Kind {
  readonly name: KindName
  /** It stays after its session. */
  readonly stays: boolean
  /** Its parent's call waits. */
  readonly blocking: boolean
  /** It tells nothing by itself. */
  readonly explicit: boolean
}

export const KINDS: readonly Kind[] = [
  { name: 'once_wait', stays: false, blocking: true, explicit: false },
  { name: 'once_go', stays: false, blocking: false, explicit: false },
  { name: 'stay_wait', stays: true, blocking: true, explicit: false },
  { name: 'stay_go', stays: true, blocking: false, explicit: false },
  { name: 'quiet_wait', stays: true, blocking: true, explicit: true },
  { name: 'quiet_go', stays: true, blocking: false, explicit: true },
]

/** Those that report by themselves. */
export const TELLING_KINDS = KINDS.filter(({ explicit }) => !explicit)

/** A worker process, a store and a model of their own on the shared server. */
export interface Place {
  readonly fixture: Fixture
  readonly model: EndingsModel
}

export async function createPlace(): Promise<Place> {
  const model = endingsModel()
  return { fixture: await createFixture({ desk: 'endings', answerer: model.answerer }), model }
}

/** A parent whose subagent's model is asked, and does not answer before it is let. */
export interface Scene {
  readonly place: Place
  /** Of the case, and of the parent. */
  readonly id: string
  readonly kind: Kind
  readonly parent: ThreadHandle
  readonly child: ThreadHandle
  readonly worker: HeldVoice
}

export interface NewScene {
  readonly id: string
  readonly kind: Kind
  /** A verb of the worker, and a word that makes it this one. @default 'deliver one' */
  readonly task?: string
  readonly limits?: ThreadLimits
  /** What a reviewer needs. @default true */
  readonly late?: boolean
}

/** A worker that died is noticed after this. */
const LIMITS: ThreadLimits = { heartbeatTimeout: 3_000 }

/** Its request comes from clerk and worker of a machine that runs many cases at once. */
export const PATIENCE = 60_000
/** Between two looks: each is a query. */
export const PAUSE = 200

/** Asks for a subagent, and comes back when this one's model is asked and its parent waits, or is idle again. */
export async function startScene(place: Place, options: NewScene): Promise<Scene> {
  const { id, kind, limits = {} } = options
  const worker = place.model.hold(id, 'worker')
  const parent = await createParent(place, options)
  const child = await until('a child', () => firstChild(place, parent), PATIENCE, PAUSE)
  if (!isMute(options)) await within('a request of the child', worker.arrived)
  if (!kind.blocking) await parent.waitUntilIdle({ timeout: PATIENCE })
  // Its started event comes before the wait, and continue-as-new with it.
  else if (limits.historyEvents === 0)
    await until('a parent that went on', () => wentOn(parent), PATIENCE, PAUSE)
  return { place, id, kind, parent, child, worker }
}

export function createParent(
  { fixture }: Place,
  { id, kind, task = 'deliver one', limits = {}, late = true }: NewScene,
): Promise<ThreadHandle> {
  const attachments = [{ name: 'notes.txt', mimeType: 'text/plain', data: Buffer.from(NOTES) }]
  return fixture.create({
    id,
    limits: { ...LIMITS, ...limits },
    ...(late && { env: { LATE: 'here' } }),
    message: { content: marked(`please start ${kind.name}: Task: ${task} #${id}`), attachments },
  })
}

/** What goes in and comes back. */
export const NOTES = marked('Notes')

export async function firstChild(
  { fixture }: Place,
  parent: ThreadHandle,
): Promise<ThreadHandle | undefined> {
  const [entry] = (await parent.snapshot()).children
  return entry === undefined ? undefined : fixture.threads.get(entry.reference)
}

/** A hook keeps its message or its request from the model. */
function isMute({ task = '' }: NewScene): boolean {
  return task.startsWith('refused') || task.startsWith('forbidden')
}

async function wentOn(parent: ThreadHandle): Promise<boolean> {
  const { raw } = await parent.workflow.describe()
  const { firstRunId } = raw.workflowExecutionInfo ?? {}
  return firstRunId !== raw.workflowExecutionInfo?.execution?.runId
}

export async function within(what: string, happens: Promise<void>): Promise<void> {
  let did = false
  void happens.then(() => (did = true))
  await until(what, () => did, PATIENCE, PAUSE)
}
