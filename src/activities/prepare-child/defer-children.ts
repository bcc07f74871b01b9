import { randomUUID } from 'node:crypto'

import type { ResultAnswer } from '../../protocol/activities.js'
import { LIMITS } from '../../protocol/limits.js'
import type { ThreadOperation } from '../../protocol/operations.js'
import { appendEvents } from '../../store/events.js'
import { insertRequest } from '../../store/pending.js'
import type { Store, Writer } from '../../store/store.js'
import { findThread } from '../../store/threads.js'
import type { HeldCall } from '../execute-tool/begin-call.js'
import { failed } from '../execute-tool/call-result.js'
import type { CallResult } from '../execute-tool/call-result.js'
import { commitResult } from '../execute-tool/commit-result.js'
import type { HookBatch } from '../hooks/hook-batch.js'
import { InstanceCapReached, instanceCapProblem } from './instance-cap.js'
import type { NewChild, NewChildren, PlannedChildren } from './new-child.js'
import { writeChild } from './write-child.js'

interface Deferring {
  readonly plan: PlannedChildren
  readonly made: NewChildren
  readonly hooks: HookBatch
}

interface Deferred extends NewChild {
  /** Whoever knows it may supply the values: it cannot be guessed. */
  readonly requestId: string
}

/**
 * Children that lack variables: all of them is written, and each asks for what it lacks. The call gets an error that says
 * where the values are taken; each child starts once it has its own, and reports as one that nobody waits for.
 */
export async function deferChildren(
  store: Store,
  call: HeldCall,
  { plan, made: { children, commitParent }, hooks }: Deferring,
): Promise<ResultAnswer> {
  const deferred = children.map((child): Deferred => ({ ...child, requestId: randomUUID() }))
  const operations: ThreadOperation[] = []
  return commitResult(store, call, deferredResult(call, plan, deferred), {
    hooks,
    operations,
    opening: async (tx) => {
      // Of an attempt of the commit that failed.
      operations.length = 0
      operations.push(
        ...(await writeDeferred(tx, store, { call, plan, deferred })),
        ...(await commitParent(tx)),
      )
      return []
    },
  })
}

async function writeDeferred(
  tx: Writer,
  store: Store,
  {
    call,
    plan,
    deferred,
  }: { readonly call: HeldCall; readonly plan: PlannedChildren; readonly deferred: readonly Deferred[] },
): Promise<readonly ThreadOperation[]> {
  const { threadId, now: at } = call.input
  const parent = await findThread(tx, threadId)
  if (parent === null) throw new Error(`Expected a row of the thread ${threadId}, found none.`)
  const cap = await instanceCapProblem(tx, threadId, plan.subject.binding)
  if (cap !== null) throw new InstanceCapReached(cap)
  const operations: ThreadOperation[] = []
  for (const child of deferred) {
    // Each is answered on its own, so none of them is one of a group.
    await writeChild(tx, store.secrets, { call, parent, plan, child, group: false, status: 'deferred' })
    await ask(tx, call, { plan, child })
    const { requestId, prepared } = child
    const expiresAt = at + LIMITS.deferredChild
    operations.push({ kind: 'defer_child', requestId, child: prepared, expiresAt })
  }
  return operations
}

async function ask(
  tx: Writer,
  { input: { threadId }, scope, now }: HeldCall,
  { plan, child }: { readonly plan: PlannedChildren; readonly child: Deferred },
): Promise<void> {
  const { requestId: id, prepared } = child
  const { agent, reference } = prepared
  const { required, missing } = plan.variables
  const detail = { agent, required, missing, child: reference }
  await insertRequest(tx, { thread_id: threadId, id, kind: 'variables', detail, requested_at: now })
  const event = {
    type: 'action.required',
    scope: { ...scope, childId: reference },
    payload: { requestId: id, kind: 'variables', toolName: null, missing },
  }
  await appendEvents(tx, { threadId, events: [event], now })
}

const CODE = 'subagent_env_required'

/** JSON, for whoever supplies the values may read it. */
function deferredResult(
  { input: { threadId } }: HeldCall,
  { subject, variables: { required, missing } }: PlannedChildren,
  deferred: readonly Deferred[],
): CallResult {
  const requests = deferred.map(({ requestId }) => ({
    request_id: requestId,
    endpoint: `/threads/${threadId}/variables/${requestId}`,
  }))
  const [only, ...others] = requests
  const where = others.length === 0 ? only : { requests }
  const about = { required, missing, agent: subject.agent.name }
  const [child] = deferred
  const subagentId = others.length === 0 ? (child?.prepared.reference ?? null) : null
  const content = JSON.stringify({ code: CODE, ...where, ...about })
  return { ...failed('', CODE, { subagentId }), content }
}
