import type { Reader } from '../../store/store.js'
import type { ClientContext } from '../client-context.js'
import { lookAtWorkflow } from '../workflow-state.js'
import { left } from './finding.js'
import type { Finding } from './finding.js'
import { isFresh } from './fresh.js'

/** Threads at a time: usually the first of them is known. */
const AT_A_TIME = 10

/** Whether there is such a workflow does not matter. */
const NO_THREAD = 'everthread-doctor'

/**
 * Says that Temporal knows none of the open threads: it is another namespace, or has lost all. In a wrong one each repair
 * would cut a thread that runs, or start it a second time.
 */
export async function checkNamespace(context: ClientContext): Promise<Finding | null> {
  const store = await context.store()
  let [after, count] = ['', 0]
  for (;;) {
    const page = await store.read((db) => startedThreads(db, after))
    const states = await Promise.all(page.map(({ id }) => lookAtWorkflow(context, id)))
    if (states.some((found) => found.state === 'open' || found.status !== 'not_found')) return null
    count += page.filter((thread) => !isFresh(thread.created_at)).length
    const last = page.at(-1)
    if (last === undefined) break
    after = last.id
  }
  // A server or namespace that is not there is no agreement, however little there is to agree on: the error says so.
  if (after === '') await lookAtWorkflow(context, NO_THREAD)
  return count === 0 ? null : unknownThreads(context, count)
}

function startedThreads(
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
    .limit(AT_A_TIME)
    .execute()
}

function unknownThreads(context: ClientContext, count: number): Finding {
  const { namespace } = context.temporal().options
  const problem = `The namespace "${namespace}" knows none of the ${count} open threads that have run`
  return left(
    { kind: 'wrong_namespace', threadId: null, problem },
    'Nothing was repaired: check TEMPORAL_NAMESPACE and TEMPORAL_ADDRESS; if Temporal has lost them all, add --emptied.',
  )
}
