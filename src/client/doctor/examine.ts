import { TemporalUnavailableError } from '../../protocol/errors.js'
import { deepestOpen, openThreadIds } from '../../store/consistency.js'
import { StoreError } from '../../store/store-error.js'
import type { ClientContext } from '../client-context.js'
import { checkNamespace } from './check-namespace.js'
import { checkOtherStores } from './check-other-stores.js'
import { checkStore } from './check-store.js'
import { checkThread } from './check-thread.js'
import { left } from './finding.js'
import type { Doctor, Examine, Finding } from './finding.js'

/** Threads at a time: each is a call to Temporal, or a few. */
const AT_A_TIME = 10

/** Compares store and Temporal: all open threads, parents before children, then the store with itself. */
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

/** A child is reopened once its parent is. */
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
    for (const findings of await Promise.all(ids.map((id) => checked(doctor, id)))) yield* findings
    const last = ids.at(-1)
    if (last === undefined) return
    after = last
  }
}

/** One that cannot be looked at does not keep the others from it; a server that is away does. */
async function checked(doctor: Doctor, threadId: string): Promise<readonly Finding[]> {
  try {
    return await checkThread(doctor, threadId)
  } catch (error) {
    if (TemporalUnavailableError.isInstance(error) || StoreError.isInstance(error)) throw error
    const problem = `It could not be looked at: ${error instanceof Error ? error.message : String(error)}`
    return [left({ kind: 'unasked', threadId, problem }, 'Look again.')]
  }
}
