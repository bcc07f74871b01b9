import { createHash, randomUUID } from 'node:crypto'
import { MessageRejectedError, TemporalUnavailableError } from '../protocol/errors.js'
import { LIMITS } from '../protocol/limits.js'
import { messageIdProblem } from '../protocol/message-problems.js'
import { SIGNALS } from '../protocol/messages.js'
import { isObject, unwritableJson, utf8Length } from '../protocol/values.js'
import type { JsonObject } from '../protocol/values.js'
import { findToolCall } from '../store/calls/tool-calls.js'
import { stageQueuedTool } from '../store/messages/queued-tools.js'
import { clientSpan, inSpan } from '../telemetry/spans.js'
import type { ClientContext } from './client-context.js'
import { microseconds } from './clock.js'
import { halfCharacterProblem } from './half-characters.js'
import { openThread } from './open-thread.js'
import { refuseStaged } from './refuse-staged.js'
import { signalThread } from './signal-thread.js'
import { withdrawQueuedTool } from './withdraw-queued-tool.js'

export interface QueuingTool {
  readonly threadId: string
  readonly name: string
  readonly args: unknown
  /** @default a UUID */
  readonly id?: string | undefined
}

/**
 * Accepts a call of a tool: its row first (T2), then a signal with id and name (T5). It waits its turn in the queue; the
 * same id and content again is one call.
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
  const toolCallId = queuedCallId(id)
  const store = await context.store()
  // Went through JSON when it was checked.
  const content = JSON.parse(JSON.stringify(args)) as JsonObject
  const { isNew, waiting } = await store.write(async (tx) => {
    await openThread(tx, threadId)
    const now = microseconds()
    const tool = { threadId, toolCallId, name, args: content, sentBy: 'client', now } as const
    const staged = await stageQueuedTool(tx, tool)
    refuseStaged(staged, { threadId, toolCallId, id })
    const call = await findToolCall(tx, threadId, toolCallId)
    // One that has begun is in no queue any more.
    return { isNew: staged === 'staged', waiting: call?.status === 'open' && call.started_at === null }
  })
  if (waiting) await announce(context, { threadId, toolCallId, name, id, isNew })
  return { toolCallId }
}

/**
 * Every provider takes 40 letters, digits, `-` and `_`; an id of another shape is told by its digest. So is one with `_`:
 * behind it stands what is made from a call's id (`queued_a_kind`, `queued_a_0`, `approval_queued_a_2`), and an id of a
 * client that looked like such an operation would be taken for it (T4).
 */
function queuedCallId(id: string): string {
  const plain = /^[A-Za-z\d-]{1,32}$/.test(id) && !/^[\da-f]{32}$/.test(id)
  return `queued_${plain ? id : createHash('sha256').update(id).digest('hex').slice(0, 32)}`
}

/** Tells the workflow. A new call that is refused for good was not accepted: nothing of it stays behind (see `sendMessage`). */
async function announce(context: ClientContext, call: AnnouncedTool): Promise<void> {
  const { threadId, toolCallId, name, id, isNew } = call
  try {
    await signalThread(context, threadId, { name: SIGNALS.queueTool, input: { toolCallId, name } })
  } catch (error) {
    const store = await context.store()
    if (isNew && MessageRejectedError.isInstance(error))
      await store.write((tx) => withdrawQueuedTool(tx, threadId, toolCallId))
    if (!TemporalUnavailableError.isInstance(error)) throw error
    const { address, problem, cause } = error
    throw new TemporalUnavailableError(threadId, { address, problem, toolId: id }, cause)
  }
}

interface AnnouncedTool {
  readonly threadId: string
  readonly toolCallId: string
  readonly name: string
  /** Under which the caller gives it again. */
  readonly id: string
  /** Nobody was told of it before. */
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
