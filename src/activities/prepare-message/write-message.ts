import { randomUUID } from 'node:crypto'

import type { PrepareMessageAnswer } from '../../protocol/child-activities.js'
import { LIMITS } from '../../protocol/limits.js'
import { updateChild } from '../../store/children.js'
import { appendEvents } from '../../store/events.js'
import { finishOperation } from '../../store/operations.js'
import { countUndelivered, stageMessage } from '../../store/stage-message.js'
import type { Store, Writer } from '../../store/store.js'
import { findThread } from '../../store/threads.js'
import { copyAttachments } from '../attachments.js'
import { OperationLost, commitHeld } from '../commit.js'
import type { HeldCall } from '../execute-tool/begin-call.js'
import { failed } from '../execute-tool/call-result.js'
import type { CallResult } from '../execute-tool/call-result.js'
import type { MessagePlan } from './message-plan.js'

/** Kept with the operation: what the registry said of the child before it was asked again. */
export interface WrittenMessage {
  readonly before: string
}

type Message = Extract<MessagePlan, { readonly kind: 'message' }>

/** One transaction: files, message and registry; or an error result, and nothing is written. */
export async function writeMessage(
  store: Store,
  call: HeldCall,
  message: Message,
): Promise<PrepareMessageAnswer | CallResult> {
  const { threadId } = call.input
  const { operationId: id, attempt, now } = call
  const { blocking, timeout, child } = message
  const { reference } = child
  return commitHeld(store, { threadId, id }, async (tx): Promise<PrepareMessageAnswer | CallResult> => {
    const thread = await findThread(tx, threadId)
    if (thread === null || thread.terminate_requested_at !== null) return { type: 'terminated' }
    const problem = await queueProblem(tx, reference)
    if (problem !== null) return failed(problem, 'subagent_closed', { subagentId: reference })
    const messageId = randomUUID()
    const role = child.receives === 'b' ? 'assistant' : 'user'
    const limit = blocking && timeout !== null ? { timeout } : {}
    const answer: PrepareMessageAnswer = { type: 'message', reference, messageId, role, blocking, ...limit }
    const detail = { before: child.status } satisfies WrittenMessage
    if (!(await finishOperation(tx, { threadId, id, attempt, answer, detail, now })))
      throw new OperationLost()
    await stage(tx, call, { message, messageId, role })
    return answer
  })
}

/** The child's row is the authority (T8), whatever its workflow still does. */
async function queueProblem(tx: Writer, reference: string): Promise<string | null> {
  const thread = await findThread(tx, reference)
  if (thread === null || thread.terminate_requested_at !== null || thread.closed_at !== null)
    return 'The subagent has ended and takes no messages.'
  return (await countUndelivered(tx, reference)) >= LIMITS.queuedItems
    ? `${LIMITS.queuedItems} messages wait for the subagent already. Wait for it.`
    : null
}

async function stage(
  tx: Writer,
  { input: { threadId }, scope, now }: HeldCall,
  {
    message: { child, text, paths },
    messageId,
    role,
  }: { readonly message: Message; readonly messageId: string; readonly role: 'user' | 'assistant' },
): Promise<void> {
  const { reference, name } = child
  const attachments = await copyAttachments(tx, { from: threadId, to: reference, paths, now })
  const draft = { id: messageId, threadId: reference, role, content: text, attachments } as const
  const staged = await stageMessage(tx, { ...draft, createdAt: now, sentBy: 'parent', digest: '' })
  if (staged !== 'staged') throw new Error(`Expected the subagent to take the message, got ${staged}.`)
  await updateChild(tx, { parentThreadId: threadId, reference }, { status: 'running' })
  const about = { ...scope, childId: reference, messageId }
  const event = { type: 'subagent.input', scope: about, payload: { reference, name } }
  await appendEvents(tx, { threadId, events: [event], now })
}
