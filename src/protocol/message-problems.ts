/** What is wrong with a message of the wire contract, in one sentence that names kinds and sizes, never content (T5). */
import { LIMITS } from './limits.js'
import { OUR_IDS } from './messages.js'
import { reopenedProblem } from './reopened.js'
import { isStoreId } from './thread-store.js'
import { utf8Length } from './utf8-length.js'
import { areCallIds, carriedBytes, isCallId, isName, isObject, isWholeNumber } from './value-shapes.js'
import type { Fields } from './value-shapes.js'

export { isObject }

/** Says what is wrong with a thread id, or nothing. */
export function threadIdProblem(id: unknown): string | undefined {
  if (typeof id !== 'string' || id.length === 0 || id.length > LIMITS.threadIdLength)
    return `Expected a thread id of 1 to ${LIMITS.threadIdLength} characters, got ${describe(id)}.`
  if (id.startsWith(OUR_IDS)) return `Thread ids that start with "${OUR_IDS}" are kept for Everthread itself.`
  return undefined
}

const NAME = `a text of 1 to ${LIMITS.threadIdLength} characters`

/** Says what is wrong with a start input, or nothing. Fields of later versions are passed over. */
export function threadStartProblem(start: unknown): string | undefined {
  if (!isObject(start)) return `Expected an object with "agent", got ${describe(start)}.`
  if (!isName(start['agent']))
    return `Expected "agent" to be the name of an agent, got ${describe(start['agent'])}.`
  if (start['message'] !== undefined) {
    const problem = queueMessageProblem(start['message'])
    if (problem !== undefined) return problem
  }
  const { parent, store, tags, searchAttributes, userId, reopened } = start
  if (store !== undefined && !isStoreId(store))
    return `Expected "store" to be the id of a store, 12 letters and digits, got ${describe(store)}.`
  if (parent !== undefined && !isStartParent(parent))
    return `Expected "parent" to be { threadId, callId, root }, got ${describe(parent)}.`
  if (userId !== undefined && !isName(userId))
    return `Expected "userId" to be ${NAME}, got ${describe(userId)}.`
  if (tags !== undefined && !isNames(tags))
    return `Expected "tags" to be a list of at most ${LIMITS.startNames}, each ${NAME}, got ${describe(tags)}.`
  if (searchAttributes !== undefined && !isNames(searchAttributes))
    return `Expected "searchAttributes" to be a list of names, got ${describe(searchAttributes)}.`
  return (
    (reopened === undefined ? undefined : reopenedProblem(reopened)) ?? threadLimitsProblem(start['limits'])
  )
}

function isStartParent(parent: unknown): boolean {
  if (!isObject(parent)) return false
  const { threadId, callId, root } = parent
  return isName(threadId) && isCallId(callId) && (root === undefined || isName(root))
}

function threadLimitsProblem(limits: unknown): string | undefined {
  if (limits === undefined) return undefined
  if (!isObject(limits)) return `Expected "limits" to be an object, got ${describe(limits)}.`
  const { heartbeatTimeout, historyEvents } = limits
  const { shortestHeartbeat: least, longestHeartbeat: most } = LIMITS
  if (heartbeatTimeout !== undefined && !isWholeNumber(heartbeatTimeout, least, most))
    return `Expected "limits.heartbeatTimeout" to be ${least} to ${most} milliseconds, got ${describe(heartbeatTimeout)}.`
  if (historyEvents !== undefined && !isWholeNumber(historyEvents, 0, Number.MAX_SAFE_INTEGER))
    return `Expected "limits.historyEvents" to be a whole number, got ${describe(historyEvents)}.`
  return undefined
}

/** Says what is wrong with the input of a `queueMessage` signal, or nothing. */
export function queueMessageProblem(message: unknown): string | undefined {
  if (!isObject(message)) return `Expected { messageId } or { content }, got ${describe(message)}.`
  const { messageId, content, role, invocation } = message
  if (role !== undefined && role !== 'user' && role !== 'assistant')
    return `Expected "role" to be "user" or "assistant", got ${describe(role)}.`
  if (invocation !== undefined && !isCallId(invocation))
    return `Expected "invocation" to be the id of a call, got ${describe(invocation)}.`
  if (messageId !== undefined) return messageIdProblem(messageId)
  if (typeof content !== 'string' || content.length === 0)
    return `Expected "messageId" or a "content" that is not empty, got ${describe(content)}.`
  if (utf8Length(content) > LIMITS.inlineContentBytes)
    return `Expected inline content of at most ${LIMITS.inlineContentBytes} bytes, got ${utf8Length(content)}; longer messages go through the client.`
  return undefined
}

/** Says what is wrong with a message id, or nothing. */
export function messageIdProblem(id: unknown): string | undefined {
  if (typeof id === 'string' && id.startsWith(OUR_IDS))
    return `Message ids that start with "${OUR_IDS}" are kept for Everthread itself.`
  const bytes = typeof id === 'string' ? carriedBytes(id) : 0
  if (bytes > 0 && bytes <= LIMITS.messageIdLength) return undefined
  return `Expected a message id of 1 to ${LIMITS.messageIdLength} bytes, got ${describe(id)}.`
}

/** Says what is wrong with the input of a `stop` signal, or nothing. */
export function stopProblem(stop: unknown): string | undefined {
  if (stop === undefined || stop === null) return undefined
  if (isObject(stop) && !('undecodable' in stop)) {
    const { runId, children } = stop
    if (isTypeOrMissing(runId, 'string') && isTypeOrMissing(children, 'boolean')) return undefined
  }
  return `Expected no input or { runId, children }, got ${describe(stop)}.`
}

/** Says what is wrong with the input of a `queueTool` signal, or nothing. */
export function queueToolProblem(tool: unknown): string | undefined {
  if (!isObject(tool)) return `Expected { toolCallId, name }, got ${describe(tool)}.`
  const { toolCallId, name } = tool
  if (messageIdProblem(toolCallId) !== undefined)
    return `Expected "toolCallId" to be an id of 1 to ${LIMITS.messageIdLength} bytes, got ${describe(toolCallId)}.`
  if (isName(name) && name.length <= LIMITS.nameLength) return undefined
  return `Expected "name" to be the name of a tool, got ${describe(name)}.`
}

/** Says what is wrong with the input of a `setEnv` signal, or nothing. */
export function setEnvProblem(input: unknown): string | undefined {
  if (isObject(input) && hasNames(input)) return undefined
  return `Expected { names }, a list of names of variables, got ${describe(input)}.`
}

/** Says what is wrong with the input of a `respond` update, or nothing. */
export function respondProblem(answer: unknown): string | undefined {
  if (!isObject(answer))
    return `Expected { id, approved }, { id, names } or { id, result }, got ${describe(answer)}.`
  if (!isName(answer['id'])) return `Expected "id" to be the id of a request, got ${describe(answer['id'])}.`
  const { approved, names, result } = answer
  const given = [approved, names, result].filter((value) => value !== undefined)
  if (given.length === 1 && (typeof approved === 'boolean' || hasNames(answer) || result === true))
    return undefined
  return 'Expected one of "approved", true or false, "names", a list of names, and "result", true.'
}

/** Says what is wrong with the input of a `removeQueued` update, or nothing. */
export function removeQueuedProblem(input: unknown): string | undefined {
  if (isObject(input) && typeof input['id'] === 'string' && input['id'].length > 0) return undefined
  return `Expected { id }, the id of an item of the queue, got ${describe(input)}.`
}

/** Names of variables are not carried, so their number is not bounded. */
function hasNames({ names }: Fields): boolean {
  return Array.isArray(names) && names.length > 0 && names.every(isName)
}

/** Says what is wrong with the input of a `childReport` signal, or nothing. */
export function childReportProblem(report: unknown): string | undefined {
  if (!isObject(report)) return `Expected a child's report, got ${describe(report)}.`
  const { reference, report: number, invocations, kind, messageId, closes } = report
  const isReport = isName(reference) && isWholeNumber(number, 1, Number.MAX_SAFE_INTEGER)
  const isTold = kind === 'result' || kind === 'failure' || kind === 'notice'
  const hasMessage = messageId === undefined || messageIdProblem(messageId) === undefined
  if (isReport && isTold && hasMessage && areCallIds(invocations) && isTypeOrMissing(closes, 'boolean'))
    return undefined
  return 'Expected { reference, report, invocations, kind, messageId, closes }.'
}

function isTypeOrMissing(value: unknown, type: 'boolean' | 'string'): boolean {
  return value === undefined || typeof value === type
}

/** They ride in each continue-as-new, so their number is bounded. */
function isNames(value: unknown): value is readonly string[] {
  return Array.isArray(value) && value.length <= LIMITS.startNames && value.every(isName)
}

/** Names the kind of a value, never its content: these sentences reach logs and events (T5). */
function describe(value: unknown): string {
  if (isObject(value) && value['undecodable'] === true) return 'a payload that cannot be decoded'
  if (value === null) return 'null'
  if (Array.isArray(value)) return 'a list'
  if (typeof value === 'string')
    return value.length === 0 ? 'an empty text' : `a text of ${value.length} characters`
  return typeof value
}
