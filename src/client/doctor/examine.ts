import { TemporalUnavailableError } from '../../protocol/errors.js'
import { LIMITS } from '../../protocol/limits.js'
import { closeRequests } from '../../store/calls/requests.js'
import {
  deepestOpen,
  namedDigests,
  openThreadIds,
  requestsOfClosed,
  threadNaming,
  untoldChildren,
} from '../../store/consistency.js'
import { StoreError } from '../../store/store-error.js'
import type { Reader } from '../../store/store.js'
import { closeChild } from '../../store/threads/children.js'
import { closedTops, sweepBlobs } from '../../store/threads/retention.js'
import type { ClientContext } from '../client-context.js'
import { deleteThread } from '../retention/delete-thread.js'
import { describeWorkflow, readStoreMemo } from '../thread-workflow.js'
import { checkThread } from './check-thread.js'
import { adviseSeparation, isFresh, leaveFinding, repairFinding } from './finding.js'
import type { Doctor, Examine, Finding } from './finding.js'
import { nowMicros, toMicros } from '../../protocol/time.js'
import { THREAD_WORKFLOW } from '../../protocol/messages.js'
import { translate } from '../connection.js'

/** The number of threads at a time: each costs one or a few calls to Temporal. */
const AT_A_TIME = 10

/** Compares store and Temporal: all open threads, parents before children, then the rows of the store with each other. */
export async function* examine(
  context: ClientContext,
  { fix = false, reopen = false, emptied = false }: Examine = {},
): AsyncGenerator<Finding, void, undefined> {
  const doctor: Doctor = { context, fix, reopen }
  const wrong = emptied ? null : await checkNamespace(context)
  if (wrong !== null) yield wrong
  yield* await checkOtherStores(context)
  if (wrong === null) yield* checkOpenThreads(doctor)
  yield* checkStore(wrong === null ? doctor : { ...doctor, fix: false })
}

/** Checks level by level, because a child can be reopened only after its parent. */
async function* checkOpenThreads(doctor: Doctor): AsyncGenerator<Finding, void, undefined> {
  const store = await doctor.context.store()
  const deepest = await store.read(deepestOpen)
  for (let depth = 0; depth <= deepest; depth += 1) yield* checkLevel(doctor, depth)
}

async function* checkLevel(doctor: Doctor, depth: number): AsyncGenerator<Finding, void, undefined> {
  const store = await doctor.context.store()
  for (let after = ''; ;) {
    const page = { depth, after, limit: AT_A_TIME }
    const ids = await store.read((db) => openThreadIds(db, page))
    for (const findings of await Promise.all(ids.map((id) => checkWithoutThrowing(doctor, id))))
      yield* findings
    const last = ids.at(-1)
    if (last === undefined) return
    after = last
  }
}

/** A thread that cannot be checked does not stop the check of the others; a server that is away does. */
async function checkWithoutThrowing(doctor: Doctor, threadId: string): Promise<readonly Finding[]> {
  try {
    return await checkThread(doctor, threadId)
  } catch (error) {
    if (TemporalUnavailableError.isInstance(error) || StoreError.isInstance(error)) throw error
    const problem = `It could not be looked at: ${error instanceof Error ? error.message : String(error)}`
    return [leaveFinding({ kind: 'unasked', threadId, problem }, 'Look again.')]
  }
}

/** The number of threads at a time: usually Temporal has the first of them. */
const THREADS_AT_A_TIME = 10

/** A workflow id for a call that only has to reach the server: whether the workflow exists does not matter. */
const NO_THREAD = 'everthread-doctor'

/**
 * Finds out whether Temporal has none of the open threads: it is another namespace, or has lost all. In a wrong namespace each
 * repair would end a thread that runs, or start it a second time.
 */
async function checkNamespace(context: ClientContext): Promise<Finding | null> {
  const store = await context.store()
  let [after, count] = ['', 0]
  for (;;) {
    const page = await store.read((db) => listStartedThreads(db, after))
    const states = await Promise.all(page.map(({ id }) => describeWorkflow(context, id)))
    if (states.some((found) => found.state === 'open' || found.status !== 'not_found')) return null
    count += page.filter((thread) => !isFresh(thread.created_at)).length
    const last = page.at(-1)
    if (last === undefined) break
    after = last.id
  }
  // Without any thread nothing was compared yet: this call fails if the server or the namespace is missing.
  if (after === '') await describeWorkflow(context, NO_THREAD)
  return count === 0 ? null : reportUnknownThreads(context, count)
}

function listStartedThreads(
  db: Reader,
  after: string,
): Promise<readonly { readonly id: string; readonly created_at: number }[]> {
  return db
    .selectFrom('threads')
    .select(['id', 'created_at'])
    .where('closed_at', 'is', null)
    .where('id', '>', after)
    .where((where) =>
      where.exists(
        where.selectFrom('runs').select('runs.number').whereRef('runs.thread_id', '=', 'threads.id'),
      ),
    )
    .orderBy('id')
    .limit(THREADS_AT_A_TIME)
    .execute()
}

function reportUnknownThreads(context: ClientContext, count: number): Finding {
  const { namespace } = context.temporal().options
  const problem = `The namespace "${namespace}" has none of the ${count} open threads that have run`
  return leaveFinding(
    { kind: 'wrong_namespace', threadId: null, problem },
    'Nothing was repaired: check TEMPORAL_NAMESPACE and TEMPORAL_ADDRESS; if Temporal has lost them all, add --emptied.',
  )
}

/** Compares the rows and bytes of the store with each other, without Temporal. */
export async function* checkStore(doctor: Doctor): AsyncGenerator<Finding, void, undefined> {
  yield* checkRequests(doctor)
  yield* checkChildren(doctor)
  yield* checkDeletions(doctor)
  yield* checkBlobs(doctor)
}

async function* checkRequests(doctor: Doctor): AsyncGenerator<Finding, void, undefined> {
  const store = await doctor.context.store()
  for (const { threadId, id } of await store.read((db) => requestsOfClosed(db, LIMITS.deletedAtOnce))) {
    const found = {
      kind: 'open_request',
      threadId,
      problem: `Its request "${id}" is open, and it is closed`,
    } as const
    const work = () => store.write((tx) => closeRequests(tx, { threadId, ids: [id] }))
    yield await repairFinding(doctor, found, { work, done: 'The request is closed.' })
  }
}

/** Repairs the registry only: a parent checks its children within the hour, and answers the calls of a closed one itself. */
async function* checkChildren(doctor: Doctor): AsyncGenerator<Finding, void, undefined> {
  const store = await doctor.context.store()
  const closedBefore = nowMicros() - toMicros(LIMITS.childCheckLast)
  const untold = await store.read((db) => untoldChildren(db, { closedBefore, limit: LIMITS.deletedAtOnce }))
  for (const { threadId, reference, status } of untold) {
    const problem = `Its child "${reference}" is closed, and its registry has it open`
    const closing = { parentThreadId: threadId, reference, status, now: nowMicros() }
    const work = () => store.write((tx) => closeChild(tx, closing))
    yield await repairFinding(
      doctor,
      { kind: 'untold_child', threadId, problem },
      { work, done: 'The registry has it closed.' },
    )
  }
}

async function* checkDeletions(doctor: Doctor): AsyncGenerator<Finding, void, undefined> {
  const store = await doctor.context.store()
  const begun = await store.read((db) =>
    closedTops(db, { before: 1, after: null, limit: LIMITS.deletedAtOnce }),
  )
  for (const { id: threadId } of begun) {
    const found = {
      kind: 'half_deleted',
      threadId,
      problem: 'Its deletion was begun, and did not end',
    } as const
    const work = () => deleteThread(doctor.context, threadId)
    yield await repairFinding(doctor, found, { work, done: 'It is deleted.' })
  }
}

async function* checkBlobs(doctor: Doctor): AsyncGenerator<Finding, void, undefined> {
  const store = await doctor.context.store()
  const there = new Set<string>()
  for await (const { digest } of store.blobs.list()) there.add(digest)
  for (let after = ''; ;) {
    const page = { after, limit: LIMITS.deletedAtOnce }
    const digests = await store.read((db) => namedDigests(db, page))
    for (const digest of digests) {
      // A blob that is missing in the list may have been written since.
      if (there.has(digest) || (await store.blobs.stream(digest)) !== null) continue
      yield reportMissingBlob(digest, await store.read((db) => threadNaming(db, digest)))
    }
    const last = digests.at(-1)
    if (last === undefined) break
    after = last
  }
  const before = Date.now() - LIMITS.blobGrace
  const unused = await sweepBlobs(store, { before, dryRun: true })
  if (unused === 0) return
  const found = {
    kind: 'unused_blobs',
    threadId: null,
    problem: `${unused} contents of files are named by none`,
  } as const
  const work = () => sweepBlobs(store, { before, dryRun: false })
  yield await repairFinding(doctor, found, { work, done: 'They are deleted.' })
}

function reportMissingBlob(digest: string, threadId: string | null): Finding {
  const problem = `The bytes ${digest} that its files name are missing`
  return leaveFinding(
    { kind: 'missing_blob', threadId, problem },
    'Restore them from a backup, under that digest.',
  )
}

/** The number of open threads on the task queue that are checked: enough to notice a mix-up, and one call. */
const LOOKED_AT = 1_000

/** Finds open threads of other stores on the task queue of this store: the workers of each get the work of the other. */
async function checkOtherStores(context: ClientContext): Promise<readonly Finding[]> {
  const { id } = await context.store()
  const taskQueue = await context.taskQueue()
  const counts = new Map<string, number>()
  for (const store of await listStoresOnQueue(context, taskQueue))
    if (store !== null && store !== id) counts.set(store, (counts.get(store) ?? 0) + 1)
  return [...counts].map(([store, count]) => {
    const problem = `${count} open threads on the task queue "${taskQueue}" belong to the store ${store}, and this store is ${id}`
    return leaveFinding({ kind: 'other_store', threadId: null, problem }, adviseSeparation(id))
  })
}

/** Lists the stores in the memos of open threads. It decodes nothing: a memo that a codec hides counts as null. */
async function listStoresOnQueue(
  context: ClientContext,
  taskQueue: string,
): Promise<readonly (string | null)[]> {
  const client = context.temporal()
  const { namespace } = client.options
  const query = `WorkflowType = '${THREAD_WORKFLOW}' AND ExecutionStatus = 'Running' AND TaskQueue = '${quote(taskQueue)}'`
  try {
    const { executions } = await context.call(LIMITS.temporalCall, () =>
      client.workflowService.listWorkflowExecutions({ namespace, query, pageSize: LOOKED_AT }),
    )
    return (executions ?? []).map(({ memo }) => readStoreMemo(memo?.fields))
  } catch (error) {
    // The error belongs to no thread.
    throw translate(error, { client, threadId: '' })
  }
}

function quote(text: string): string {
  return text.replaceAll("'", "''")
}
