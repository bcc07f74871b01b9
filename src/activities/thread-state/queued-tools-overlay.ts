import { namedTool } from '../../definitions/listed-tools.js'
import type { ThreadState } from '../../definitions/thread-state.js'
import { UNKNOWN_TOOL } from '../../protocol/activities.js'
import { MessageRejectedError } from '../../protocol/errors.js'
import { LIMITS } from '../../protocol/limits.js'
import type { JsonObject } from '../../protocol/values.js'
import { appendQueuedTool, stageQueuedTool } from '../../store/messages/queued-tools.js'
import { appendToolInvocation } from '../../store/messages/status-line.js'
import type { Writer } from '../../store/store.js'
import type { ActivityDependencies } from '../activity.js'
import { boundedId } from './bounded-id.js'
import { queueFull } from './commit-messages.js'
import type { Journal, Written } from './journal.js'
import { scopeOf, senderOf } from './state-origin.js'
import type { StateOrigin } from './state-origin.js'
import { jsonObjectCopy, kindOf } from './strict-json.js'

interface QueuedToolsOptions {
  readonly dependencies: ActivityDependencies
  readonly threadId: string
  readonly journal: Journal
  readonly origin: StateOrigin
  /** Microseconds. */
  readonly now: number
}

/** The tool calls that a call queues: behind those of its step, or as items of the queue where there is no step. */
export function createQueuedTools(options: QueuedToolsOptions): Pick<ThreadState, 'queueTool'> {
  const { journal, origin } = options
  let made = 0
  return {
    queueTool(name, args) {
      const called = checkedName(name)
      const given = jsonObjectCopy(args, `the arguments of the tool "${called}"`)
      if (made >= LIMITS.queuedByCall)
        throw new Error(`Expected at most ${LIMITS.queuedByCall} queued tools of one call, got another one.`)
      const toolCallId = boundedId(`${origin.id}_q${made}`)
      journal.add((tx) => commitTool(tx, options, { toolCallId, name: called, args: given }))
      made += 1
    },
  }
}

interface GivenTool {
  readonly toolCallId: string
  readonly name: string
  readonly args: JsonObject
}

async function commitTool(
  tx: Writer,
  { dependencies, threadId, origin, now }: QueuedToolsOptions,
  given: GivenTool,
): Promise<Written> {
  const tool = { ...given, threadId, now, sentBy: senderOf(origin) }
  // T5: any other name is words of whoever called.
  const known = namedTool(dependencies.registry, given.name) !== undefined
  const operation = {
    kind: 'queue_tool',
    id: given.toolCallId,
    name: known ? given.name : UNKNOWN_TOOL,
  } as const
  const { run, step, side } = origin
  if (run === null || step === null || side === null) {
    const staged = await stageQueuedTool(tx, tool)
    // Whoever calls an endpoint can still be told; code of a run reads no events, but its queue is seen there.
    if (staged === 'queue_full' && origin.kind === 'endpoint')
      throw new MessageRejectedError(
        threadId,
        `Expected at most ${LIMITS.queuedItems} queued items, got another tool: wait until some are delivered.`,
      )
    if (staged === 'staged') return { operations: [operation] }
    return staged === 'queue_full' ? { events: [queueFull(origin)] } : {}
  }
  const scope = scopeOf(origin)
  const { toolCallId, name } = given
  const status = await appendToolInvocation(tx, { threadId, run, step, scope, now, tool: name, toolCallId })
  const messageId = await appendQueuedTool(tx, tool, { run, step, side })
  const role = side === 'a' ? 'assistant' : 'user'
  const created = { type: 'message.created', scope: { ...scope, messageId }, payload: { role } }
  return { operations: [operation], events: [status, created] }
}

/** What it is, `executeTool` says: a name that nothing has becomes an error result. */
function checkedName(name: unknown): string {
  if (typeof name === 'string' && name.length > 0 && name.length <= LIMITS.nameLength) return name
  const came = typeof name === 'string' ? `one of ${name.length}` : kindOf(name)
  throw new Error(
    `Expected the name of a tool to be a text of 1 to ${LIMITS.nameLength} characters, got ${came}.`,
  )
}
