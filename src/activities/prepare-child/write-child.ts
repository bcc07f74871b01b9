import type { PrepareChildAnswer } from '../../protocol/activities.js'
import { insertChild } from '../../store/children.js'
import { appendEvents } from '../../store/events.js'
import { amendAnswer, finishOperation } from '../../store/operations.js'
import { stageMessage } from '../../store/stage-message.js'
import type { Writer } from '../../store/store.js'
import { findThread, insertThread } from '../../store/threads.js'
import type { ThreadRecord } from '../../store/threads.js'
import { copyAttachments } from '../attachments.js'
import { OperationLost } from '../commit.js'
import type { HeldCall } from '../execute-tool/begin-call.js'
import type { ChildPlan } from './child-plan.js'
import type { HookedChild } from './hook-child.js'

type Child = Extract<ChildPlan, { readonly kind: 'child' }> & {
  readonly ids: ChildIds
  readonly hooked: HookedChild
}

interface ChildIds {
  readonly reference: string
  readonly messageId: string
}

/** One transaction: the child is there with all that it begins with, or not at all (T2). */
export async function writeChild(tx: Writer, call: HeldCall, plan: Child): Promise<PrepareChildAnswer> {
  const { threadId } = call.input
  const { now, attempt, operationId: id } = call
  const parent = await findThread(tx, threadId)
  if (parent === null || parent.terminate_requested_at !== null) return { type: 'terminated' }
  const { ids, hooked } = plan
  const child: PrepareChildAnswer = { type: 'child', agent: plan.binding.agent, ...ids }
  if (!(await finishOperation(tx, { threadId, id, attempt, answer: child, now }))) throw new OperationLost()
  await writeThread(tx, parent, { call, plan, ids })
  await registerChild(tx, call, { plan, ids })
  const operations = await hooked.commitParent(tx)
  if (operations.length === 0) return child
  const answer: PrepareChildAnswer = { ...child, operations }
  await amendAnswer(tx, { threadId, id, answer })
  return answer
}

async function writeThread(
  tx: Writer,
  parent: ThreadRecord,
  { call, plan, ids }: { readonly call: HeldCall; readonly plan: Child; readonly ids: ChildIds },
): Promise<void> {
  const { now } = call
  const { reference, messageId } = ids
  const agent = plan.binding.agent
  await insertThread(tx, {
    id: reference,
    agent,
    account: parent.account,
    user_id: parent.user_id,
    root_thread_id: parent.root_thread_id,
    parent_thread_id: parent.id,
    parent_call_id: call.input.callId,
    depth: plan.depth,
    title: plan.name,
    resumable: false,
    created_at: now,
  })
  await appendEvents(tx, {
    threadId: reference,
    events: [{ type: 'thread.started', payload: { agent } }],
    now,
  })
  await plan.hooked.commitChild(tx)
  const attachments = await copyAttachments(tx, { from: parent.id, to: reference, paths: plan.paths, now })
  await stageMessage(tx, {
    id: messageId,
    threadId: reference,
    role: 'user',
    content: plan.message,
    attachments,
    createdAt: now,
    sentBy: 'parent',
    digest: '',
  })
}

async function registerChild(
  tx: Writer,
  { input, scope, now }: HeldCall,
  { plan, ids }: { readonly plan: Child; readonly ids: ChildIds },
): Promise<void> {
  const { agent, binding } = plan
  await insertChild(tx, {
    parent_thread_id: input.threadId,
    reference: ids.reference,
    call_id: input.callId,
    agent: agent.name,
    name: agent.name,
    title: agent.title ?? null,
    description: agent.description ?? agent.toolDescription ?? '',
    resumable: false,
    blocking: binding.blocking,
    thread_name: plan.name,
    created_at: now,
    status: 'running',
  })
  const child = { ...scope, childId: ids.reference }
  const spawned = {
    type: 'subagent.spawned',
    scope: child,
    payload: { reference: ids.reference, name: agent.name },
  }
  const given = {
    type: 'subagent.input',
    scope: { ...child, messageId: ids.messageId },
    payload: { reference: ids.reference, name: agent.name },
  }
  await appendEvents(tx, { threadId: input.threadId, events: [spawned, given], now })
}
