/** Rules that look at each thing as it happens: what a workflow asks for, takes and carries. */
import type { ActivityInput, AheadPair, CallModelInput } from '../../src/protocol/activities.js'
import { ACTIVITIES } from '../../src/protocol/answer-problem.js'
import { LIMITS } from '../../src/protocol/limits.js'
import { SIGNALS } from '../../src/protocol/messages.js'
import type { ChildReport, ThreadStart } from '../../src/protocol/messages.js'
import type { ThreadOperation } from '../../src/protocol/operations.js'
import type { ControlSnapshot } from '../../src/protocol/status.js'
import type { Command, Job } from '../temporal/command.js'
import type { Activity, WorkflowRun } from '../temporal/workflow-run.js'
import type { World } from '../world.js'
import { watchContent } from './content-rules.js'
import { noteOrder } from './order-rules.js'

const STEPS: readonly string[] = [
  ACTIVITIES.callModel,
  ACTIVITIES.executeTool,
  ACTIVITIES.prepareChild,
  ACTIVITIES.prepareMessage,
]
/** Of an input without what it drains, tells and records. */
const INPUT_BYTES = 1200

interface Watched {
  /** Workflows whose cancellation a task has taken. */
  readonly cancelled: Set<string>
  /** The run of each thread that a stop has met. */
  readonly stopped: Map<string, number>
  /** The run of each thread that is under way, as its activities say. */
  readonly running: Map<string, number>
  /** How many items each thread's queue held after its last task. */
  readonly waiting: Map<string, number>
}

export function watchSteps(world: World): void {
  const watched: Watched = {
    cancelled: new Set(),
    stopped: new Map(),
    running: new Map(),
    waiting: new Map(),
  }
  world.onScheduled = (activity) => scheduled(world, watched, activity)
  const checkContent = watchContent(world)
  world.onTook = (run, jobs, commands) => {
    checkContent(run, jobs, commands)
    const fresh = accepts(world, run, jobs)
    noteOrder(world, run, {
      took: jobs.map((job) => ({ job, messages: messagesOf(job) })),
      named: commands.flatMap((command) => (command.kind === 'activity' ? drainOf(command.input) : [])),
    })
    refuses(world, watched, { run, fresh, commands })
    for (const job of jobs) takes(watched, run, job)
    for (const command of commands) asks(world, run, command)
    if (
      run.number > 1 &&
      run.history.length === 1 &&
      jobs.length === 0 &&
      commands[0]?.kind === 'continueAsNew'
    )
      world.breaks('continued as new twice without progress', run.workflowId)
  }
}

function scheduled(world: World, watched: Watched, activity: Activity): void {
  const { name, run, input: text, given } = activity
  const id = run.workflowId
  const input = given as ActivityInput & { readonly end?: unknown }
  // It runs beside another one by design, and is no action of the thread.
  if (name === ACTIVITIES.storeStop) return
  const others = [...run.activities.values()].filter(
    (other) => other !== activity && other.name !== ACTIVITIES.storeStop,
  )
  if (others.length > 0)
    world.breaks('T1 two activities are in flight', `${id} ${name} beside ${others[0]?.name ?? ''}`)
  if (
    world.threads.get(id)?.closed != null &&
    name !== ACTIVITIES.settle &&
    name !== ACTIVITIES.deliverReport
  )
    if (!isUnaware(world, id)) world.breaks('T8 a closed thread runs', `${id} ${name}`)
  const isStep = STEPS.includes(name)
  if (watched.cancelled.has(id) && (isStep || name === ACTIVITIES.runEffect))
    world.breaks('T8 a terminated thread runs', `${id} ${name}`)
  if (isStep && watched.stopped.get(id) === input.run)
    world.breaks('a stopped run goes on', `${id} ${name} run ${input.run}`)
  if (isStep) watched.running.set(id, input.run)
  if (name === ACTIVITIES.settle && input.end != null) watched.running.delete(id)
  if (name === ACTIVITIES.callModel) drains(world, id, input as CallModelInput)
  if (text.length > INPUT_BYTES) sized(world, activity, input)
}

/** A thread that was closed by another hand finds out by its next activity. */
function isUnaware(world: World, id: string): boolean {
  return world.threads.get(id)?.terminateRequested === true
}

/** T2: what a step takes is in the store. */
function drains(world: World, id: string, { drain }: CallModelInput): void {
  const thread = world.threads.get(id)
  for (const item of drain) {
    if (item.kind !== 'message' || item.inline !== undefined || world.log.strangers.has(item.id)) continue
    if (thread?.messages.has(item.id) !== true)
      world.breaks('T2 a step takes a message without a row', `${id} ${item.id}`)
  }
}

/** T6: the input of a step does not grow with what was before. */
function sized(world: World, { name, run }: Activity, input: ActivityInput): void {
  const growing = {
    facts: [],
    unansweredFacts: [],
    drain: [],
    start: null,
    snapshot: null,
    reports: [],
    by: null,
    children: [],
    closed: [],
    givenUp: [],
  }
  const bytes = JSON.stringify({ ...input, ...growing, references: [], taken: [] }).length
  if (bytes > INPUT_BYTES)
    world.breaks('T6 the input of an activity grows', `${run.workflowId} ${name} ${bytes} bytes`)
}

/** T3: the order in which a thread took its messages; answers those that are new. */
function accepts(world: World, run: WorkflowRun, jobs: readonly Job[]): readonly string[] {
  const taken = world.log.accepted.get(run.workflowId) ?? []
  const fresh: string[] = []
  const takesOnce = (id: string): void => {
    if (taken.includes(id)) return
    taken.push(id)
    fresh.push(id)
  }
  if (run.number === 1 && run.history.length === 1) {
    const { message } = JSON.parse(run.start) as ThreadStart
    if (message !== undefined && 'messageId' in message) takesOnce(message.messageId)
  }
  for (const job of jobs) for (const id of messagesOf(job)) takesOnce(id)
  world.log.accepted.set(run.workflowId, taken)
  return fresh
}

interface Took {
  readonly run: WorkflowRun
  readonly fresh: readonly string[]
  readonly commands: readonly Command[]
}

/** A full queue refuses what comes: that is told with the next activity, for which a stopped thread may wait for ever. */
function refuses({ log }: World, { waiting }: Watched, { run, fresh, commands }: Took): void {
  if (run.instance === null) return
  const id = run.workflowId
  const before = waiting.get(id) ?? 0
  const { queue } = run.instance.query('snapshot') as ControlSnapshot
  waiting.set(id, queue.length)
  const drained = commands.flatMap((command) => (command.kind === 'activity' ? drainOf(command.input) : []))
  const held = [...queue.map((item) => item.id), ...drained]
  // Signals come first in a task: what leaves the queue later in it makes no room for them. What was let in has more places.
  if (Math.max(before, held.length) + fresh.length <= LIMITS.queuesAdmitted * LIMITS.queuedItems) return
  for (const message of fresh) if (!held.includes(message)) log.crowdedOut.add(`${id} ${message}`)
}

function drainOf(input: string): readonly string[] {
  const { drain = [] } = JSON.parse(input) as Partial<CallModelInput>
  return drain.map(({ id }) => id)
}

function messagesOf(job: Job): readonly string[] {
  if (job.kind === 'activity') {
    const { end } = job
    if (end.kind !== 'answered' || !end.answer.includes('queue_message')) return []
    const answer = JSON.parse(end.answer) as Partial<{ readonly ahead: readonly AheadPair[] }> | null
    return [answer, ...(answer?.ahead ?? []).map((pair) => pair.answer)].flatMap(queuedBy)
  }
  if (job.kind !== 'signal' || job.input === '') return []
  const input: unknown = JSON.parse(job.input)
  if (typeof input !== 'object' || input === null) return []
  if (job.name === SIGNALS.operations) return queuedBy(input)
  const id = job.name === SIGNALS.queueMessage && 'messageId' in input ? input.messageId : undefined
  return typeof id === 'string' && id !== '' ? [id] : []
}

function queuedBy(answer: unknown): readonly string[] {
  const { operations = [] } = (answer ?? {}) as { readonly operations?: readonly ThreadOperation[] }
  return operations.flatMap((operation) => (operation.kind === 'queue_message' ? [operation.id] : []))
}

function takes({ cancelled, stopped, running }: Watched, { workflowId }: WorkflowRun, job: Job): void {
  if (job.kind === 'cancel') cancelled.add(workflowId)
  if (job.kind !== 'signal' || job.name !== SIGNALS.stop || job.input !== '') return
  const run = running.get(workflowId)
  if (run !== undefined) stopped.set(workflowId, run)
}

function asks(world: World, run: WorkflowRun, command: Command): void {
  world.saw('command', command.kind)
  if (command.kind === 'continueAsNew') {
    const bytes = Buffer.byteLength(command.carried)
    if (bytes > LIMITS.carriedStateBytes)
      world.breaks('the carried state outgrows its budget', `${run.workflowId} ${bytes}`)
  }
  if (command.kind === 'child' && world.threads.get(command.workflowId)?.messages.size === 0)
    world.breaks('T2 a child is started without rows', command.workflowId)
  if (command.kind !== 'signal' || command.name !== SIGNALS.childReport) return
  const { messageId } = JSON.parse(command.input) as ChildReport
  if (messageId !== undefined && world.threads.get(command.workflowId)?.messages.has(messageId) !== true)
    world.breaks('T2 a report is announced without its row', `${command.workflowId} ${messageId}`)
}
