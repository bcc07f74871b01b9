import { LIMITS } from '../../protocol/limits.js'
import { numberProblem } from '../../store/consistency.js'
import { countUndelivered } from '../../store/messages/message-writes.js'
import { findChild } from '../../store/threads/children.js'
import { lastRun } from '../../store/threads/runs.js'
import { findThread } from '../../store/threads/threads.js'
import type { ThreadRecord } from '../../store/threads/threads.js'
import { isOpen } from '../open-thread.js'
import { reopenThread, tellWaiting } from '../reopen-thread.js'
import { terminateThread } from '../terminate-thread.js'
import { lookAtWorkflow } from '../workflow-state.js'
import type { WorkflowState } from '../workflow-state.js'
import { checkAnswers } from './check-answers.js'
import { checkEffects } from './check-effects.js'
import { checkOwner, checkRefusal } from './check-other-stores.js'
import { checkQueue } from './check-queue.js'
import { left, repaired } from './finding.js'
import type { Doctor, Finding } from './finding.js'
import { isFresh } from './fresh.js'

/** An open thread against its workflow, and its own numbers. */
export async function checkThread(doctor: Doctor, threadId: string): Promise<readonly Finding[]> {
  const { context } = doctor
  const store = await context.store()
  const problem = await store.read((db) => numberProblem(db, threadId))
  const workflow = await lookAtWorkflow(context, threadId)
  // It may have closed, or changed, since its page was read.
  const thread = await store.read((db) => findThread(db, threadId))
  if (thread === null || thread.closed_at !== null) return []
  const numbers = problem === null ? [] : [brokenNumbers(thread, problem)]
  const foreign = workflow.state === 'open' ? checkOwner(store.id, thread, workflow) : null
  if (foreign !== null) return [...numbers, foreign]
  if (workflow.state === 'closed') return [...numbers, ...(await checkClosed(doctor, thread, workflow))]
  if (workflow.attempts >= LIMITS.failingAttempts) return [...numbers, failing(thread, workflow.attempts)]
  const ending = await checkEnding(doctor, thread)
  if (ending !== null) return [...numbers, ending]
  const refusal = checkRefusal(store.id, thread, workflow)
  const findings = refusal === null ? [...numbers] : [...numbers, refusal]
  for (const check of [checkQueue, checkAnswers, checkEffects])
    findings.push(...(await check(doctor, thread)))
  return findings
}

function brokenNumbers({ id: threadId }: ThreadRecord, problem: string): Finding {
  const found = { kind: 'numbers', threadId, problem: `Of its rows ${problem}` } as const
  return left(found, 'Compare with a backup: rows were lost or written by something else.')
}

function failing({ id: threadId }: ThreadRecord, attempts: number): Finding {
  const problem = `Its workflow task is at attempt ${attempts}: workers fail it again and again`
  return left(
    { kind: 'task_failing', threadId, problem },
    'See the task in the Temporal UI: a codec without its key, or a worker that is older than the thread.',
  )
}

type ClosedState = Extract<WorkflowState, { readonly state: 'closed' }>

/** Softly closed workflows have had their end decided; all others were cut off. */
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
    return [await repaired(doctor, found, { work: end, done: 'Its row is closed.' })]
  }
  const store = await doctor.context.store()
  const hasRun = (await store.read((db) => lastRun(db, threadId))) !== null
  const parent = await parentState(doctor, thread)
  if (parent === 'closed') return [await orphan(doctor, thread)]
  if (!hasRun) return checkUnstarted(doctor, thread)
  const found = {
    kind: 'lost',
    threadId,
    problem: `Its workflow is ${status} in Temporal, and its row is open`,
  } as const
  const advice = 'Reopen it (--fix --reopen), or terminate it.'
  const work = () => reopenThread(doctor.context, threadId)
  return [
    await repaired(doctor, found, {
      work,
      done: 'It is reopened.',
      advice,
      allowed: doctor.fix && doctor.reopen,
    }),
  ]
}

/** The next message starts a root; one that waits for it already is told of. A child is started by its parent alone. */
async function checkUnstarted(doctor: Doctor, thread: ThreadRecord): Promise<readonly Finding[]> {
  const { id: threadId, created_at: createdAt } = thread
  const store = await doctor.context.store()
  const waiting = await store.read((db) => countUndelivered(db, threadId))
  if (waiting === 0 || thread.parent_thread_id !== null || isFresh(createdAt)) return []
  const problem = `It was never started, and ${waiting} messages wait for it`
  const work = () => tellWaiting(doctor.context, thread)
  return [
    await repaired(
      doctor,
      { kind: 'unsignalled', threadId, problem },
      { work, done: 'It is started, and told of them.' },
    ),
  ]
}

/** A thread that runs although it should not. */
async function checkEnding(doctor: Doctor, thread: ThreadRecord): Promise<Finding | null> {
  const { id: threadId, terminate_requested_at: at, terminate_reason: reason } = thread
  if (at !== null) {
    if (isFresh(at)) return null
    const found = {
      kind: 'unclosed',
      threadId,
      problem: 'Its termination was asked for, and it runs',
    } as const
    const work = () => terminateThread(doctor.context, { threadId, reason: reason ?? undefined })
    return repaired(doctor, found, { work, done: 'Its workflow is told once more: a worker closes it.' })
  }
  return (await parentState(doctor, thread)) === 'closed' ? orphan(doctor, thread) : null
}

/** A child waits for variables, or is looked after, while its parent is open; of a lost one the parent is a finding itself. */
async function parentState(
  doctor: Doctor,
  { parent_thread_id: parentId, id }: ThreadRecord,
): Promise<'closed' | 'open'> {
  if (parentId === null) return 'open'
  const store = await doctor.context.store()
  return store.read(async (db) => {
    const parent = await findThread(db, parentId)
    if (parent !== null) return parent.closed_at === null || isFresh(parent.closed_at) ? 'open' : 'closed'
    // One that was started by hand may name a parent that is no thread of this store.
    return (await findChild(db, parentId, id)) === null ? 'open' : 'closed'
  })
}

function orphan(
  doctor: Doctor,
  { id: threadId, parent_thread_id: parentId }: ThreadRecord,
): Promise<Finding> {
  const found = {
    kind: 'orphan',
    threadId,
    problem: `It is open, and its parent "${parentId}" is closed`,
  } as const
  const work = () => terminateThread(doctor.context, { threadId, reason: 'The parent thread was closed.' })
  return repaired(doctor, found, { work, done: 'It is terminated.' })
}
