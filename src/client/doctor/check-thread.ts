import { LIMITS } from '../../protocol/limits.js'
import { SIGNALS } from '../../protocol/messages.js'
import type { ChildReport, Operations } from '../../protocol/messages.js'
import type { ControlSnapshot } from '../../protocol/status.js'
import { waitingItems } from '../../store/calls/request-lists.js'
import type { WaitingItem } from '../../store/calls/request-lists.js'
import type { PendingRecord } from '../../store/calls/requests.js'
import { numberProblem, listUnusedAnswers } from '../../store/consistency.js'
import { countUndelivered } from '../../store/messages/message-writes.js'
import { readReports } from '../../store/reopen/reopened-children.js'
import type { Reader } from '../../store/store.js'
import { isOpen } from '../../store/threads/open-threads.js'
import { findChild } from '../../store/threads/children.js'
import { findEffectSenders, listScheduledEffects } from '../../store/threads/effects.js'
import type { EffectRecord } from '../../store/threads/effects.js'
import { lastRun } from '../../store/threads/runs.js'
import { findThread } from '../../store/threads/threads.js'
import type { ThreadRecord } from '../../store/threads/threads.js'
import { announceAnswer } from '../answers/respond.js'
import { querySnapshot } from '../read-snapshot.js'
import { parkedTimeOf, reopenThread, signalOf, signalWaitingItems } from '../reopen-thread.js'
import { terminateThread } from '../terminate-thread.js'
import { describeWorkflow, signalThread } from '../thread-workflow.js'
import type { ThreadSignal, WorkflowState } from '../thread-workflow.js'
import { adviseSeparation, isFresh, leaveFinding, repairFinding } from './finding.js'
import type { Doctor, Finding } from './finding.js'
import { toMicros, toMillisAfter, nowMicros } from '../../protocol/time.js'

/** From this attempt on a workflow task counts as failing: a worker that dies causes only one or two attempts. */
const FAILING_ATTEMPTS = 5

/** Compares an open thread with its workflow, and checks its numbers. */
export async function checkThread(doctor: Doctor, threadId: string): Promise<readonly Finding[]> {
  const { context } = doctor
  const store = await context.store()
  const problem = await store.read((db) => numberProblem(db, threadId))
  const workflow = await describeWorkflow(context, threadId)
  // It may have closed, or changed, since its page was read.
  const thread = await store.read((db) => findThread(db, threadId))
  if (thread === null || thread.closed_at !== null) return []
  const numbers = problem === null ? [] : [reportBrokenNumbers(thread, problem)]
  const foreign = workflow.state === 'open' ? checkOwner(store.id, thread, workflow) : null
  if (foreign !== null) return [...numbers, foreign]
  if (workflow.state === 'closed') return [...numbers, ...(await checkClosed(doctor, thread, workflow))]
  if (workflow.attempts >= FAILING_ATTEMPTS) return [...numbers, reportFailingTask(thread, workflow.attempts)]
  const ending = await checkEnding(doctor, thread)
  if (ending !== null) return [...numbers, ending]
  const refusal = checkRefusal(store.id, thread, workflow)
  const findings = refusal === null ? [...numbers] : [...numbers, refusal]
  for (const check of [checkQueue, checkAnswers, checkEffects])
    findings.push(...(await check(doctor, thread)))
  return findings
}

function reportBrokenNumbers({ id: threadId }: ThreadRecord, problem: string): Finding {
  const found = { kind: 'numbers', threadId, problem: `Of its rows ${problem}` } as const
  return leaveFinding(found, 'Compare with a backup: rows were lost or written by something else.')
}

function reportFailingTask({ id: threadId }: ThreadRecord, attempts: number): Finding {
  const problem = `Its workflow task is at attempt ${attempts}: workers fail it again and again`
  return leaveFinding(
    { kind: 'task_failing', threadId, problem },
    'See the task in the Temporal UI: a codec without its key, or a worker that is older than the thread.',
  )
}

type ClosedState = Extract<WorkflowState, { readonly state: 'closed' }>

/** The statuses of workflows that ended by a decision of the thread; any other closed workflow was ended from outside. */
const DECIDED: ReadonlySet<string> = new Set(['completed', 'canceled'])

async function checkClosed(
  doctor: Doctor,
  thread: ThreadRecord,
  { status }: ClosedState,
): Promise<readonly Finding[]> {
  const { id: threadId } = thread
  const end = () =>
    terminateThread(doctor.context, { threadId, reason: thread.terminate_reason ?? 'closed in Temporal' })
  if (!isOpen(thread) || DECIDED.has(status)) {
    const found = {
      kind: 'unclosed',
      threadId,
      problem: `Its workflow is ${status}, and its row is open`,
    } as const
    return [await repairFinding(doctor, found, { work: end, done: 'Its row is closed.' })]
  }
  const store = await doctor.context.store()
  const hasRun = (await store.read((db) => lastRun(db, threadId))) !== null
  const parent = await readParentState(doctor, thread)
  if (parent === 'closed') return [await repairOrphan(doctor, thread)]
  if (!hasRun) return checkUnstarted(doctor, thread)
  const found = {
    kind: 'lost',
    threadId,
    problem: `Its workflow is ${status} in Temporal, and its row is open`,
  } as const
  const advice = 'Reopen it (--fix --reopen), or terminate it.'
  const work = () => reopenThread(doctor.context, threadId)
  return [
    await repairFinding(doctor, found, {
      work,
      done: 'It is reopened.',
      advice,
      allowed: doctor.fix && doctor.reopen,
    }),
  ]
}

/** Checks a thread that was never started. Messages that wait start a root; only the parent starts a child. */
async function checkUnstarted(doctor: Doctor, thread: ThreadRecord): Promise<readonly Finding[]> {
  const { id: threadId, created_at: createdAt } = thread
  const store = await doctor.context.store()
  const waiting = await store.read((db) => countUndelivered(db, threadId))
  if (waiting === 0 || thread.parent_thread_id !== null || isFresh(createdAt)) return []
  const problem = `It was never started, and ${waiting} messages wait for it`
  const work = () => signalWaitingItems(doctor.context, thread)
  return [
    await repairFinding(
      doctor,
      { kind: 'unsignalled', threadId, problem },
      { work, done: 'It is started, and they are signalled.' },
    ),
  ]
}

/** Checks whether a thread runs although it should have ended. */
async function checkEnding(doctor: Doctor, thread: ThreadRecord): Promise<Finding | null> {
  const { id: threadId, terminate_requested_at: at, terminate_reason: reason } = thread
  if (at !== null) {
    if (isFresh(at)) return null
    const found = {
      kind: 'unclosed',
      threadId,
      problem: 'Its termination was requested, and it still runs',
    } as const
    const work = () => terminateThread(doctor.context, { threadId, reason: reason ?? undefined })
    return repairFinding(doctor, found, {
      work,
      done: 'Its workflow is cancelled once more: a worker closes it.',
    })
  }
  return (await readParentState(doctor, thread)) === 'closed' ? repairOrphan(doctor, thread) : null
}

/** Reads whether the parent is closed: an open parent looks after its children, and a lost parent is a finding of its own. */
async function readParentState(
  doctor: Doctor,
  { parent_thread_id: parentId, id }: ThreadRecord,
): Promise<'closed' | 'open'> {
  if (parentId === null) return 'open'
  const store = await doctor.context.store()
  return store.read(async (db) => {
    const parent = await findThread(db, parentId)
    if (parent !== null) return parent.closed_at === null || isFresh(parent.closed_at) ? 'open' : 'closed'
    // A thread that was started by hand may name a parent that is no thread of this store.
    return (await findChild(db, parentId, id)) === null ? 'open' : 'closed'
  })
}

function repairOrphan(
  doctor: Doctor,
  { id: threadId, parent_thread_id: parentId }: ThreadRecord,
): Promise<Finding> {
  const found = {
    kind: 'orphan',
    threadId,
    problem: `It is open, and its parent "${parentId}" is closed`,
  } as const
  const work = () => terminateThread(doctor.context, { threadId, reason: 'The parent thread was closed.' })
  return repairFinding(doctor, found, { work, done: 'It is terminated.' })
}

/**
 * Finds answers in rows that the workflow still waits for: the caller died before it announced the answer, and did not
 * repeat it.
 */
async function checkAnswers(doctor: Doctor, thread: ThreadRecord): Promise<readonly Finding[]> {
  // T8: a thread whose termination was requested takes no answer.
  if (!isOpen(thread)) return []
  const { context } = doctor
  const { id: threadId } = thread
  const store = await context.store()
  const before = nowMicros() - toMicros(LIMITS.underWay)
  const untaken = await store.read((db) => listUnusedAnswers(db, { threadId, before }))
  if (untaken.length === 0) return []
  const unasked = `${untaken.length} answers were given, and no worker answers whether they were received`
  const asked = await askWorkflow(doctor, { threadId, unasked })
  if (asked.snapshot === null) return asked.findings
  // A workflow that has received an answer does not wait for it any more, although its activity may not have begun.
  const waitedFor = new Set(asked.snapshot.pending.map(({ id }) => id))
  const findings: Finding[] = []
  for (const request of untaken)
    if (waitedFor.has(request.id)) findings.push(await repairAnswer(doctor, request))
  return findings
}

function repairAnswer(doctor: Doctor, request: PendingRecord): Promise<Finding> {
  const { thread_id: threadId, id } = request
  const problem = `Its request "${id}" was answered, and its workflow waits for the answer`
  const work = () => announceAnswer(doctor.context, request)
  return repairFinding(
    doctor,
    { kind: 'untold_answer', threadId, problem },
    { work, done: 'The answer is announced.' },
  )
}

/**
 * Finds effects in the store that the workflow does not have: a child or parent that scheduled them was ended in Temporal before
 * it sent the signal. An effect whose sender may still signal it is left alone: signalled by both, it might run twice (T9).
 */
async function checkEffects(doctor: Doctor, thread: ThreadRecord): Promise<readonly Finding[]> {
  // T8: a thread whose termination was requested performs no effects any more.
  if (!isOpen(thread)) return []
  const { context } = doctor
  const { id: threadId } = thread
  const store = await context.store()
  const old = (await store.read((db) => listScheduledEffects(db, threadId))).filter(
    ({ created_at: at }) => !isFresh(at),
  )
  if (old.length === 0) return []
  const unknown = await findUnknownEffects(doctor, threadId, old)
  if ('findings' in unknown) return unknown.findings
  const orphaned: EffectRecord[] = []
  for (const effect of unknown.effects) if (!(await isSenderAtWork(doctor, effect))) orphaned.push(effect)
  if (orphaned.length === 0) return []
  // Queried again, because a sender may have sent its last signal before its own state was read.
  const lost = await findUnknownEffects(doctor, threadId, orphaned)
  if ('findings' in lost) return lost.findings
  return lost.effects.length === 0 ? [] : [await repairEffects(doctor, threadId, lost)]
}

interface Unknown {
  readonly effects: readonly EffectRecord[]
  /** How many more effects its workflow takes. */
  readonly room: number
}

/** Finds the `candidates` that are scheduled and that the workflow does not have. */
async function findUnknownEffects(
  doctor: Doctor,
  threadId: string,
  candidates: readonly EffectRecord[],
): Promise<Unknown | { readonly findings: readonly Finding[] }> {
  const unasked = `${candidates.length} effects are scheduled, and no worker answers whether they were received`
  const asked = await askWorkflow(doctor, { threadId, unasked })
  if (asked.snapshot === null) return asked
  const { effects, queue } = asked.snapshot
  const known = new Set([...effects, ...queue.filter(({ kind }) => kind === 'effect')].map(({ id }) => id))
  const store = await doctor.context.store()
  // An effect that has run since is in neither list.
  const scheduled = new Set(
    (await store.read((db) => listScheduledEffects(db, threadId))).map(({ id }) => id),
  )
  return {
    effects: candidates.filter(({ id }) => scheduled.has(id) && !known.has(id)),
    room: LIMITS.effects - effects.length,
  }
}

/** The statuses of a thread that has sent all its outbound signals. */
const RESTING: ReadonlySet<string> = new Set(['idle', 'stopped', 'blocked'])

/** Whether a thread that scheduled the effect is at work, and may still send its signal. */
async function isSenderAtWork(
  { context }: Doctor,
  { thread_id: threadId, id }: EffectRecord,
): Promise<boolean> {
  const store = await context.store()
  for (const sender of await store.read((db) => findEffectSenders(db, threadId, id))) {
    const answer = await querySnapshot(context, sender)
    if (answer.kind === 'gone') continue
    if (answer.kind === 'silent' || !RESTING.has(answer.snapshot.status)) return true
  }
  return false
}

async function repairEffects(doctor: Doctor, threadId: string, { effects, room }: Unknown): Promise<Finding> {
  const problem = `${effects.length} effects are scheduled, and its workflow has not received them`
  const found = { kind: 'unsignalled', threadId, problem } as const
  if (effects.length > room)
    return leaveFinding(found, `It has room for ${room} more: wait until others have run, or remove some.`)
  const work = async (): Promise<void> => {
    for (const effect of effects)
      await signalThread(doctor.context, threadId, { name: SIGNALS.operations, input: toSchedule(effect) })
  }
  return repairFinding(doctor, found, { work, done: 'They are signalled.' })
}

function toSchedule({ id, due_at: dueAt }: EffectRecord): Operations {
  return { operations: [{ kind: 'schedule_effect', id, dueAt: toMillisAfter(dueAt) }] }
}

/** Compares the items that wait in the store with the queue of the workflow. */
async function checkQueue(doctor: Doctor, thread: ThreadRecord): Promise<readonly Finding[]> {
  const { context } = doctor
  const { id: threadId } = thread
  const store = await context.store()
  const old = await store.read((db) => listOldItems(db, thread))
  if (old.length === 0) return []
  const unasked = `${old.length} items wait for it, and no worker answers which it has received`
  const asked = await askWorkflow(doctor, { threadId, unasked })
  if (asked.snapshot === null) return asked.findings
  const { queue, children, run } = asked.snapshot
  const known = new Set(queue.map(({ id }) => id))
  const owed = children.flatMap((child) => (child.owed ? [child.reference] : []))
  // An item that was delivered since is in neither list.
  const waiting = await store.read((db) => listOldItems(db, thread))
  // A run may hold a tool behind its current call, where no queue shows it.
  const unknown = waiting.filter((item) => !known.has(keyOf(item)) && (run === null || item.kind !== 'tool'))
  if (unknown.length === 0) return []
  const problem = `${unknown.length} items were accepted, and its workflow has not received them`
  const work = async (): Promise<void> => {
    for (const item of unknown)
      await signalThread(context, threadId, await chooseSignal(doctor, { thread, item, owed }))
  }
  return [
    await repairFinding(
      doctor,
      { kind: 'unsignalled', threadId, problem },
      { work, done: 'They are signalled.' },
    ),
  ]
}

async function listOldItems(db: Reader, thread: ThreadRecord): Promise<readonly WaitingItem[]> {
  return (await waitingItems(db, thread)).filter(({ createdAt }) => !isFresh(createdAt))
}

/** The id of an item in the workflow: for a queued tool it is the id of its call. */
function keyOf(item: WaitingItem): string {
  return item.kind === 'tool' ? item.tool.toolCallId : item.id
}

interface Unsignalled {
  readonly thread: ThreadRecord
  readonly item: WaitingItem
  /** Children that have not answered a call. */
  readonly owed: readonly string[]
}

/**
 * Chooses the signal of an item: the report of a child that owes one is signalled as the child would, because a call
 * may wait for it (T7).
 */
async function chooseSignal({ context }: Doctor, { thread, item, owed }: Unsignalled): Promise<ThreadSignal> {
  const signal = signalOf(item, parkedTimeOf(thread))
  if (item.kind === 'tool' || item.message.from !== 'child' || owed.length === 0) return signal
  const store = await context.store()
  const report = await store.read((db) => findReport(db, thread.id, item.id))
  return report !== null && owed.includes(report.reference)
    ? { name: SIGNALS.childReport, input: report }
    : signal
}

async function findReport(db: Reader, threadId: string, messageId: string): Promise<ChildReport | null> {
  const row = await db
    .selectFrom('messages')
    .select('subagent_id')
    .where('thread_id', '=', threadId)
    .where('id', '=', messageId)
    .executeTakeFirst()
  const reference = row?.subagent_id ?? null
  if (reference === null || (await findChild(db, threadId, reference)) === null) return null
  const { last } = await readReports(db, reference)
  return last?.messageId === messageId ? { reference, ...last } : null
}

/** The state of a thread's workflow, or the findings if it does not answer. */
type Asked =
  | { readonly snapshot: ControlSnapshot }
  | { readonly snapshot: null; readonly findings: readonly Finding[] }

/**
 * Queries the workflow. `unasked` is the problem of the finding when no worker answers; a workflow that has closed
 * since is left to the next run.
 */
async function askWorkflow(
  { context }: Doctor,
  { threadId, unasked: problem }: { readonly threadId: string; readonly unasked: string },
): Promise<Asked> {
  const answer = await querySnapshot(context, threadId)
  if (answer.kind === 'answered') return { snapshot: answer.snapshot }
  if (answer.kind === 'gone') return { snapshot: null, findings: [] }
  const silent = leaveFinding({ kind: 'unasked', threadId, problem }, 'Start a worker, then look again.')
  return { snapshot: null, findings: [silent] }
}

/** Finds a thread of this database that the workers of another store execute: a repair from here would disturb them. */
function checkOwner(
  storeId: string,
  { id: threadId }: ThreadRecord,
  workflow: Extract<WorkflowState, { readonly state: 'open' }>,
): Finding | null {
  const { store } = workflow
  if (store === null || store === storeId) return null
  const problem = `Its workflow belongs to the store ${store}, and this store is ${storeId}`
  return leaveFinding(
    { kind: 'other_store', threadId, problem },
    'The workers of that store go on with it. If there is no such store any more, terminate the workflow in Temporal, ' +
      'then reopen the thread.',
  )
}

/**
 * Finds a worker of another store that polls the task queue of the thread. A worker of this store takes the refused
 * work, if there is one.
 */
function checkRefusal(
  storeId: string,
  { id: threadId }: ThreadRecord,
  { refusedBy, run }: Extract<WorkflowState, { readonly state: 'open' }>,
): Finding | null {
  if (refusedBy === null) return null
  const problem = `The worker ${refusedBy} has another store than ${storeId}, polls the task queue "${run.taskQueue}" and has refused its work`
  return leaveFinding(
    { kind: 'other_store', threadId, problem },
    `Start a worker of this store. ${adviseSeparation(storeId)}`,
  )
}
