import { randomUUID } from 'node:crypto'
import { runIdOf, stepIdOf } from '../../protocol/ids.js'
import type { ToolCallEntry } from '../../protocol/message.js'
import type { Side } from '../../protocol/plan.js'
import type { JsonObject } from '../../protocol/values.js'
import { adoptToolCall, findToolCall, insertToolCalls } from '../calls/tool-calls.js'
import type { ToolCallRecord } from '../calls/tool-calls.js'
import { digestOf } from '../digest.js'
import { fact } from '../../protocol/facts.js'
import type { Fact } from '../../protocol/facts.js'
import type { Writer } from '../store.js'
import { appendMessage, deliverMessages } from './delivery.js'
import type { MessageSender, NewMessage } from './message-row.js'
import { stageMessage } from './message-writes.js'
import type { StageResult } from './message-writes.js'
import { appendToolInvocation } from './status-line.js'
import { narrowRun } from '../threads/run-permissions.js'
import type { BroughtRules } from '../threads/run-permissions.js'
import type { Micros } from '../../protocol/time.js'

/** A tool call that no model made. */
interface QueuedTool {
  readonly threadId: string
  readonly toolCallId: string
  readonly name: string
  readonly args: JsonObject
  readonly sentBy: MessageSender
  /** The side that is to make a call that belongs to no step yet. @default 'a' */
  readonly side?: Side
  /** The call starts an immediate subagent. */
  readonly immediate?: true
  /** The rules that it brings to the run in which it is made. @default none */
  readonly brings?: BroughtRules | undefined
  readonly now: Micros
}

/**
 * Accepts a call outside of a step: a message that holds it, without a place in the transcript until the call starts, and the
 * row of the call, which belongs to no run yet. The same call again changes nothing.
 */
export async function stageQueuedTool(tx: Writer, tool: QueuedTool): Promise<StageResult> {
  const { threadId, toolCallId, name, args } = tool
  const known = await findToolCall(tx, threadId, toolCallId)
  const digest = digestOf([name, args])
  if (known !== null) {
    const same = known.name === name && digestOf([name, JSON.parse(known.arguments)]) === digest
    return same ? 'same' : 'conflict'
  }
  const { side = 'a' } = tool
  const message = messageOf(tool, side)
  const staged = await stageMessage(tx, { ...message, digest, brings: tool.brings })
  if (staged === 'staged') await insertCall(tx, tool, { messageId: message.id, run: 0, step: 0, side })
  return staged
}

/** The running step that a queued call is added to. */
interface StepOfCall {
  readonly run: number
  readonly step: number
  readonly side: Side
}

/** Adds a call to the running step: its message gets its place in the transcript now. */
export async function appendQueuedTool(tx: Writer, tool: QueuedTool, place: StepOfCall): Promise<string> {
  const message = messageOf(tool, place.side)
  await appendMessage(tx, { ...message, ...place })
  await insertCall(tx, tool, { ...place, messageId: message.id })
  return message.id
}

/** A result needs a message that holds its call, so a call without a model has one too. */
function messageOf(tool: QueuedTool, side: Side): NewMessage {
  const call: ToolCallEntry = {
    id: tool.toolCallId,
    type: 'function',
    function: { name: tool.name, arguments: JSON.stringify(tool.args) },
  }
  return {
    // Random: a sender could use an id that can be guessed.
    id: randomUUID(),
    threadId: tool.threadId,
    role: side === 'a' ? 'assistant' : 'user',
    content: null,
    toolCalls: [call],
    createdAt: tool.now,
    sentBy: tool.sentBy,
    side,
    metadata: { queued: true, ...(tool.immediate === undefined ? {} : { immediate: true }) },
  }
}

async function insertCall(
  tx: Writer,
  { threadId, toolCallId, name, args }: QueuedTool,
  place: StepOfCall & { readonly messageId: string },
): Promise<void> {
  const { messageId, run, step, side } = place
  const { last } = await tx
    .selectFrom('tool_calls')
    .select((select) => select.fn.max('call_index').as('last'))
    .where('thread_id', '=', threadId)
    .where('run', '=', run)
    .where('step', '=', step)
    .executeTakeFirstOrThrow()
  await insertToolCalls(tx, [
    {
      thread_id: threadId,
      id: toolCallId,
      message_id: messageId,
      run,
      step,
      call_index: (last ?? -1) + 1,
      side,
      name,
      provider_call_id: '',
      arguments: JSON.stringify(args),
    },
  ])
}

interface PlacedTool {
  readonly events: readonly Fact[]
  /** It brought rules to its run. */
  readonly narrows: boolean
}

/**
 * T3: a queued tool starts. The message that holds it goes to the end of the transcript, behind a status line that names the
 * caller. Returns the events of both.
 */
export async function placeQueuedTool(
  tx: Writer,
  { thread_id: threadId, id: callId, message_id: messageId, name: tool }: ToolCallRecord,
  { run, step, side, now }: StepOfCall & { readonly now: Micros },
): Promise<PlacedTool> {
  const scope = { runId: runIdOf(run), stepId: stepIdOf(run, step) }
  await adoptToolCall(tx, { threadId, callId, run, step, side })
  const line = { threadId, run, step, scope, now, tool, toolCallId: callId }
  const status = await appendToolInvocation(tx, line)
  const { messages, brought } = await deliverMessages(tx, { threadId, ids: [messageId], run, step })
  const narrowed = await narrowRun(tx, { threadId, number: run }, brought)
  const created = messages.map(({ id, role }) =>
    fact('message.created', { role }, { ...scope, messageId: id }),
  )
  return { events: [status, ...created, ...narrowed], narrows: brought.length > 0 }
}
