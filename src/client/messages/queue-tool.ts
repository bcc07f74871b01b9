import { createHash, randomUUID } from 'node:crypto'
import { MessageRejectedError, TemporalUnavailableError } from '../../protocol/errors.js'
import { LIMITS } from '../../protocol/limits.js'
import { messageIdProblem } from '../../protocol/message-problems.js'
import { SIGNALS } from '../../protocol/messages.js'
import { halfCharacterProblem, isObject, unwritableJson, utf8Length } from '../../protocol/values.js'
import type { JsonObject } from '../../protocol/values.js'
import { findToolCall } from '../../store/calls/tool-calls.js'
import { deleteWaiting } from '../../store/messages/message-writes.js'
import { stageQueuedTool } from '../../store/messages/queued-tools.js'
import type { Writer } from '../../store/store.js'
import { requireOpenThread } from '../../store/threads/open-threads.js'
import { restoreOwnState } from '../../store/threads/sessions.js'
import { clientSpan, inSpan } from '../../telemetry/spans.js'
import type { ClientContext } from '../client-context.js'
import { forgetCommand, storeOnce } from '../once.js'
import { signalThread } from '../thread-workflow.js'
import { requireStaged } from './send-message.js'
import { nowMicros } from '../../protocol/time.js'

interface QueuingTool {
  readonly threadId: string
  readonly name: string
  readonly args: unknown
  /** @default a UUID */
  readonly id?: string | undefined
}

/**
 * Accepts a call of a tool: its row first (T2), then a signal with id and name (T5). The call waits its turn in the queue; the
 * same id and content again are one call.
 */
export function queueTool(context: ClientContext, queuing: QueuingTool): Promise<{ toolCallId: string }> {
  const { threadId } = queuing
  return inSpan(clientSpan('everthread.queueTool', { threadId }), () => queue(context, queuing))
}

async function queue(
  context: ClientContext,
  { threadId, name, args, id = randomUUID() }: QueuingTool,
): Promise<{ toolCallId: string }> {
  const problem = queuingProblem({ name, args, id })
  if (problem !== undefined) throw new MessageRejectedError(threadId, problem)
  const store = await context.store()
  // The check has shown that JSON can carry it.
  const content = JSON.parse(JSON.stringify(args)) as JsonObject
  let isNew = false
  const { toolCallId, waiting } = await store.write(async (tx) => {
    const { answer } = await storeOnce(tx, context, {
      ...{ threadId, name: 'queueTool', content: { name, args: content } },
      store: async () => {
        await requireOpenThread(tx, threadId)
        const tool = { threadId, toolCallId: toCallId(id), name, args: content, sentBy: 'client' } as const
        const staged = await stageQueuedTool(tx, { ...tool, now: nowMicros() })
        requireStaged(staged, { threadId, toolCallId: tool.toolCallId, id })
        isNew = staged === 'staged'
        return tool.toolCallId
      },
    })
    const call = await findToolCall(tx, threadId, answer)
    // A call that has begun is in no queue any more.
    return { toolCallId: answer, waiting: call?.status === 'open' && call.started_at === null }
  })
  if (waiting) await announce(context, { threadId, toolCallId, name, id, isNew })
  return { toolCallId }
}

/**
 * Makes the id of a call. Every provider accepts 40 letters, digits, `-` and `_`; an id of another shape is replaced by its
 * digest. So is an id with `_`, which separates the parts of ids that are derived from a call's (`queued_a_kind`, `queued_a_0`,
 * `approval_queued_a_2`): an id of a client that looked like such an operation would be taken for it (T4).
 */
function toCallId(id: string): string {
  const plain = /^[A-Za-z\d-]{1,32}$/.test(id) && !/^[\da-f]{32}$/.test(id)
  return `queued_${plain ? id : createHash('sha256').update(id).digest('hex').slice(0, 32)}`
}

/** Signals the workflow. A new call that is refused for good was not accepted: its rows are withdrawn (see `sendMessage`). */
async function announce(context: ClientContext, call: AnnouncedTool): Promise<void> {
  const { threadId, toolCallId, name, id, isNew } = call
  try {
    await signalThread(context, threadId, { name: SIGNALS.queueTool, input: { toolCallId, name } })
  } catch (error) {
    const store = await context.store()
    if (isNew && MessageRejectedError.isInstance(error))
      await store.write(async (tx) => {
        await forgetCommand(tx, context, threadId)
        await withdrawQueuedTool(tx, threadId, toolCallId)
      })
    if (!TemporalUnavailableError.isInstance(error)) throw error
    const { address, problem, cause } = error
    throw new TemporalUnavailableError(threadId, { address, problem, toolId: id }, cause)
  }
}

interface AnnouncedTool {
  readonly threadId: string
  readonly toolCallId: string
  readonly name: string
  /** The id under which the caller may queue it again. */
  readonly id: string
  /** True when no earlier attempt has staged it. */
  readonly isNew: boolean
}

function queuingProblem({ name, args, id }: Omit<QueuingTool, 'threadId'>): string | undefined {
  if (typeof name !== 'string' || name === '' || name.length > LIMITS.nameLength)
    return `Expected the name of a tool, a text of 1 to ${LIMITS.nameLength} characters, got something else.`
  const badId = messageIdProblem(id) ?? halfCharacterProblem('a tool call id', id)
  if (badId !== undefined) return badId.replace(/message id/i, 'tool call id')
  if (!isObject(args)) return `Expected the arguments of a tool as an object, got ${typeof args}.`
  let bytes: number
  try {
    bytes = utf8Length(JSON.stringify(args))
  } catch (error) {
    return `Expected arguments that JSON can carry, ${unwritableJson(error)}`
  }
  if (bytes <= LIMITS.messageBytes) return undefined
  return `Expected arguments of at most ${LIMITS.messageBytes} bytes as JSON, got ${bytes}: use a file.`
}

/** Deletes a staged call that is never signalled, and the row that holds it. */
async function withdrawQueuedTool(tx: Writer, threadId: string, toolCallId: string): Promise<void> {
  const call = await tx
    .deleteFrom('tool_calls')
    .where('thread_id', '=', threadId)
    .where('id', '=', toolCallId)
    .where('status', '=', 'open')
    .where('run', '=', 0)
    .returning('message_id')
    .executeTakeFirst()
  if (call === undefined) return
  await deleteWaiting(tx, threadId, call.message_id)
  await restoreOwnState(tx, threadId)
}
