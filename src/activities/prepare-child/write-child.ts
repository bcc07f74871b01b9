import { insertChild } from '../../store/children.js'
import { appendEvents } from '../../store/events.js'
import type { SecretBox } from '../../store/secret-box.js'
import { stageMessage } from '../../store/stage-message.js'
import type { Writer } from '../../store/store.js'
import { insertThread } from '../../store/threads.js'
import type { ThreadRecord } from '../../store/threads.js'
import { putVariable } from '../../store/variables.js'
import { LIMITS } from '../../protocol/limits.js'
import { copyAttachments } from '../attachments.js'
import type { HeldCall } from '../execute-tool/begin-call.js'
import type { NewChild, PlannedChildren } from './new-child.js'

interface Written {
  readonly call: HeldCall
  readonly parent: ThreadRecord
  readonly plan: PlannedChildren
  readonly child: NewChild
  /** One of those that the call starts in one go, and that are answered for together. */
  readonly group: boolean
  readonly status: 'running' | 'deferred'
}

/** All rows of one child, in the transaction at hand. */
export async function writeChild(tx: Writer, secrets: SecretBox, written: Written): Promise<void> {
  const { call, plan, child } = written
  const { now } = call
  const { reference, messageId } = child.prepared
  await writeThread(tx, written)
  for (const variable of plan.given)
    await putVariable(tx, secrets, { threadId: reference, ...variable, forGraph: true, now })
  await child.commitHooked(tx)
  const from = call.input.threadId
  const attachments = await copyAttachments(tx, { from, to: reference, paths: child.paths, now })
  await stageMessage(tx, {
    id: messageId,
    threadId: reference,
    role: 'user',
    content: child.message,
    attachments,
    createdAt: now,
    sentBy: 'parent',
    digest: '',
  })
  await registerChild(tx, written)
}

/** In microseconds, by which lists of children are in their order: those of one call come one after the other. */
function madeAt({ call, child }: Written): number {
  return call.now + child.place
}

async function writeThread(tx: Writer, written: Written): Promise<void> {
  const { call, parent, plan, child } = written
  const { reference, agent, resumable } = child.prepared
  await insertThread(tx, {
    id: reference,
    agent,
    account: parent.account,
    user_id: parent.user_id,
    root_thread_id: parent.root_thread_id,
    parent_thread_id: parent.id,
    parent_call_id: call.input.callId,
    depth: plan.depth,
    title: nameOf(child),
    resumable,
    created_at: madeAt(written),
  })
  const events = [{ type: 'thread.started', payload: { agent, parent: parent.id } }]
  await appendEvents(tx, { threadId: reference, events, now: call.now })
}

async function registerChild(tx: Writer, written: Written): Promise<void> {
  const { call, plan, child, group, status } = written
  const { input, now } = call
  const { agent, binding } = plan.subject
  const { reference, messageId } = child.prepared
  const { resumable } = binding
  await insertChild(tx, {
    parent_thread_id: input.threadId,
    reference,
    call_id: input.callId,
    agent: agent.name,
    name: agent.name,
    title: binding.title,
    description: agent.description ?? binding.description,
    resumable: resumable !== null,
    blocking: binding.blocking,
    thread_name: nameOf(child),
    spawn_group_id: group ? input.callId : null,
    parent_communication: resumable?.parentCommunication ?? 'implicit',
    receives: resumable?.receives ?? null,
    created_at: madeAt(written),
    status,
  })
  const scope = { ...call.scope, childId: reference }
  const payload = { reference, name: agent.name }
  const spawned = { type: 'subagent.spawned', scope, payload }
  const given = { type: 'subagent.input', scope: { ...scope, messageId }, payload }
  await appendEvents(tx, { threadId: input.threadId, events: [spawned, given], now })
}

function nameOf({ name }: NewChild): string {
  return name.trim().slice(0, LIMITS.nameLength)
}
